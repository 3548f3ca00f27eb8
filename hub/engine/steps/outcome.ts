import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { Waiting } from '../calls/call.ts';
import type { StepFailure } from '../failure.ts';
import type { EffectKind, SkillOutcome, SinkRow } from '../skill.ts';

/** The outcome of one execution of a step. */
export type StepOutcome =
  | {
      kind: 'succeeded';
      attempt: number;
      output: JsonValue;
      outputText: string;
      effect: EffectKind;
      /** State of a step with several parts; undefined for other steps. */
      state?: JsonObject;
      /** Rows that are stored in the transaction that writes the outcome. */
      rows: readonly SinkRow[];
      /** More statements of that transaction. */
      persist?: SkillOutcome['persist'];
    }
  /** The condition of the step is false. */
  | { kind: 'skipped'; attempt: number }
  | { kind: 'failed'; attempt: number; failure: StepFailure; state?: JsonObject }
  /** The step waits for a command, an approval or a child run. */
  | (Waiting & { attempt: number; state: JsonObject | null })
  /** The step starts after a delay. */
  | { kind: 'delayed'; attempt: number; seconds: number };
