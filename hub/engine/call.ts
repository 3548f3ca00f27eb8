import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../../shared/json.ts';
import type { Transaction } from '../platform/db/database.ts';
import type { Approval } from './ports.ts';
import type { StepWait } from './schema.ts';
import type { EffectKind, SkillOutcome, SunkRow } from './skill.ts';

/** One call of a skill: that of a skill step, or one of an agent's tool calls within its step. */
export interface CallSite {
  index: number;
  /** The attempt that the call counts as, also in its key: of a tool call, the attempt of the step in which the model requested it. */
  attempt: number;
  /** The attempt that the step is in. */
  stepAttempt: number;
  /** 0 for the step itself. */
  call: number;
  /** What people call it, in an approval. */
  label: string | undefined;
  timeoutSeconds: number | undefined;
  /** The approval that was given for it, if it needed one. */
  approval?: Approval;
  /** Returns what the step has done so far, to be kept with whatever is written. */
  state: () => JsonObject | null;
  /** Reserves heap, in bytes, for the result that the call waited for, before that is read. @throws StepFailure `out_of_memory`. */
  reserve: (heapBytes: number) => Promise<void>;
}

/** What a call waits for without a worker. */
export interface Waiting {
  kind: 'waiting';
  status: 'running' | 'waiting_approval';
  /** When to look again even if nobody wakes the run, in seconds; null for never. */
  wakeInSeconds: number | null;
  /** Writes what is waited for, in the transaction that lets the run go. */
  begin: (tx: Transaction) => Promise<StepWait>;
  /** What `begin` will answer, unless it was asked for before: known ahead, it is written without waiting for that. */
  expected?: StepWait;
  /**
   * The same, sent without waiting for anything; what it sends fails the transaction, as `isAssertionFailed` knows, where `begin` would
   * answer something else than `expected`.
   */
  beginAtOnce?: (tx: Transaction) => Promise<void>;
  /** Called, in a transaction, when it was begun before and nobody heard of that. */
  unheard?: (tx: Transaction) => Promise<void>;
  /** Takes what must be locked before the run itself. */
  lockFirst?: (tx: Transaction) => Promise<void>;
  /** False when it could be asked for again without harm, so that its commit need not wait for the disk. */
  durable?: boolean;
}

/** A wait for an approval that was not asked for before. */
export interface Asked extends Waiting {
  requestHash: string;
}

export type CallOutcome =
  | {
      kind: 'done';
      output: JsonValue;
      outputText: string;
      effect: EffectKind;
      rows: readonly SunkRow[];
      persist?: SkillOutcome['persist'];
    }
  | Waiting;

/** SHA-256 of a text, in hex. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
