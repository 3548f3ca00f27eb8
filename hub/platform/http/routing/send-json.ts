import type { Express, Request, Response } from 'express';

export interface LingerLimits {
  /** Time for which the unread rest of a request body is read after the response. */
  lingerMs: number;
  /** Maximum bytes of the rest that are read. */
  lingerBytes: number;
}

/**
 * The unread rest of a body with a smaller declared length is always read, and the connection is kept for the next
 * request.
 */
const smallRemainderBytes = 64 * 1024;
const defaultLimits: LingerLimits = { lingerMs: 2_000, lingerBytes: 16 * 1024 * 1024 };

const setting = 'linger limits';

/** Replaces the limits for the responses of a server. */
export function setLingerLimits(app: Express, limits: LingerLimits): void {
  app.set(setting, limits);
}

/**
 * Sends a JSON response. `onLength` is called with the length of its body before anything is sent, and may throw. When
 * much of the request body is unread, for example of a refused upload, the response is sent immediately and the
 * connection is closed. Before it is closed, the rest of the body is read and discarded within limits: closing a
 * connection with unread bytes resets it, and the client may lose the response.
 */
export function sendJson(
  response: Response,
  body: unknown,
  { onLength }: { onLength?: (bytes: number) => void } = {},
): void {
  const { req: request } = response;
  // A reader that stopped early left the request paused. Node.js discards only bodies that no reader has started to
  // read.
  if (!request.complete) request.resume();
  const content = Buffer.from(JSON.stringify(body));
  onLength?.(content.length);
  response.set({ 'Content-Type': 'application/json; charset=utf-8', 'Content-Length': String(content.length) });
  if (!hasLargeUnreadBody(request)) {
    response.end(content);
    return;
  }
  const { lingerMs, lingerBytes } = (response.app.get(setting) as LingerLimits | undefined) ?? defaultLimits;
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
