import { StepFailure } from '../failure.ts';
import type { RunFailure } from '../schema.ts';
import type { SkillOutcome, SinkRow } from '../skill.ts';
import type { StepOutcome } from '../steps/outcome.ts';
import { outputBytesOf, refuseOutput } from './run-outputs.ts';
import type { ClaimedRun, RunAdvance, StepRecord } from './store.ts';

/**
 * What the engine decides about a step after it was executed. The functions of this file are pure: they read nothing and
 * write nothing. `RunWriter` writes their decisions.
 */

/** Lost leases in a row without a finished step, after which the run fails. */
const maxLostLeases = 5;
/** Ends of hub processes during one step, after which the step fails. */
const maxProcessDeaths = 2;
/** Longest output text that is stored, in UTF-16 code units. */
const maxOutputTextLength = 200_000;
const maxRetryAfterSeconds = 3_600;
const maxBackoffSeconds = 86_400;

/** The outcome of a step that neither waits nor is delayed. */
export type FinalOutcome = Exclude<StepOutcome, { kind: 'waiting' | 'delayed' }>;
export type FailedOutcome = Extract<StepOutcome, { kind: 'failed' }>;

export interface RetryPolicy {
  maxAttempts: number;
  backoffSeconds: number;
  factor: number;
}

/** What a decision depends on besides the outcome. */
export interface Situation {
  run: Pick<ClaimedRun, 'steps' | 'parent_run_id' | 'workflow_id' | 'error_workflow_id' | 'trigger'>;
  index: number;
  /** How the step is retried; undefined when it is not. */
  retry: RetryPolicy | undefined;
  /** Size of the outputs of the other steps of the run, in bytes. */
  otherOutputBytes: number;
}

/** The step is tried again after a back-off. The run has no worker until then. */
export interface Retry {
  kind: 'retry';
  index: number;
  attempt: number;
  error: RunFailure;
  afterSeconds: number;
}

/** The step has ended. The run continues with the next step, or ends. */
export interface StepEnd {
  kind: 'end';
  advance: RunAdvance;
  record: StepRecord;
  rows: readonly SinkRow[];
  persist: SkillOutcome['persist'];
  /** Whether the effects ledger has an intent of this step that its end completes. */
  completesIntent: boolean;
  /**
   * `deferred`: with the next write of the run, or within 100 ms. Only for steps that can be executed again after a crash.
   * `batched`: immediately, with the progress of other runs. `alone`: immediately, in a transaction of its own.
   */
  write: 'deferred' | 'batched' | 'alone';
  /** Whether the commit waits until the data is on disk. */
  durable: boolean;
  /** The workflow that starts because the run fails; null for none. */
  errorWorkflow: string | null;
}

export type Decision = Retry | StepEnd;

/** Decides what follows the outcome of a step. */
export function decide(situation: Situation, outcome: FinalOutcome): Decision {
  if (outcome.kind === 'failed') return decideFailure(situation, outcome);
  if (outcome.kind === 'skipped') return endOf(situation, { record: recordOf(situation.index, outcome, {}) });
  const { attempt, output, effect, rows, persist } = outcome;
  const outputText = truncateText(outcome.outputText);
  const outputBytes = outputBytesOf(output, outputText);
  const tooLarge = refuseOutput(situation.otherOutputBytes, outputBytes);
  if (tooLarge !== null) return decideFailure(situation, { kind: 'failed', attempt, failure: tooLarge });
  const record = recordOf(situation.index, outcome, { output, outputText, outputBytes, state: outcome.state ?? null });
  return endOf(situation, { record, rows, persist, effect });
}

function decideFailure(situation: Situation, outcome: FailedOutcome): Decision {
  const { run, index, retry, otherOutputBytes } = situation;
  const { attempt, failure, state = null } = outcome;
  const error = failure.toRecord(index);
  if (retry !== undefined && failure.retryable && attempt < retry.maxAttempts)
    return { kind: 'retry', index, attempt, error, afterSeconds: backoffOf(retry, attempt, failure) };
  const bytes = failure.output === null ? 0 : outputBytesOf(failure.output, null);
  const fits = refuseOutput(otherOutputBytes, bytes) === null;
  const output = fits ? { output: failure.output, outputBytes: bytes } : {};
  const record = recordOf(index, outcome, { ...output, state, error });
  return endOf(situation, { record, isFatal: run.steps[index]?.continueOnError !== true });
}

/** A `Retry-After` of the called service counts if it is longer than the back-off of the step. */
function backoffOf(retry: RetryPolicy, attempt: number, { retryAfterSeconds = 0 }: StepFailure): number {
  const backoff = retry.backoffSeconds * retry.factor ** (attempt - 1);
  return Math.min(Math.max(backoff, Math.min(retryAfterSeconds, maxRetryAfterSeconds)), maxBackoffSeconds);
}

const recordOf = (index: number, { kind, attempt }: FinalOutcome, result: Partial<StepRecord>): StepRecord => ({
  index,
  status: kind,
  attempts: attempt,
  wait: null,
  state: null,
  output: null,
  outputText: null,
  outputBytes: 0,
  error: null,
  finished: true,
  ...result,
});

interface EndedStep {
  record: StepRecord;
  rows?: readonly SinkRow[];
  persist?: SkillOutcome['persist'];
  /** Effect of the call that succeeded. */
  effect?: 'pure' | 'keyed' | 'once';
  /** Whether the step fails the run. */
  isFatal?: boolean;
}

function endOf({ run, index }: Situation, step: EndedStep): StepEnd {
  const { record, rows = [], persist, effect = 'pure', isFatal = false } = step;
  const ends = isFatal ? 'failed' : index === run.steps.length - 1 ? 'succeeded' : null;
  const errorWorkflow = ends === 'failed' ? errorWorkflowOf(run) : null;
  const startsWork = persist !== undefined || errorWorkflow !== null || (ends !== null && run.parent_run_id !== null);
  const write = startsWork ? 'alone' : ends === null && effect !== 'once' ? 'deferred' : 'batched';
  return {
    kind: 'end',
    advance: {
      fromStep: index,
      nextStep: isFatal ? index : index + 1,
      ends,
      error: isFatal ? record.error : null,
    },
    record,
    rows,
    persist,
    completesIntent: effect !== 'pure',
    write,
    // A crash of the machine can undo other steps. Executing those again does no harm.
    durable: ends !== null || effect !== 'pure',
    errorWorkflow,
  };
}

/**
 * The outcome of a step that succeeded and whose result could not be written. A call with an effect is not repeated, because
 * its effect has already happened.
 */
export function outcomeOfFailedWrite(
  { attempt, effect, state }: Extract<StepOutcome, { kind: 'succeeded' }>,
  failure: StepFailure,
): FailedOutcome {
  const isRepeatable = effect === 'pure';
  const { code, message } = failure;
  return {
    kind: 'failed',
    attempt,
    failure: isRepeatable ? failure : new StepFailure(code, message, { retryable: false, cause: failure.cause }),
    ...(state === undefined ? {} : { state }),
  };
}

/** Why the next step of a claimed run fails before it is executed; null when it is executed. */
export function refusalOf(run: ClaimedRun): StepFailure | null {
  const deadly = deathsAt(run, run.next_step);
  if (deadly !== null) return deadly;
  if (run.lost_leases >= maxLostLeases)
    return new StepFailure('worker_lost', `The worker was lost ${run.lost_leases} times in a row at this step.`, {
      retryable: false,
    });
  if (run.entitlements.automations) return null;
  return new StepFailure(
    'product_not_entitled',
    'This workspace is not entitled to automations any more; its runs end where they waited.',
    { retryable: false },
  );
}

/** Why a step is not executed again: hub processes ended while they executed it. Null for other steps. */
export function deathsAt(
  { process_deaths: deaths }: Pick<ClaimedRun, 'process_deaths'>,
  index: number,
): StepFailure | null {
  if (deaths?.step !== index || deaths.fences.length < maxProcessDeaths) return null;
  return new StepFailure(
    'worker_lost',
    'The process of the hub ended twice while it worked on this step, so it is not tried again. Let the step take in less, or split it.',
    { retryable: false },
  );
}

/** The workflow that starts when a run fails. Failures of an error workflow start nothing, or they could start runs for ever. */
function errorWorkflowOf(run: Situation['run']): string | null {
  return run.trigger['type'] === 'error' || run.error_workflow_id === run.workflow_id ? null : run.error_workflow_id;
}

/** Truncates a text to the stored length. A character that is cut in half is replaced, because PostgreSQL cannot store it. */
const truncateText = (text: string) => text.slice(0, maxOutputTextLength).toWellFormed();
