import { AppError, errorCodes } from '../../shared/errors.ts';
import { UnstorableError } from '../../shared/json.ts';
import type { JsonValue } from '../../shared/json.ts';
import { TemplateError } from '../../shared/template.ts';
import type { RunFailure } from './schema.ts';

/** Why a step failed, and whether a further try could help. */
export class StepFailure extends Error {
  readonly code: string;
  readonly retryable: boolean;
  /** How long the other side asks to be left alone, in seconds. */
  readonly retryAfterSeconds: number | undefined;
  /** What the step put out although it failed; null when there is nothing to keep. */
  readonly output: JsonValue;

  constructor(
    code: string,
    message: string,
    options: { retryable: boolean; retryAfterSeconds?: number | undefined; output?: JsonValue; cause?: unknown },
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'StepFailure';
    this.code = code;
    this.retryable = options.retryable;
    this.retryAfterSeconds = options.retryAfterSeconds;
    this.output = options.output ?? null;
  }

  toRecord(stepIndex: number): RunFailure {
    return { code: this.code, message: this.message, stepIndex };
  }
}

/** Another worker, a cancel or a shutdown took the run: this worker must write nothing more. */
export class LeaseLost extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'LeaseLost';
  }
}

/** Codes of a node's failed command that a further try may mend; every other one is final. */
const retryableCommandCodes = new Set([
  'timeout',
  'node_offline',
  'failed',
  'navigation_failed',
  'target_not_found',
  'too_many_pages',
  'evaluation_failed',
  'paused',
  'exit_code',
]);

/**
 * The failure of a step whose node command failed.
 * @param acts whether the command changes something on its node. If it does and was ended after it began, only a person may repeat it.
 */
export function commandFailure(
  error: { code: string; message: string } | null,
  output: JsonValue,
  acts: boolean,
): StepFailure {
  const { code, message } = error ?? { code: 'failed', message: 'The node gave no reason.' };
  const retryable = retryableCommandCodes.has(code) || (code === 'interrupted' && !acts);
  return new StepFailure(code, message, { retryable, output });
}

/** Whether a call may have had a part of its effect, so that only a person may repeat it. */
export const isInDoubt = ({ code, retryable }: StepFailure) =>
  code === 'outcome_unknown' || (code === 'interrupted' && !retryable);

/** The failure that an error out of a step amounts to; an error of ours that nobody foresaw keeps its text to itself. */
export function toStepFailure(error: unknown): StepFailure {
  if (error instanceof StepFailure) return error;
  if (error instanceof TemplateError)
    return new StepFailure('template_error', error.message, { retryable: false, cause: error });
  if (error instanceof UnstorableError)
    return new StepFailure(
      'unstorable_value',
      `What the step was given, or was answered, ${error.message}, so it can't be kept.`,
      { retryable: false, cause: error },
    );
  if (error instanceof AppError)
    return new StepFailure(error.code, error.message, {
      retryable: errorCodes[error.code].retryable,
      retryAfterSeconds: error.retryAfterSeconds,
      cause: error,
    });
  return new StepFailure('internal', "The step failed for a reason of the hub's own; its log has the details.", {
    retryable: true,
    cause: error,
  });
}
