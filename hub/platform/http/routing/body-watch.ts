import type { Request } from 'express';

/** How long a body may take, in milliseconds. */
export interface BodyLimits {
  /** All of it, where an operation takes no uploads; a short one has less, down to 20 s. */
  totalMs: number;
  /** Without a byte, while an upload is read. */
  idleMs: number;
}

/** Watches over the body of one request until all of it has come. */
export interface BodyWatch {
  /** Lets it take as long as it likes, as long as bytes keep coming; only for callers that proved who they are. */
  allowSlow(): void;
}

/** How long a body of known length may take besides the time that its bytes need at the least rate, in milliseconds. */
const baseMs = 20_000;
/** The least rate of a body that is no upload, in bytes a millisecond. */
const minBytesPerMs = 16;

/** A short body may take less time than a long one, so that many short bodies that stall do not use memory for long. */
const timeoutOf = (request: Request, totalMs: number): number =>
  request.headers['transfer-encoding'] === undefined
    ? Math.min(totalMs, baseMs + Number(request.headers['content-length']) / minBytesPerMs)
    : totalMs;

const none: BodyWatch = { allowSlow: () => undefined };

/** Calls `onTimeout` when the body of a request takes too long, also when nobody reads it. */
export function watchBody(request: Request, { totalMs, idleMs }: BodyLimits, onTimeout: () => void): BodyWatch {
  if (request.headers['transfer-encoding'] === undefined && Number(request.headers['content-length'] ?? 0) === 0)
    return none;
  const { socket } = request;
  let timer = setTimeout(onTimeout, timeoutOf(request, totalMs));
  const stop = () => clearInterval(timer);
  request.once('end', stop);
  request.once('close', stop);
  return {
    allowSlow() {
      if (request.complete || request.destroyed) return;
      clearTimeout(timer);
      let seen = socket.bytesRead;
      timer = setInterval(() => {
        if (socket.bytesRead === seen) {
          stop();
          onTimeout();
        }
        seen = socket.bytesRead;
      }, idleMs);
    },
  };
}
