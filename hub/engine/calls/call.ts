import { createHash } from 'node:crypto';
import type { JsonObject, JsonValue } from '../../../shared/json.ts';
import type { Approval, ChildRequest, CommandRequest, NewApproval } from '../ports.ts';
import type { StepWait } from '../schema.ts';
import type { EffectKind, SkillOutcome, SunkRow } from '../skill.ts';

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

interface WaitTerms {
  kind: 'waiting';
  /** When to continue the run if nothing wakes it, in seconds; null for never. */
  wakeInSeconds: number | null;
}

/** A command to be sent to a node. */
export interface CommandWait extends WaitTerms {
  for: 'command';
  request: Omit<CommandRequest, 'deadlineInSeconds'>;
  /** Time of the step, which began with the call; undefined for no limit. */
  timeoutSeconds: number | undefined;
  /** When the call began, by `performance.now()`. */
  calledAt: number;
}

/** An approval to be created. */
export interface ApprovalWait extends WaitTerms {
  for: 'approval';
  request: NewApproval;
}

/** A child run to be started. */
export interface ChildWait extends WaitTerms {
  for: 'child';
  skillId: string;
  /** The requesters and authors are read in the transaction that starts the child run. */
  request: Omit<ChildRequest, 'requestedBy' | 'authoredBy'>;
}

/** A command, approval or child run that exists already and is still open. */
export interface OpenWait extends WaitTerms {
  for: 'open';
  wait: StepWait;
}

/** What a call waits for while no worker holds its run. `suspend` creates it in the transaction that suspends the run. */
export type Waiting = CommandWait | ApprovalWait | ChildWait | OpenWait;

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
