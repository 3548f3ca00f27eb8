import type { z } from 'zod';
import { addressOf } from '../../shared/client/client.ts';
import type { Input } from '../../shared/client/client.ts';
import { errorBody } from '../../shared/contract/common.ts';
import { hubAnswers } from './hub-answers.ts';
import type { HubAnswers } from './hub-answers.ts';

type ErrorBody = z.output<typeof errorBody>;

/** The greatest answer that is read, in bytes. */
const maxAnswerBytes = 16 * 1024 * 1024;
/** Code of an error for an answer that is greater. */
export const answerTooLarge = 'answer_too_large';

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
export class HubError extends Error {
  readonly status: number;
  /** The hub's own code; `unreachable`, `foreign_answer` or `answer_too_large` when it said nothing that could be read. */
  readonly code: string;
  readonly retryAfterSeconds: number | undefined;
  /** The hub's own error, when it was the hub that spoke. */
  readonly body: ErrorBody | undefined;

  constructor(status: number, code: string, message: string, { cause, retryAfterSeconds, body }: HubErrorOptions = {}) {
    super(message, cause === undefined ? undefined : { cause });
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
  saysUnknown(commandId: string): boolean {
    if (this.code !== 'not_found' || this.body === undefined) return false;
    const { details = [], message } = this.body;
    return (
      details.some(({ path }) => path === 'params.commandId') || message.startsWith(`There is no command ${commandId} `)
    );
  }
}

export interface CallOptions {
  signal: AbortSignal;
  /** For all of it; with `content`, since its last byte left. */
  timeoutMs: number;
  /** Instead of the JSON body. */
  form?: FormData;
  /** Instead of the JSON body: bytes, taken from their source as fast as they leave. */
  content?: AsyncIterable<Uint8Array>;
}

/** An answer, and how far the hub's clock is ahead of ours, in milliseconds. */
export interface HubAnswer<Body> {
  body: Body;
  clockAheadMs: number;
}

/** Speaks the device operations of the contract with a hub. */
export class HubClient {
  readonly #hub: string;
  readonly #secret: string | null;

  constructor(hub: string, secret: string | null) {
    this.#hub = hub.replace(/\/+$/, '');
    this.#secret = secret;
  }

  /** @throws HubError, or the signal's reason. */
  async call<Id extends keyof HubAnswers>(
    id: Id,
    input: Partial<Input<Id>>,
    options: CallOptions,
  ): Promise<HubAnswer<z.output<HubAnswers[Id]>>> {
    const { method, url } = addressOf(this.#hub, id, input);
    const { body } = input as { body?: unknown };
    const timeout = new AbortController();
    const timer = setTimeout(() => timeout.abort(), options.timeoutMs);
    const { form, content } = options;
    const json = form === undefined && content === undefined && body !== undefined;
    let response: Response;
    let text: string;
    try {
      response = await fetch(url, {
        method,
        headers: {
          ...(this.#secret === null ? {} : { authorization: `Bearer ${this.#secret}` }),
          ...(json ? { 'content-type': 'application/json' } : {}),
          ...(content === undefined ? {} : { 'content-type': 'application/octet-stream' }),
        },
        body:
          form ??
          (content === undefined
            ? json
              ? JSON.stringify(body)
              : null
            : ReadableStream.from(eachRefreshing(content, timer))),
        ...(content === undefined ? {} : { duplex: 'half' }),
        signal: AbortSignal.any([options.signal, timeout.signal]),
        // A hub has no reason to send its devices elsewhere, and the secret must not go along.
        redirect: 'error',
      });
      text = await readText(response, this.#hub);
    } catch (error) {
      if (options.signal.aborted) throw options.signal.reason;
      if (error instanceof HubError) throw error;
      const cause = (error as { cause?: { code?: string; message?: string } }).cause;
      const reason = timeout.signal.aborted
        ? `no answer within ${options.timeoutMs / 1000} s`
        : (cause?.code ?? cause?.message ?? (error as Error).message);
      throw new HubError(0, 'unreachable', `The hub at ${this.#hub} can't be reached: ${reason}`, { cause: error });
    } finally {
      clearTimeout(timer);
    }
    const answer = parseJson(text);
    if (!response.ok) throw errorOf(response, answer);
    const parsed = (hubAnswers[id] as z.ZodType).safeParse(answer);
    if (!parsed.success)
      throw new HubError(
        response.status,
        'foreign_answer',
        `The answer of ${this.#hub} is not a hub's; is the address right?`,
      );
    const date = Date.parse(response.headers.get('date') ?? '');
    return { body: parsed.data as z.output<HubAnswers[Id]>, clockAheadMs: Number.isNaN(date) ? 0 : date - Date.now() };
  }
}

/** An answer whole, as long as it is none that would fill the memory. */
async function readText(response: Response, hub: string): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of (response.body ?? []) as AsyncIterable<Uint8Array>) {
    bytes += chunk.length;
    // To leave the loop ends the connection.
    if (bytes > maxAnswerBytes)
      throw new HubError(
        response.status,
        answerTooLarge,
        `The answer of ${hub} has more than ${maxAnswerBytes} bytes; is the address right?`,
      );
    chunks.push(chunk);
  }
  return new TextDecoder().decode(Buffer.concat(chunks));
}

/** Passes chunks on; each begins the time-out anew. */
async function* eachRefreshing(content: AsyncIterable<Uint8Array>, timer: NodeJS.Timeout): AsyncGenerator<Uint8Array> {
  for await (const chunk of content) {
    timer.refresh();
    yield chunk;
  }
}

function errorOf(response: Response, json: unknown): HubError {
  const { status, headers } = response;
  const retryAfterSeconds = retryAfterOf(headers.get('retry-after'));
  const parsed = errorBody.safeParse(json);
  if (!parsed.success || parsed.data.statusCode !== status)
    return new HubError(status, 'foreign_answer', `Something before the hub answered ${status}.`, {
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

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
