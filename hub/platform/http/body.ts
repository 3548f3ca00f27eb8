import type { Request } from 'express';
import type { Operation } from '../../../shared/contract/define.ts';
import { AppError } from '../../../shared/errors.ts';
import { parseJsonText } from './json-text.ts';

/** Greatest JSON body, in bytes, where an operation names no other. */
const defaultLimitBytes = 1024 * 1024;

const utf8 = new TextDecoder('utf-8', { fatal: true });

export function mediaType(request: Request): string {
  return (request.headers['content-type'] ?? '').split(';')[0]?.trim().toLowerCase() ?? '';
}

function hasBody(request: Request): boolean {
  return request.headers['transfer-encoding'] !== undefined || Number(request.headers['content-length'] ?? 0) > 0;
}

/** Reads a body up to a limit. @throws AppError `payload_too_large`, the rest not read. */
async function readBounded(request: Request, limitBytes: number): Promise<Buffer> {
  const tooLarge = () => new AppError('payload_too_large', `The body has more than ${limitBytes} bytes.`);
  if (Number(request.headers['content-length'] ?? 0) > limitBytes) throw tooLarge();
  const chunks: Buffer[] = [];
  let length = 0;
  for await (const chunk of piecesOf(request)) {
    length += chunk.length;
    if (length > limitBytes) throw tooLarge();
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

/**
 * Reads the JSON body of a request, and its bytes; undefined when there is none.
 * @throws AppError `unsupported_media_type`, `payload_too_large`, `invalid_json`.
 */
export async function readJsonBody(
  request: Request,
  operation: Operation,
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
  const bytes = await readBounded(request, operation.bodyLimitBytes ?? defaultLimitBytes);
  if (bytes.length === 0) return undefined;
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
export async function* readPieces(request: Request, signal: AbortSignal): AsyncGenerator<Buffer> {
  for await (const piece of piecesOf(request)) {
    yield piece;
    if (signal.aborted)
      throw new AppError('unavailable', 'The hub stops; go on when it is back.', { retryAfterSeconds: 1 });
  }
}

/** A reader that stops early must leave the connection to the answer. */
const piecesOf = (request: Request) => request.iterator({ destroyOnReturn: false }) as AsyncIterableIterator<Buffer>;
