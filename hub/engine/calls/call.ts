import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { Approval, ChildRequest, CommandRequest, NewApproval } from '../ports.ts';
import type { StepWait } from '../schema.ts';
import type { EffectKind, SkillOutcome, SinkRow } from '../skill.ts';

/** One call of a skill: the call of a skill step, or a tool call within an agent step. */
export interface CallSite {
  index: number;
  /** The attempt that identifies the call. For a tool call, the attempt of the step in which the model requested it. */
  attempt: number;
  /** The current attempt of the step. */
  stepAttempt: number;
  /** Number of the tool call in an agent step. 0 for the step itself. */
  call: number;
  /** Name of the call in an approval. */
  label: string | undefined;
  timeoutSeconds: number | undefined;
  /** The approval of the call, if it needed one. */
  approval?: Approval;
  /** Returns the state of an agent step, which each write of the step stores. Null for other steps. */
  state: () => JsonObject | null;
  /** Reserves heap, in bytes, for the result that the call waited for, before it is read. @throws StepFailure `out_of_memory`. */
  reserve: (heapBytes: number) => Promise<void>;
}

interface WaitTerms {
  kind: 'waiting';
  /** Time until the run continues if nothing wakes it, in seconds. Null for never. */
  wakeInSeconds: number | null;
}

/** A command that is not sent yet. */
export interface CommandWait extends WaitTerms {
  for: 'command';
  request: Omit<CommandRequest, 'deadlineInSeconds'>;
  /** Time limit of the call, in seconds, from `calledAt`. Undefined for no limit. */
  timeoutSeconds: number | undefined;
  /** Start of the call, by `performance.now()`. */
  calledAt: number;
}

/** An approval that is not created yet. */
export interface ApprovalWait extends WaitTerms {
  for: 'approval';
  request: NewApproval;
}

/** A child run that is not started yet. */
export interface ChildWait extends WaitTerms {
  for: 'child';
  skillId: string;
  /** The requesters and authors are read in the transaction that starts the child run. */
  request: Omit<ChildRequest, 'requestedBy' | 'authoredBy'>;
}

/** A command, approval or child run that exists and is still open. */
export interface OpenWait extends WaitTerms {
  for: 'open';
  wait: StepWait;
}

/** What a call waits for without a worker. `suspend` creates it in the transaction that suspends the run. */
export type Waiting = CommandWait | ApprovalWait | ChildWait | OpenWait;

export type CallOutcome =
  | {
      kind: 'done';
      output: JsonValue;
      outputText: string;
      effect: EffectKind;
      rows: readonly SinkRow[];
      persist?: SkillOutcome['persist'];
    }
  | Waiting;

/** SHA-256 of a text, in hex. */
export function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
