import type { z } from 'zod';
import { errorBody } from '../../shared/contract/common.ts';
import { describeForeignAnswer } from './unreachable.ts';

type ErrorBody = z.output<typeof errorBody>;

/** Size limit of an answer, in bytes. */
export const maxAnswerBytes = 16 * 1024 * 1024;
/** Error code for an answer over the size limit. */
export const answerTooLarge = 'answer_too_large';

/** Error code for a request whose channel ended before the answer. The hub may have received the request. */
export const channelLost = 'channel_lost';

export interface HubErrorOptions {
  cause?: unknown;
  retryAfterSeconds?: number | undefined;
  /** The error body. Only a hub sends it in this form. */
  body?: ErrorBody | undefined;
}

const maxMessageLength = 1_000;

/**
 * An error answer, or no answer at all (`status` 0). A proxy may answer instead of the hub, with any status. Only an
 * answer in the form of the hub's errors counts as the hub's own; any other answer is retried.
 */
export class HubError extends Error {
  readonly status: number;
  /** The hub's own code, or `unreachable`, `channel_lost`, `foreign_answer` or `answer_too_large`. */
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;
  /** The hub's own error body. Undefined when the answer did not come from a hub. */
  readonly body: ErrorBody | undefined;

  constructor(status: number, code: string, message: string, { cause, retryAfterSeconds, body }: HubErrorOptions = {}) {
    // The message may come from the hub. States and logs contain it.
    super(message.slice(0, maxMessageLength), cause === undefined ? undefined : { cause });
    this.name = 'HubError';
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
    this.body = body;
  }

  /** Whether the hub does not know this device any more. A retry is pointless then. */
  get isRevocation(): boolean {
    return this.body !== undefined && this.code === 'device_secret_invalid';
  }

  /** Whether the hub itself refused the request. A retry of the same request would be refused again. */
  get isRefusal(): boolean {
    return (
      this.body !== undefined &&
      ['validation_failed', 'invalid_json', 'payload_too_large', 'unsupported_media_type', 'storage_full'].includes(
        this.code,
      )
    );
  }

  /** Whether the hub does not know the operation, because it is older. */
  get isUnknownOperation(): boolean {
    return (
      this.body !== undefined &&
      (this.code === 'method_not_allowed' ||
        (this.code === 'not_found' && this.body.message.startsWith('There is nothing at ')))
    );
  }

  /** Whether the hub has no such command for this device. An unknown path is different: a wrong hub answers so, too. */
  isUnknownCommand(commandId: string): boolean {
    if (this.code !== 'not_found' || this.body === undefined) return false;
    const { details = [], message } = this.body;
    return (
      details.some(({ path }) => path === 'params.commandId') || message.startsWith(`There is no command ${commandId} `)
    );
  }
}

/** Converts an error answer: to the hub's own error, or to an error that says that something else answered. */
export function toHubError(status: number, answer: unknown, retryAfter: string | null): HubError {
  const retryAfterSeconds = retryAfterOf(retryAfter);
  const parsed = errorBody.safeParse(answer);
  if (!parsed.success || parsed.data.statusCode !== status)
    return new HubError(status, 'foreign_answer', describeForeignAnswer(status), {
      retryAfterSeconds,
    });
  return new HubError(status, parsed.data.code, parsed.data.message, { retryAfterSeconds, body: parsed.data });
}

/** `Retry-After` in seconds. The header has seconds or a date. */
function retryAfterOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}
