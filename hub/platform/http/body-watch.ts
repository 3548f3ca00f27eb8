import type { Request } from 'express';

/** How long a body may take, in milliseconds. */
export interface BodyLimits {
  /** All of it, where an operation takes no uploads. */
  totalMs: number;
  /** Without a byte, while an upload is read. */
  idleMs: number;
}

/** Watches over the body of one request until all of it has come. */
export interface BodyWatch {
  /** Lets it take as long as it likes, as long as bytes keep coming; only for callers that proved who they are. */
  allowSlow(): void;
}

const none: BodyWatch = { allowSlow: () => undefined };

/** Calls `onLate` when the body of a request takes too long, also when nobody reads it. */
export function watchBody(request: Request, { totalMs, idleMs }: BodyLimits, onLate: () => void): BodyWatch {
  if (request.headers['transfer-encoding'] === undefined && Number(request.headers['content-length'] ?? 0) === 0)
    return none;
  const { socket } = request;
  let timer = setTimeout(onLate, totalMs);
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
          onLate();
        }
        seen = socket.bytesRead;
      }, idleMs);
    },
  };
}
