import type { Request } from 'express';
import type { Operation } from '../../../../shared/contract/define.ts';
import { AppError } from '../../../../shared/errors.ts';
import { OutOfMemory } from '../../process/memory-budget.ts';
import type { MemoryReservation } from '../../process/memory-budget.ts';
import { heapOfJson, parseJsonText } from './json-text.ts';

/** Greatest JSON body, in bytes, where an operation names no other. */
const defaultLimitBytes = 1024 * 1024;

/** The same for an operation that anybody may call without a credential, and for those of visitors, who need none from the workspace. */
const publicLimitBytes = 64 * 1024;

/** Bodies up to this length are small, in bytes: they wait for no memory, so that requests with large ones can't keep them out. */
export const smallBodyBytes = 32 * 1024;

const isPublic = ({ callers }: Operation) =>
  callers.some((caller) => caller === 'public' || caller === 'pairing' || caller === 'visitor');

/** Greatest heap that a JSON body may use once it is parsed, in bytes. */
const maxHeapBytes = 64 * 1024 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function mediaType(request: Request): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** The beginning of a body in one piece of memory, which grows with it: each piece on its own may take some hundred times what it holds. */
export class BodyBuffer {
  readonly #limitBytes: number;
  #memory = Buffer.alloc(0);
  #length = 0;

  /** @param limitBytes what may be added in all. */
  constructor(limitBytes: number) {
    this.#limitBytes = limitBytes;
  }

  get length(): number {
    return this.#length;
  }

  /** What it takes in memory once so many bytes more are added. */
  capacityWith(moreBytes: number): number {
    const length = this.#length + moreBytes;
    return length <= this.#memory.length
      ? this.#memory.length
      : Math.min(this.#limitBytes, Math.max(length, 2 * this.#memory.length));
  }

  add(piece: Buffer): void {
    const held = this.capacityWith(piece.length);
    if (held > this.#memory.length) {
      const larger = Buffer.allocUnsafe(held);
      this.#memory.copy(larger, 0, 0, this.#length);
      this.#memory = larger;
    }
    this.#length += piece.copy(this.#memory, this.#length);
  }

  /** All that was added. */
  bytes(): Buffer {
    return this.#memory.subarray(0, this.#length);
  }
}

/**
 * Reads a body up to a limit.
 * @param hold called before more memory is used for it, with all that it then uses, in bytes.
 * @throws AppError `payload_too_large`, the rest not read; what `hold` throws.
 */
export async function readBounded(
  request: Request,
  limitBytes: number,
  hold?: (bytes: number) => Promise<void>,
): Promise<Buffer> {
  const tooLarge = () => new AppError('payload_too_large', `The body has more than ${limitBytes} bytes.`);
  const announced = announcedBytes(request) ?? limitBytes;
  if (announced > limitBytes) throw tooLarge();
  const gathered = new BodyBuffer(announced);
  for await (const piece of chunksOf(request)) {
    if (gathered.length + piece.length > limitBytes) throw tooLarge();
    const held = gathered.capacityWith(piece.length);
    if (held > smallBodyBytes) await hold?.(held);
    gathered.add(piece);
  }
  return gathered.bytes();
}

/** Lets a large body be read and parsed, or throws. */
export interface BodyAdmission {
  /** Also called for a body of unknown length. */
  beforeRead(): Promise<void>;
  /** Called while the body is received, before more memory is used for it. @param bytes all that it then uses, in bytes. */
  hold(bytes: number): Promise<void>;
  /** @param heapBytes the heap that the parsed body uses, in bytes. */
  beforeParse(heapBytes: number, bytes: Buffer): Promise<void>;
}

/** The length of a body; null when it is not known before the body ends. */
const announcedBytes = ({ headers }: Request): number | null =>
  headers['transfer-encoding'] === undefined ? Number(headers['content-length'] ?? 0) : null;

/**
 * Reads the JSON body of a request, and its bytes; undefined when there is none.
 * @param admission Called for a large body.
 * @throws AppError `unsupported_media_type`, `payload_too_large`, `invalid_json`; what `admission` throws.
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
    throw new AppError('unsupported_media_type', 'A compressed body is not understood; send it plain.');
  }
  const limitBytes = operation.bodyLimitBytes ?? (isPublic(operation) ? publicLimitBytes : defaultLimitBytes);
  if ((announcedBytes(request) ?? limitBytes) > smallBodyBytes) await admission.beforeRead();
  const bytes = await readBounded(request, limitBytes, (held) => admission.hold(held));
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
 * The bytes of a body as they come; ends early, with `unavailable`, when `signal` aborts. The connection stays, so that what went wrong
 * can be answered.
 */
export async function* readChunks(request: Request, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const piece of chunksOf(request)) {
    yield piece;
    if (signal.aborted)
      throw new AppError('unavailable', 'The hub stops; go on when it is back.', { retryAfterSeconds: 1 });
  }
}

/**
 * The pieces of a body. A reader that stops early must leave the connection to the answer.
 * @throws AppError `validation_failed` when the connection ends within the body: its error has the codes that those of the database have.
 */
async function* chunksOf(request: Request): AsyncGenerator<Buffer, void, undefined> {
  try {
    yield* request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
  } catch {
    throw new AppError('validation_failed', 'The connection ended in the middle of the body; send the request again.');
  }
}

/** Estimates the heap that a JSON body uses once it is parsed, in bytes. @throws AppError `payload_too_large` when it is too much for any body. */
export function heapOfBody(text: Uint8Array): number {
  const heapBytes = heapOfJson(text);
  if (heapBytes <= maxHeapBytes) return heapBytes;
  throw new AppError('payload_too_large', 'The body has too many values; send fewer objects, lists and fields.');
}

/** Reserves memory for a large body. @throws AppError `rate_limited` when other large bodies leave no memory for one in time. */
export async function reserveParsedBody(memory: MemoryReservation, bytes: number, signal: AbortSignal): Promise<void> {
  await orRateLimited(memory.resize(bytes, signal));
}

/** The same for the bytes of a body that is being received: what has arrived stays reserved meanwhile. */
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
    'Other requests with large bodies are not answered yet. Wait for their answers, then send this one again.',
    { retryAfterSeconds: 5 },
  );
