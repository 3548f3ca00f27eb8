import type { Request } from 'express';
import type { Operation } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import { OutOfMemory } from '../../process/memory-budget.ts';
import type { MemoryReservation } from '../../process/memory-budget.ts';
import { heapOfJson, parseJsonText } from './json-text.ts';

/** Maximum size of a JSON body, where the operation declares none. */
export const defaultLimitBytes = 1024 * 1024;

/**
 * Maximum size of a JSON body for callers without a credential of the workspace: public operations, pairing and
 * visitors.
 */
export const publicLimitBytes = 64 * 1024;

/** Bodies up to this size need no memory reservation, so that requests with large bodies cannot delay them. */
export const smallBodyBytes = 32 * 1024;

const isPublic = ({ callers }: Operation) =>
  callers.some((caller) => caller === 'public' || caller === 'pairing' || caller === 'visitor');

/** Maximum heap that a parsed JSON body may use. */
const maxHeapBytes = 64 * 1024 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function mediaType(request: Request): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/**
 * Collects the chunks of a body in one growing buffer. A small chunk on its own may use some hundred times its length.
 */
export class BodyBuffer {
  readonly #limitBytes: number;
  #memory = Buffer.alloc(0);
  #length = 0;

  /** @param limitBytes maximum length of the whole body. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** Capacity of the buffer, in bytes, after `moreBytes` are added. */
  capacityWith(moreBytes: number): number {
    const length = this.#length + moreBytes;
    return length <= this.#memory.length
      ? this.#memory.length
      : Math.min(this.#limitBytes, Math.max(length, 2 * this.#memory.length));
  }

  add(chunk: Buffer): void {
    const capacity = this.capacityWith(chunk.length);
    if (capacity > this.#memory.length) {
      const larger = Buffer.allocUnsafe(capacity);
      this.#memory.copy(larger, 0, 0, this.#length);
      this.#memory = larger;
    }
    this.#length += chunk.copy(this.#memory, this.#length);
  }

  /** The bytes added so far. */
  bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }
}

/**
 * Reads a body up to a limit.
 * @param reserve called before the buffer grows beyond a small body, with its new capacity in bytes.
 * @throws AppError `payload_too_large`, without reading the rest; any error of `reserve`.
 */
export async function readBounded(
  request: Request,
  limitBytes: number,
  reserve?: (bytes: number) => Promise<void>,
): Promise<Buffer> {
  const tooLarge = () => new AppError('payload_too_large', `The body has more than ${limitBytes} bytes.`);
  const announced = announcedBytes(request) ?? limitBytes;
  if (announced > limitBytes) throw tooLarge();
  const received = new BodyBuffer(announced);
  for await (const chunk of chunksOf(request)) {
    if (received.length + chunk.length > limitBytes) throw tooLarge();
    const capacity = received.capacityWith(chunk.length);
    if (capacity > smallBodyBytes) await reserve?.(capacity);
    received.add(chunk);
  }
  return received.bytes();
}

/** Admits a large body, or throws. */
export interface BodyAdmission {
  /** Also called for a body of unknown length. */
  beforeRead(): Promise<void>;
  /** Called before the buffer of the body grows. @param bytes its new capacity. */
  reserve(bytes: number): Promise<void>;
  /** @param heapBytes estimated heap of the parsed body. */
  beforeParse(heapBytes: number, bytes: Buffer): Promise<void>;
}

/** Declared length of a body; null for a chunked body. */
const announcedBytes = ({ headers }: Request): number | null =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;

/**
 * Reads and parses the JSON body of a request. Returns undefined when the body is empty.
 * @param admission called for a large body.
 * @throws AppError `unsupported_media_type`, `payload_too_large`, `invalid_json`; any error of `admission`.
 */
export async function readJsonBody(
  request: Request,
  operation: Operation,
  admission: BodyAdmission,
): Promise<{ value: unknown; bytes: Buffer } | undefined> {
  if (!hasBody(request)) return undefined;
  if (mediaType(request) !== 'application/json') {
    throw new AppError('unsupported_media_type', 'The body must be JSON: send Content-Type: application/json.', {
      headers: { Accept: 'application/json' },
    });
  }
  if (request.headers['content-encoding'] !== undefined && request.headers['content-encoding'] !== 'identity') {
    throw new AppError('unsupported_media_type', 'Compressed bodies are not supported; send the body uncompressed.');
  }
  const limitBytes = operation.bodyLimitBytes ?? (isPublic(operation) ? publicLimitBytes : defaultLimitBytes);
  if ((announcedBytes(request) ?? limitBytes) > smallBodyBytes) await admission.beforeRead();
  const bytes = await readBounded(request, limitBytes, (capacity) => admission.reserve(capacity));
  if (bytes.length === 0) return undefined;
  const heapBytes = heapOfBody(bytes);
  if (bytes.length > smallBodyBytes) await admission.beforeParse(heapBytes, bytes);
  try {
    return { value: parseJsonText(utf8.decode(bytes)), bytes };
  } catch (error) {
    const reason = error instanceof SyntaxError ? error.message : 'it is not UTF-8';
    throw new AppError('invalid_json', `The body is not JSON: ${reason.slice(0, 200)}.`, { cause: error });
  }
}

/**
 * Yields the chunks of a body. The connection stays open after an error, so that an error response can be sent.
 * @throws AppError `unavailable` when `signal` aborts.
 */
export async function* readChunks(request: Request, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const chunk of chunksOf(request)) {
    yield chunk;
    if (signal.aborted)
      throw new AppError('unavailable', 'The hub is shutting down; continue when it is back.', {
        retryAfterSeconds: 1,
      });
  }
}

/**
 * Yields the chunks of a body. When the reader stops early, the connection stays open for the response.
 * @throws AppError `validation_failed` when the connection ends within the body. The error of the socket is not passed
 * on: it has the same codes as errors of the database connection.
 */
async function* chunksOf(request: Request): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  } catch {
    throw new AppError('validation_failed', 'The connection ended in the middle of the body; send the request again.');
  }
}

/**
 * Estimates the heap of a parsed JSON body, in bytes.
 * @throws AppError `payload_too_large` when the estimate exceeds the limit.
 */
export function heapOfBody(text: Uint8Array): number {
  const heapBytes = heapOfJson(text);
  if (heapBytes <= maxHeapBytes) return heapBytes;
  throw new AppError('payload_too_large', 'The body has too many values; send fewer objects, lists and fields.');
}

/**
 * Reserves memory for a large parsed body.
 * @throws AppError `rate_limited` when the memory does not become free in time.
 */
export async function reserveParsedBody(memory: MemoryReservation, bytes: number, signal: AbortSignal): Promise<void> {
  await orRateLimited(memory.resize(bytes, signal));
}

/**
 * Reserves more memory for the bytes of a body, and keeps the present reservation while it waits.
 * @throws as `reserveParsedBody`.
 */
export const reserveReceivedBytes = (memory: MemoryReservation, bytes: number, signal: AbortSignal): Promise<void> =>
  orRateLimited(memory.grow(bytes, signal));

async function orRateLimited(reserved: Promise<void>): Promise<void> {
  try {
    await reserved;
  } catch (error) {
    if (!(error instanceof OutOfMemory)) throw error;
    throw tooManyLargeBodies();
  }
}

export const tooManyLargeBodies = () =>
  new AppError(
    'rate_limited',
    'Other requests with large bodies are in progress. Wait for their responses, then send this one again.',
    { retryAfterSeconds: 5 },
  );
