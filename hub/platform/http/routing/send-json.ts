import type { Request, Response } from 'express';

export interface LingerLimits {
  /** How long the rest of a body is read after its answer, in milliseconds. */
  lingerMs: number;
  /** And how many bytes of it. */
  lingerBytes: number;
}

/** The rest of a body that was announced smaller than this is read whatever it is, and its connection serves the next request, in bytes. */
const smallRemainderBytes = 64 * 1024;
const defaultLimits: LingerLimits = { lingerMs: 2_000, lingerBytes: 16 * 1024 * 1024 };

/**
 * Sends JSON as the answer. `onLength` is called with the length of its body before anything is sent, and may throw. Where much of the body was not read, as of an upload that was refused, the connection serves no other request:
 * the caller has the answer at once and whole, and what it goes on sending is thrown away within bounds before the connection ends, since
 * to close on bytes that nobody read would take the answer back.
 */
export function sendJson(
  response: Response,
  body: unknown,
  {
    lingerMs = defaultLimits.lingerMs,
    lingerBytes = defaultLimits.lingerBytes,
    onLength,
  }: Partial<LingerLimits> & { onLength?: (bytes: number) => void } = {},
): void {
  const { req: request } = response;
  // A reader that gave up left it paused, and the connection with it: Node.js throws away only what nobody began to read.
  if (!request.complete) request.resume();
  const content = Buffer.from(JSON.stringify(body));
  onLength?.(content.length);
  response.set({ 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(content.length) });
  if (!hasLargeUnreadBody(request)) {
    response.end(content);
    return;
  }
  response.set('Connection', 'close');
  response.write(content);
  let left = lingerBytes;
  const end = () => {
    clearTimeout(timer);
    request.off('data', count);
    response.end();
  };
  const count = (chunk: Buffer) => {
    left -= chunk.length;
    if (left < 0) end();
  };
  const timer = setTimeout(end, lingerMs);
  request.once('end', end).once('error', end).once('close', end);
  request.on('data', count);
}

function hasLargeUnreadBody(request: Request): boolean {
  if (request.complete || request.destroyed) return false;
  return (
    request.headers['transfer-encoding'] !== undefined ||
    Number(request.headers['content-length'] ?? 0) > smallRemainderBytes
  );
}
