import type { ServerResponse } from 'node:http';
import { AppError } from '../../../../shared/errors.ts';

/** A stream of server-sent events to one client. */
export interface EventStream {
  /**
   * Resolves when the client can receive more. A producer that awaits it does not buffer more than the client reads.
   */
  send(event: string, data: unknown, id?: string): Promise<void>;
  /** Aborts when the client disconnects or loses access, when the hub shuts down, and after `maxSeconds`. */
  signal: AbortSignal;
}

/** An event stream that also sends what is serialized once for many clients. */
export interface SerializedEventStream extends EventStream {
  sendText(event: string, json: string, id?: string): Promise<void>;
  /** Sends an event that `eventBytes` returned. */
  sendBytes(bytes: Buffer): Promise<void>;
}

// JSON contains no line breaks, so one data line is enough.
const eventText = (event: string, json: string, id?: string) =>
  `${id === undefined ? '' : `id: ${id}\n`}event: ${event}\ndata: ${json}\n\n`;

/** An event in the form in which clients receive it. */
export const eventBytes = (event: string, json: string, id?: string): Buffer => Buffer.from(eventText(event, json, id));

export interface EventStreamOptions {
  maxSeconds: number;
  /** A client that reads nothing for this long is disconnected. */
  stallMs?: number;
}

/** Default time without reading after which a client is disconnected. */
export const readerStallMs = 30_000;
const keepAliveMs = 15_000;
const retryMs = 2_000;

/**
 * Opens a stream, runs `produce` until it returns or the stream ends, and closes the stream. When the client loses
 * access before, the last event is `end` with the code of the error.
 */
export async function streamEvents(
  response: ServerResponse,
  signal: AbortSignal,
  { maxSeconds, stallMs = readerStallMs }: EventStreamOptions,
  produce: (stream: SerializedEventStream) => Promise<void>,
): Promise<void> {
  response.writeHead(200, {
    'Content-Type': 'text/event-stream; charset=utf-8',
    'Cache-Control': 'no-store',
    'X-Accel-Buffering': 'no',
  });
  response.flushHeaders();
  response.write(`retry: ${retryMs}\n\n`);
  const until = AbortSignal.any([signal, AbortSignal.timeout(maxSeconds * 1000)]);
  const untilDrained = async () => {
    if (!response.writableNeedDrain || response.destroyed || until.aborted) return;
    // The time-out applies only while data is buffered. Without a listener, it destroys the connection.
    response.setTimeout(stallMs);
    const drained = Promise.withResolvers<void>();
    const onDrain = () => drained.resolve();
    response.once('drain', onDrain);
    until.addEventListener('abort', onDrain, { once: true });
    await drained.promise;
    response.off('drain', onDrain);
    until.removeEventListener('abort', onDrain);
    response.setTimeout(0);
  };
  const send = async (text: string | Buffer) => {
    if (until.aborted) return;
    response.write(text);
    await untilDrained();
  };
  const keepAlive = setInterval(() => response.writableNeedDrain || response.write(': still here\n\n'), keepAliveMs);
  try {
    await produce({
      signal: until,
      send: (event, data, id) => send(eventText(event, JSON.stringify(data), id)),
      sendText: (event, json, id) => send(eventText(event, json, id)),
      sendBytes: send,
    });
  } finally {
    clearInterval(keepAlive);
    const { reason } = signal as { reason: unknown };
    // A client that does not read the rest is disconnected as well.
    response.setTimeout(stallMs);
    response.end(
      reason instanceof AppError
        ? `event: end\ndata: ${JSON.stringify({ type: 'end', code: reason.code, message: reason.message })}\n\n`
        : undefined,
    );
  }
}
