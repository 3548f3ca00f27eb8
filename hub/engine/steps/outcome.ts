import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { Waiting } from '../calls/call.ts';
import type { StepFailure } from '../failure.ts';
import type { EffectKind, SkillOutcome, SunkRow } from '../skill.ts';

/** How one visit to a step went. */
export type StepOutcome =
  | {
      kind: 'succeeded';
      attempt: number;
      output: JsonValue;
      outputText: string;
      effect: EffectKind;
      state?: JsonObject;
      rows: readonly SunkRow[];
      persist?: SkillOutcome['persist'];
    }
  | { kind: 'skipped'; attempt: number }
  | { kind: 'failed'; attempt: number; failure: StepFailure; state?: JsonObject }
  | (Waiting & { attempt: number; state: JsonObject | null })
  /** Not before a time that is kept to the second. */
  | { kind: 'delayed'; attempt: number; seconds: number };
