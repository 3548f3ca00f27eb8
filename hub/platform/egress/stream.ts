import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import type { Clock } from '../clock.ts';
import { EgressFailed, EgressRefused, toEgressFailed } from './failure.ts';
import type { EgressFailure } from './failure.ts';
import { hostOf } from './guard.ts';
import type { Guard } from './guard.ts';

/** A request whose response is read while it arrives. All times are in milliseconds. */
export interface EgressStreamRequest {
  method: 'GET' | 'POST';
  headers: Record<string, string>;
  body?: string | Uint8Array;
  /** Closes the connection at any time, also while connecting or reading. */
  signal: AbortSignal;
  /** Limit until the connection is established. */
  connectTimeoutMs: number;
  /** Limit from the connection to the first byte of the response body. */
  firstByteTimeoutMs: number;
  /** Limit without data while the reader waits for data. */
  idleTimeoutMs: number;
  /** Limit of the whole exchange, including a slow reader. */
  timeoutMs: number;
  maxResponseBytes: number;
}

/**
 * A response whose headers have arrived. The connection is released at the end of the body, or when the reader cancels.
 * A reader that does not read pauses the sender.
 */
export interface EgressStream {
  status: number;
  headers: Record<string, string>;
  body: ReadableStream<Uint8Array>;
}

const agentOptions = {
  keepAlive: true,
  maxSockets: 256,
  maxFreeSockets: 64,
  // For idle connections only. Connections in use have their own limits.
  timeout: 4_000,
} as const;
/** Bytes buffered for a slow reader. */
const maxBufferedBytes = 64 * 1024;

const toSeconds = (ms: number) => `${ms / 1000} s`;

/**
 * Sends requests whose response is streamed. It uses the HTTP client of Node.js, because that client reports when a
 * connection is established and closes it immediately at any time. All limits are timers of this module.
 */
export function createStreams(guard: Guard, clock: Clock) {
  const { lookup } = guard;
  const agents = {
    open: { 'http:': new HttpAgent(agentOptions), 'https:': new HttpsAgent(agentOptions) },
    guarded: { 'https:': new HttpsAgent({ ...agentOptions, lookup }) },
  };
  return {
    /** @param url must have passed `guard.check`. */
    open(url: URL, options: EgressStreamRequest): Promise<EgressStream> {
      const agent = guard.isAllowed(url) ? agents.open[url.protocol as 'http:' | 'https:'] : agents.guarded['https:'];
      return new Exchange(url, agent, clock, options).opened;
    },
    [Symbol.dispose]() {
      for (const agent of [...Object.values(agents.open), agents.guarded['https:']]) agent.destroy();
    },
  };
}

/** One request and its response. */
class Exchange {
  readonly opened: Promise<EgressStream>;
  readonly #options: EgressStreamRequest;
  readonly #clock: Clock;
  readonly #host: string;
  readonly #request: ReturnType<typeof httpRequest>;
  readonly #totalTimer: Disposable;
  readonly #opening = Promise.withResolvers<EgressStream>();
  readonly #onAbort = () => this.#end(this.#options.signal.reason);
  /** Timer of the current phase: connecting, waiting for the first byte, or waiting for more data. */
  #phaseTimer: Disposable | null = null;
  #controller: ReadableStreamDefaultController<Uint8Array> | null = null;
  #receivedBytes = 0;
  #isClosed = false;

  constructor(url: URL, agent: HttpAgent, clock: Clock, options: EgressStreamRequest) {
    options.signal.throwIfAborted();
    this.#options = options;
    this.#clock = clock;
    this.#host = hostOf(url);
    this.opened = this.#opening.promise;
    const { method, body, headers, connectTimeoutMs, timeoutMs } = options;
    const length = body === undefined ? {} : { 'content-length': String(Buffer.byteLength(body)) };
    this.#request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      method,
      agent,
      headers: { ...headers, ...length },
    });
    this.#totalTimer = clock.after(timeoutMs, () =>
      this.#fail('timeout', `did not finish its response within ${toSeconds(timeoutMs)}`),
    );
    this.#startPhaseTimer(
      connectTimeoutMs,
      'connect_timeout',
      `did not accept the connection within ${toSeconds(connectTimeoutMs)}`,
    );
    options.signal.addEventListener('abort', this.#onAbort, { once: true });
    this.#request
      .on('socket', (socket) => {
        if (this.#request.reusedSocket) this.#onConnected();
        else socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => this.#onConnected());
      })
      .on('response', (response) => this.#onResponse(response))
      .on('error', (error) => this.#end(this.#toFailure(error)))
      .on('close', () => this.#fail('reset', 'closed the connection'))
      .end(body);
  }

  #onConnected(): void {
    const { firstByteTimeoutMs } = this.#options;
    this.#startPhaseTimer(
      firstByteTimeoutMs,
      'first_byte_timeout',
      `did not begin its response within ${toSeconds(firstByteTimeoutMs)}`,
    );
  }

  #onResponse(response: IncomingMessage): void {
    if (this.#isClosed) return;
    const body = new ReadableStream<Uint8Array>(
      {
        start: (controller) => {
          this.#controller = controller;
        },
        pull: () => {
          if (this.#isClosed) return;
          const { idleTimeoutMs } = this.#options;
          if (this.#receivedBytes > 0)
            this.#startPhaseTimer(idleTimeoutMs, 'idle_timeout', `sent nothing for ${toSeconds(idleTimeoutMs)}`);
          response.resume();
        },
        cancel: () => this.#end(null),
      },
      new ByteLengthQueuingStrategy({ highWaterMark: maxBufferedBytes }),
    );
    response
      .on('data', (chunk: Buffer) => this.#onData(chunk, response))
      .on('end', () => {
        // The reader can cancel in the same turn in which the body ends.
        if (this.#isClosed) return;
        this.#finish();
        this.#controller?.close();
      })
      .on('error', (error) => this.#end(this.#toFailure(error)));
    response.pause();
    this.#opening.resolve({
      status: response.statusCode ?? 0,
      headers: flattenHeaders(response.headers),
      body,
    });
  }

  #onData(chunk: Buffer, response: IncomingMessage): void {
    if (this.#isClosed) return;
    const { maxResponseBytes } = this.#options;
    this.#receivedBytes += chunk.length;
    if (this.#receivedBytes > maxResponseBytes) {
      this.#end(new EgressFailed(`The response has more than ${maxResponseBytes} bytes.`, { failure: 'too_large' }));
      return;
    }
    this.#controller?.enqueue(chunk);
    // A slow reader must not count as an idle server.
    if ((this.#controller?.desiredSize ?? 0) > 0) return;
    this.#phaseTimer?.[Symbol.dispose]();
    response.pause();
  }

  #startPhaseTimer(ms: number, failure: EgressFailure, what: string): void {
    this.#phaseTimer?.[Symbol.dispose]();
    this.#phaseTimer = this.#isClosed ? null : this.#clock.after(ms, () => this.#fail(failure, what));
  }

  #toFailure(error: Error): Error {
    if (error instanceof EgressRefused || error instanceof EgressFailed) return error;
    const failed = toEgressFailed(error, this.#host);
    // A reset in the middle of a response needs its own message, because the host was reached.
    return this.#controller === null || failed.failure !== 'reset'
      ? failed
      : new EgressFailed(`${this.#host} closed the connection in the middle of its response.`, {
          failure: 'reset',
          cause: error,
        });
  }

  #fail(failure: EgressFailure, what: string): void {
    if (!this.#isClosed) this.#end(new EgressFailed(`${this.#host} ${what}.`, { failure }));
  }

  /** Closes the connection. A pending `open` or read rejects with the reason. */
  #end(reason: unknown): void {
    if (this.#isClosed) return;
    this.#finish();
    this.#request.destroy();
    if (this.#controller === null) this.#opening.reject(reason);
    else if (reason !== null) this.#controller.error(reason);
  }

  #finish(): void {
    this.#isClosed = true;
    this.#totalTimer[Symbol.dispose]();
    this.#phaseTimer?.[Symbol.dispose]();
    this.#options.signal.removeEventListener('abort', this.#onAbort);
  }
}

export function flattenHeaders(headers: Record<string, string | string[] | undefined>): Record<string, string> {
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined ? [] : [[name, Array.isArray(value) ? value.join(', ') : value]],
    ),
  );
}
