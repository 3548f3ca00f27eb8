import type { z } from 'zod';
import { errorBody } from '../../shared/contract/common.ts';
import { describeForeignAnswer } from './unreachable.ts';

type ErrorBody = z.output<typeof errorBody>;

/** The greatest answer that is read, in bytes. */
export const maxAnswerBytes = 16 * 1024 * 1024;
/** Code of an error for an answer that is greater. */
export const answerTooLarge = 'answer_too_large';

/** Code of an error for a request whose channel ended before its answer; the hub may have had it. */
export const channelLost = 'channel_lost';

export interface HubErrorOptions {
  cause?: unknown;
  retryAfterSeconds?: number | undefined;
  /** The error in the shape that only a hub gives it. */
  body?: ErrorBody | undefined;
}

/**
 * An answer that is no success, or none at all (`status` 0). Whatever stands between the hub and this device may answer in the
 * hub's place, with any status; only what has the shape of the hub's own errors is its word, and all else costs a retry.
 */
const maxMessageLength = 1_000;

export class HubError extends Error {
  readonly status: number;
  /** The hub's own code; `unreachable`, `channel_lost`, `foreign_answer` or `answer_too_large` when it said nothing that could be read. */
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;
  /** The hub's own error, when it was the hub that spoke. */
  readonly body: ErrorBody | undefined;

  constructor(status: number, code: string, message: string, { cause, retryAfterSeconds, body }: HubErrorOptions = {}) {
    // It may be the hub's own, and stands in states and logs.
    super(message.slice(0, maxMessageLength), cause === undefined ? undefined : { cause });
    this.name = 'HubError';
    this.status = status;
    this.code = code;
    this.retryAfterSeconds = retryAfterSeconds;
    this.body = body;
  }

  /** The hub does not know this device any more: asking again is pointless. */
  get isRevocation(): boolean {
    return this.body !== undefined && this.code === 'device_secret_invalid';
  }

  /** The hub itself refused the request as it is: sent again it would be refused again. */
  get isRefusal(): boolean {
    return (
      this.body !== undefined &&
      ['validation_failed', 'invalid_json', 'payload_too_large', 'unsupported_media_type', 'storage_full'].includes(
        this.code,
      )
    );
  }

  /** A hub that does not know the operation: an older one. */
  get isUnknownOperation(): boolean {
    return (
      this.body !== undefined &&
      (this.code === 'method_not_allowed' ||
        (this.code === 'not_found' && this.body.message.startsWith('There is nothing at ')))
    );
  }

  /** The hub does not have this command for this device. That it has nothing at a path is another thing: so speaks a wrong hub, too. */
  isUnknownCommand(commandId: string): boolean {
    if (this.code !== 'not_found' || this.body === undefined) return false;
    const { details = [], message } = this.body;
    return (
      details.some(({ path }) => path === 'params.commandId') || message.startsWith(`There is no command ${commandId} `)
    );
  }
}

/** What an answer that is no success says: a hub's own error, or that something else answered. */
export function toHubError(status: number, answer: unknown, retryAfter: string | null): HubError {
  const retryAfterSeconds = retryAfterOf(retryAfter);
  const parsed = errorBody.safeParse(answer);
  if (!parsed.success || parsed.data.statusCode !== status)
    return new HubError(status, 'foreign_answer', describeForeignAnswer(status), {
      retryAfterSeconds,
    });
  return new HubError(status, parsed.data.code, parsed.data.message, { retryAfterSeconds, body: parsed.data });
}

/** `Retry-After` in seconds, whether it names them or a time. */
function retryAfterOf(header: string | null): number | undefined {
  if (header === null) return undefined;
  const seconds = /^\s*\d+(\.\d+)?\s*$/.test(header) ? Number(header) : (Date.parse(header) - Date.now()) / 1000;
  return Number.isFinite(seconds) && seconds > 0 ? seconds : undefined;
}
