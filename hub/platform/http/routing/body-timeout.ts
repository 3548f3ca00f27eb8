import type { Request } from 'express';

/** Time limits for receiving a request body. */
export interface BodyLimits {
  /** Time limit for a whole body that is not an upload. Short bodies have less, down to 20 s. */
  totalMs: number;
  /** Time without a byte after which an upload times out. */
  idleMs: number;
}

/** Enforces the time limit of one request body. */
export interface BodyTimeout {
  /** Replaces the total limit by the idle limit. Only for authenticated callers. */
  allowSlow(): void;
}

/** Time limit of a body of known length, in addition to its length at the minimum rate. */
const baseMs = 20_000;
/** Minimum rate of a body that is not an upload. */
const minBytesPerMs = 16;

/** A short body has a shorter limit than a long one, so that many stalled short bodies do not use memory for long. */
const timeoutOf = (request: Request, totalMs: number): number =>
  request.headers['transfer-encoding'] === undefined
    ? Math.min(totalMs, baseMs + Number(request.headers['content-length']) / minBytesPerMs)
    : totalMs;

const none: BodyTimeout = { allowSlow: () => undefined };

/** Calls `onTimeout` when the body of a request takes too long, also when no handler reads the body. */
export function startBodyTimeout(
  request: Request,
  { totalMs, idleMs }: BodyLimits,
  onTimeout: () => void,
): BodyTimeout {
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
      let lastBytesRead = socket.bytesRead;
      timer = setInterval(() => {
        if (socket.bytesRead === lastBytesRead) {
          stop();
          onTimeout();
        }
        lastBytesRead = socket.bytesRead;
      }, idleMs);
    },
  };
}
