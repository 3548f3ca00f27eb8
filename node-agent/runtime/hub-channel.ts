import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { WebSocket } from 'ws';
import {
  channelCloseCodes,
  channelProtocol,
  channelSilenceSeconds,
  hubAnswer,
  maxChannelFrameBytes,
  nodeChannel,
} from '../../shared/contract/nodes/channel.ts';
import type { DeviceRequestType, HubAnswerFrame } from '../../shared/contract/nodes/channel.ts';
import { backoffMs } from './backoff.ts';
import { agentFor } from './http-agent.ts';
import { answerTooLarge, channelLost, HubError, maxAnswerBytes, toHubError } from './hub-error.ts';

/** Time limit for opening a channel, in milliseconds. */
const openTimeoutMs = 15_000;
/** How long a poll waits for the channel to open before it falls back to an HTTP request, in milliseconds. */
const openWaitMs = 3_000;
/**
 * Minimum and maximum pause after a refusal that is temporary (`busy`) or lasting (`obstructed`), in milliseconds. The
 * pause doubles after each refusal in a row.
 */
const busyMs = { min: 2_000, max: 600_000 };
const obstructedMs = { min: 60_000, max: 600_000 };
/** Minimum and maximum pause after another companion with this identity replaced the channel, in milliseconds. */
const replacedMs = { min: 30_000, max: 600_000 };
/** A channel that is cut within this time, in milliseconds, counts as short-lived. */
const shortLivedMs = 60_000;
/** After so many short-lived channels in a row, a proxy is assumed to cut channels. */
const maxShortLived = 3;
/** Interval at which the channel is checked for received bytes, in milliseconds. */
const silenceCheckMs = 10_000;
/** Pause after a hub stops, in seconds. With jitter, its devices do not reconnect at the same time. */
const restartPauseSeconds = 1;
const maxRefusalLength = 64 * 1024;
/** Errors that mean that the hub cannot be reached at all, rather than that a proxy blocks channels. */
const unreachableCodes = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ETIMEDOUT',
]);
const busyStatuses = new Set([429, 500, 502, 503, 504]);

interface Pending {
  resolve: (frame: HubAnswerFrame) => void;
  reject: (error: HubError) => void;
}

interface OpenChannel {
  socket: WebSocket;
  pending: Map<number, Pending>;
}

/** A request through the channel. */
export interface ChannelRequest {
  type: DeviceRequestType;
  commandId?: string;
  body: unknown;
}

/** Whether a request is small enough for the channel, where it delays the requests behind it. */
export const fitsIntoFrame = (request: ChannelRequest): boolean =>
  Buffer.byteLength(JSON.stringify(request)) <= maxChannelFrameBytes / 8;

/**
 * One WebSocket to the hub, opened on demand. When a proxy or an older hub does not allow WebSockets, everything goes
 * by HTTP requests, and the channel is tried again from time to time.
 */
export class HubChannel {
  readonly #hub: string;
  readonly #url: string;
  readonly #secret: string;
  #open: OpenChannel | undefined;
  #nextId = 0;
  /** The attempt that is in progress. */
  #opening: Promise<void> | undefined;
  #failures = 0;
  #shortLived = 0;
  #replacements = 0;
  /** Time of `performance.now()`. */
  #retryAt = 0;
  #isClosed = false;

  constructor(hub: string, nodeId: string, secret: string) {
    this.#hub = hub;
    const path = nodeChannel.connectAutomationNode.path.replace('{id}', encodeURIComponent(nodeId));
    this.#url = `${hub.replace(/^http/, 'ws').replace(/(?<!\/)\/+$/, '')}${path}`;
    this.#secret = secret;
  }

  get isOpen(): boolean {
    return this.#open !== undefined && this.#open.socket.readyState === WebSocket.OPEN;
  }

  /** Allows an attempt immediately, because the hub that answers now may be another one. */
  allowRetry(): void {
    this.#retryAt = 0;
    this.#failures = 0;
  }

  /**
   * Opens the channel, unless it is open or an attempt failed recently. Resolves when the channel is open or has
   * failed, or after `openWaitMs`. Never throws.
   */
  async ensureOpen(signal: AbortSignal): Promise<void> {
    if (this.isOpen || this.#isClosed || signal.aborted || this.#opening !== undefined) return;
    if (performance.now() < this.#retryAt) return;
    const waiting = new AbortController();
    this.#opening = this.#connect(signal)
      .then(
        () => {
          this.#failures = 0;
        },
        (error: unknown) => {
          this.#failures += 1;
          this.#retryAt = performance.now() + pauseAfter(error, this.#failures);
        },
      )
      .finally(() => {
        this.#opening = undefined;
        waiting.abort();
      });
    await delay(openWaitMs, undefined, { signal: waiting.signal }).catch(() => undefined);
  }

  /**
   * Sends a request; the answer is the same as over HTTP.
   * @throws HubError when the channel ends first; the signal's reason.
   */
  async send(
    request: ChannelRequest,
    { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  ): Promise<HubAnswerFrame> {
    const open = this.#open;
    if (open === undefined || !this.isOpen) throw this.#lostError('its channel is closed');
    const id = this.#nextId;
    this.#nextId += 1;
    const { promise, resolve, reject } = Promise.withResolvers<HubAnswerFrame>();
    open.pending.set(id, { resolve, reject });
    const abandon = (error: Error) => {
      reject(error as HubError);
      // Closing the channel tells the hub that commands for this request were not received.
      if (canReturnCommands(request)) open.socket.terminate();
    };
    const onAbort = () => abandon(signal.reason as Error);
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(() => abandon(this.#lostError(`no answer within ${timeoutMs / 1000} s`)), timeoutMs);
    try {
      if (signal.aborted) throw signal.reason;
      open.socket.send(JSON.stringify({ id, ...request }));
      return await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      open.pending.delete(id);
    }
  }

  /** Closes the channel for good. From now on everything goes by HTTP requests. */
  close(): void {
    this.#isClosed = true;
    this.#open?.socket.terminate();
  }

  async #connect(signal: AbortSignal): Promise<void> {
    const socket = new WebSocket(this.#url, channelProtocol, {
      headers: { authorization: `Bearer ${this.#secret}` },
      handshakeTimeout: openTimeoutMs,
      perMessageDeflate: false,
      // A hub has no reason to redirect its devices, and the secret must not be sent elsewhere.
      followRedirects: false,
      maxPayload: maxAnswerBytes,
      agent: agentFor(new URL(this.#url)),
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => socket.terminate();
    signal.addEventListener('abort', onAbort, { once: true });
    let problem: Error | undefined;
    socket.once('unexpected-response', (_request, response) => {
      readRefusal(response)
        .then(reject, reject)
        .finally(() => socket.terminate());
    });
    socket.on('error', (error) => {
      problem = error;
    });
    let connection: Socket | undefined;
    socket.once('upgrade', (response) => {
      connection = response.socket;
    });
    socket.once('open', () => {
      this.#adopt(socket, connection as Socket);
      resolve();
    });
    socket.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      reject(problem ?? this.#lostError('its channel was closed'));
    });
    return promise;
  }

  #adopt(socket: WebSocket, connection: Socket): void {
    const open: OpenChannel = { socket, pending: new Map() };
    this.#open = open;
    const openedAt = performance.now();
    let problem: NodeJS.ErrnoException | undefined;
    // The hub sends pings. A connection without received bytes for this long is dead, although no error was reported.
    let bytesSeen = -1;
    let lastByteAt = openedAt;
    const silenceTimer = setInterval(() => {
      if (connection.bytesRead !== bytesSeen) [bytesSeen, lastByteAt] = [connection.bytesRead, performance.now()];
      else if (performance.now() - lastByteAt > channelSilenceSeconds * 1000) socket.terminate();
    }, silenceCheckMs);
    socket.on('message', (data, isBinary) => {
      const frame = isBinary ? undefined : readFrame(data as Buffer);
      if (frame !== undefined) open.pending.get(frame.id)?.resolve(frame);
    });
    socket.on('error', (error) => {
      problem = error;
    });
    socket.once('close', (code) => {
      clearInterval(silenceTimer);
      if (this.#open === open) this.#open = undefined;
      const durationMs = performance.now() - openedAt;
      // A hub sends a close code. Code 1006 means that the connection was cut without one. Pings rule out an idle
      // timeout, so a proxy that cuts channels is assumed.
      this.#shortLived = code === 1006 && durationMs < shortLivedMs ? this.#shortLived + 1 : 0;
      if (this.#shortLived >= maxShortLived) {
        this.#shortLived = 0;
        this.#failures += 1;
        this.#retryAt = performance.now() + growingPause(obstructedMs, this.#failures);
      }
      const isReplaced = code === channelCloseCodes.replaced;
      this.#replacements = isReplaced ? this.#replacements + 1 : 0;
      if (isReplaced) this.#retryAt = performance.now() + growingPause(replacedMs, this.#replacements);
      const lost =
        problem?.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
          ? new HubError(0, answerTooLarge, `The answer of ${this.#hub} has more than ${maxAnswerBytes} bytes.`)
          : isReplaced
            ? this.#lostError('another companion with the same identity replaced it; unpair one of the two')
            : this.#lostError('its channel was closed', code === 1001 ? restartPauseSeconds : undefined);
      for (const { reject } of open.pending.values()) reject(lost);
    });
  }

  #lostError(reason: string, retryAfterSeconds?: number): HubError {
    return new HubError(0, channelLost, `The hub at ${this.#hub} can't be reached: ${reason}.`, { retryAfterSeconds });
  }
}

/** Whether the answer to a request may contain commands. */
const canReturnCommands = ({ type, body }: ChannelRequest) => type === 'poll' && (body as { max?: number }).max !== 0;

/** How long to wait after a failed attempt, in milliseconds. */
function pauseAfter(error: unknown, failures: number): number {
  if (unreachableCodes.has((error as NodeJS.ErrnoException).code ?? '')) return backoffMs(error, failures);
  const isBusy = error instanceof HubError && busyStatuses.has(error.status);
  return isBusy
    ? Math.max(backoffMs(error, failures), growingPause(busyMs, failures))
    : growingPause(obstructedMs, failures);
}

/** A pause that doubles each time, with jitter. */
const growingPause = ({ min, max }: { min: number; max: number }, times: number) =>
  Math.min(max, min * 2 ** (times - 1)) * (0.5 + Math.random() / 2);

function readFrame(data: Buffer): HubAnswerFrame | undefined {
  try {
    return hubAnswer.safeParse(JSON.parse(data.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

/** Reads why a hub, or a proxy before it, refused to open a channel. */
async function readRefusal(response: IncomingMessage): Promise<HubError> {
  let answer: unknown;
  try {
    let text = '';
    for await (const chunk of response as AsyncIterable<Buffer>) {
      text += chunk.toString('utf8');
      if (text.length > maxRefusalLength) break;
    }
    answer = JSON.parse(text);
  } catch {
    // Not a hub's answer.
  }
  return toHubError(response.statusCode ?? 0, answer, response.headers['retry-after'] ?? null);
}
