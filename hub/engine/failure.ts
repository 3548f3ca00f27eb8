import { AppError, errorCodes } from '../../shared/errors.ts';
import { UnstorableError } from '../../shared/json.ts';
import type { JsonValue } from '../../shared/json.ts';
import { TemplateError } from '../../shared/template.ts';
import type { RunFailure } from './schema.ts';

/** Why a step failed, and whether a retry can succeed. */
export class StepFailure extends Error {
  readonly code: string;
  readonly retryable: boolean;
  /** Delay that the remote service requests before a retry, in seconds. */
  readonly retryAfterSeconds: number | undefined;
  /** Output of the step despite the failure. Null if there is none. */
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

/** Another worker, a cancellation or a shutdown ended the lease of this worker on the run. This worker must not write to the run any more. */
export class LeaseLost extends Error {
  constructor(reason: string) {
    super(reason);
    this.name = 'LeaseLost';
  }
}

/** Error codes of node commands after which a retry can succeed. All other codes are final. */
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
 * @param acts whether the command changes something on its node. If such a command was interrupted, only a user can repeat it.
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

/** Whether a call could have had a part of its effect. Only a user can repeat such a call. */
export const isInDoubt = ({ code, retryable }: StepFailure) =>
  code === 'outcome_unknown' || (code === 'interrupted' && !retryable);

/** Converts an error of a step to a failure. The message of an unexpected error is not disclosed. */
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
