import type { ServerResponse } from 'node:http';
import { AppError } from '../../../../shared/errors.ts';

/** A stream of server-sent events to one caller. */
export interface EventStream {
  /** Resolves once there is room for more: whoever reads rows only then holds no more of them than the reader takes. */
  send(event: string, data: unknown, id?: string): Promise<void>;
  /** Ends with the caller, what the caller may do, the hub, or its own time. */
  signal: AbortSignal;
}

/** One that also takes what was written as JSON already, once for many callers. */
export interface TextEventStream extends EventStream {
  sendText(event: string, json: string, id?: string): Promise<void>;
}

export interface EventStreamOptions {
  maxSeconds: number;
  /** A reader that takes nothing for so long is cut off. */
  stallMs?: number;
}

/** A reader that takes nothing for so long is gone or a burden, in milliseconds. */
export const readerStallMs = 30_000;
const keepAliveMs = 15_000;
const retryMs = 2_000;

/**
 * Opens a stream, runs `produce` until it returns or the stream ends, and closes it. When the caller's right to it ends before,
 * the last event is `end` with the code of the refusal.
 */
export async function streamEvents(
  response: ServerResponse,
  signal: AbortSignal,
  { maxSeconds, stallMs = readerStallMs }: EventStreamOptions,
  produce: (stream: TextEventStream) => Promise<void>,
): Promise<void> {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  });
  response.flushHeaders();
  response.write(`retry: ${retryMs}\n\n`);
  const until = AbortSignal.any([signal, AbortSignal.timeout(maxSeconds * 1000)]);
  const room = async () => {
    if (!response.writableNeedDrain || response.destroyed || until.aborted) return;
    // Counts as silent only while nothing of what waits is taken; without a listener, the time-out destroys the connection.
    response.setTimeout(stallMs);
    const drained = Promise.withResolvers<void>();
    const onRoom = () => drained.resolve();
    response.once('drain', onRoom);
    until.addEventListener('abort', onRoom, { once: true });
    await drained.promise;
    response.off('drain', onRoom);
    until.removeEventListener('abort', onRoom);
    response.setTimeout(0);
  };
  const sendText: TextEventStream['sendText'] = async (event, json, id) => {
    if (until.aborted) return;
    // JSON holds no line breaks, so one data line is enough.
    response.write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${json}\n\n`);
    await room();
  };
  const keepAlive = setInterval(() => response.writableNeedDrain || response.write(': still here\n\n'), keepAliveMs);
  try {
    await produce({
      signal: until,
      sendText,
      send: (event, data, id) => sendText(event, JSON.stringify(data), id),
    });
  } finally {
    clearInterval(keepAlive);
    const { reason } = signal as { reason: unknown };
    // A reader that does not take what is left is cut off as well.
    response.setTimeout(stallMs);
    response.end(
      reason instanceof AppError
        ? `event: end\ndata: ${JSON.stringify({ type: 'end', code: reason.code, message: reason.message })}\n\n`
        : undefined,
    );
  }
}
