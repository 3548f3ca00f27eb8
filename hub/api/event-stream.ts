import type { Response } from 'express';

/** A stream of server-sent events to one caller. */
export interface EventStream {
  send(event: string, data: unknown, id?: string): void;
  /** Ends with the caller, the hub, or its own time. */
  signal: AbortSignal;
}

const keepAliveMs = 15_000;
const retryMs = 2_000;

/** Opens a stream, runs `produce` until it returns or the stream ends, and closes it. */
export async function streamEvents(response: Response, signal: AbortSignal, maxSeconds: number, produce: (stream: EventStream) => Promise<void>): Promise<void> {
  response.status(200).set({ 'Content-Type': 'text/event-stream; charset=utf-8', 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' });
  response.flushHeaders();
  response.write(`retry: ${retryMs}\n\n`);
  const keepAlive = setInterval(() => response.write(': still here\n\n'), keepAliveMs);
  const until = AbortSignal.any([signal, AbortSignal.timeout(maxSeconds * 1000)]);
  try {
    await produce({
      signal: until,
      // JSON holds no line breaks, so one data line is enough.
      send: (event, data, id) => response.write(`${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${JSON.stringify(data)}\n\n`),
    });
  } finally {
    clearInterval(keepAlive);
    response.end();
  }
}

/** Waits until something is told, a time is over or the signal aborts; never rejects. */
export async function pause(milliseconds: number, signal: AbortSignal, told?: Promise<void>): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, milliseconds);
  const onAbort = () => over.resolve();
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) over.resolve();
  await Promise.race([over.promise, ...(told === undefined ? [] : [told])]);
  clearTimeout(timer);
  signal.removeEventListener('abort', onAbort);
}
