import type { IncomingMessage } from 'node:http';
import { WebSocket } from 'ws';
import {
  channelProtocol,
  channelSilenceSeconds,
  hubAnswer,
  maxChannelFrameBytes,
  nodeChannel,
} from '../../shared/contract/nodes/channel.ts';
import type { DeviceRequestType, HubAnswerFrame } from '../../shared/contract/nodes/channel.ts';
import { backoffMs } from './backoff.ts';
import { answerTooLarge, channelLost, HubError, maxAnswerBytes, refusalOf } from './hub-error.ts';

/** A channel that does not open within so long does not open at all, in milliseconds. */
const openTimeoutMs = 5_000;
/** Where something in the way lets no channel through, it is tried again after so long, in milliseconds. */
const obstructedMs = 600_000;
/** A channel that ends by itself sooner than this was not let live, in milliseconds. */
const shortLivedMs = 60_000;
/** So many of those in a row, and something in the way lets none live. */
const maxShortLived = 3;
const maxRefusalLength = 64 * 1024;

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

/** Whether the hub takes a request through the channel, by its size; room is left for its number. */
export const fitsIntoFrame = (request: ChannelRequest): boolean =>
  Buffer.byteLength(JSON.stringify(request)) <= maxChannelFrameBytes - 100;

/**
 * The channel to a hub: one WebSocket that is opened when it is wanted and may be. It never stands in the way: where a proxy or an older
 * hub lets none through, everything goes by requests, and the channel is tried again now and then.
 */
export class HubChannel {
  readonly #hub: string;
  readonly #url: string;
  readonly #secret: string;
  #open: OpenChannel | undefined;
  #nextId = 0;
  #failures = 0;
  #shortLived = 0;
  /** By the clock of `performance`. */
  #tryAgainAt = 0;
  #isAway = false;

  constructor(hub: string, nodeId: string, secret: string) {
    this.#hub = hub;
    const path = nodeChannel.connectAutomationNode.path.replace('{id}', encodeURIComponent(nodeId));
    this.#url = `${hub.replace(/^http/, 'ws').replace(/\/+$/, '')}${path}`;
    this.#secret = secret;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /** Another hub may answer next, which takes channels. */
  forgetHub(): void {
    this.#isAway = true;
  }

  /** Opens the channel unless it is open or was refused not long ago. Answers when that is decided; never throws. */
  async ensureOpen(signal: AbortSignal): Promise<void> {
    if (this.#open !== undefined || signal.aborted) return;
    const now = performance.now();
    if (!this.#isAway && now < this.#tryAgainAt) return;
    this.#isAway = false;
    try {
      await this.#connect(signal);
      this.#failures = 0;
    } catch (error) {
      this.#failures += 1;
      // A hub that is away, or asks for time, is soon back; whoever else answers, or swallows what is asked, is in the way.
      const isPassing =
        error instanceof HubError
          ? error.body !== undefined && (error.status === 429 || error.status >= 500)
          : 'code' in (error as Error);
      this.#tryAgainAt = performance.now() + (isPassing ? backoffMs(error, this.#failures) : obstructedMs);
    }
  }

  /** Asks the hub; the answer is as over HTTP. @throws HubError when the channel ended first, or the signal's reason. */
  async ask(
    request: ChannelRequest,
    { signal, timeoutMs }: { signal: AbortSignal; timeoutMs: number },
  ): Promise<HubAnswerFrame> {
    const open = this.#open;
    if (open === undefined) throw this.#lost('its channel is closed');
    const id = this.#nextId;
    this.#nextId += 1;
    const { promise, resolve, reject } = Promise.withResolvers<HubAnswerFrame>();
    open.pending.set(id, { resolve, reject });
    const onAbort = () => reject(signal.reason as HubError);
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(() => {
      reject(this.#lost(`no answer within ${timeoutMs / 1000} s`));
      // What does not answer is no channel.
      open.socket.terminate();
    }, timeoutMs);
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

  close(): void {
    this.#open?.socket.terminate();
  }

  #connect(signal: AbortSignal): Promise<void> {
    const socket = new WebSocket(this.#url, channelProtocol, {
      headers: { authorization: `Bearer ${this.#secret}` },
      handshakeTimeout: openTimeoutMs,
      perMessageDeflate: false,
      // A hub has no reason to send its devices elsewhere, and the secret must not go along.
      followRedirects: false,
      maxPayload: maxAnswerBytes,
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const onAbort = () => socket.terminate();
    signal.addEventListener('abort', onAbort, { once: true });
    let problem: Error | undefined;
    socket.once('unexpected-response', (_request, response) => {
      void answerOf(response).then((error) => {
        reject(error);
        socket.terminate();
      });
    });
    socket.on('error', (error) => {
      problem = error;
    });
    socket.once('open', () => {
      this.#adopt(socket);
      resolve();
    });
    socket.once('close', () => {
      signal.removeEventListener('abort', onAbort);
      reject(problem ?? this.#lost('its channel was closed'));
    });
    return promise;
  }

  #adopt(socket: WebSocket): void {
    const open: OpenChannel = { socket, pending: new Map() };
    this.#open = open;
    const openedAt = performance.now();
    let problem: NodeJS.ErrnoException | undefined;
    // The hub pings more often; a line that fell silent says nothing of it.
    const silence = setTimeout(() => socket.terminate(), channelSilenceSeconds * 1000);
    socket.on('ping', () => silence.refresh());
    socket.on('message', (data, isBinary) => {
      silence.refresh();
      const frame = isBinary ? undefined : readFrame(data as Buffer);
      if (frame !== undefined) open.pending.get(frame.id)?.resolve(frame);
    });
    socket.on('error', (error) => {
      problem = error;
    });
    socket.once('close', (code) => {
      clearTimeout(silence);
      if (this.#open === open) this.#open = undefined;
      // A hub says why it closes; whatever else cuts a line that pings kept busy is in its way.
      const wasCut = code === 1006 && performance.now() - openedAt < shortLivedMs;
      this.#shortLived = wasCut ? this.#shortLived + 1 : 0;
      if (this.#shortLived >= maxShortLived) {
        this.#shortLived = 0;
        this.#tryAgainAt = performance.now() + obstructedMs;
      }
      const lost =
        problem?.code === 'WS_ERR_UNSUPPORTED_MESSAGE_LENGTH'
          ? new HubError(0, answerTooLarge, `The answer of ${this.#hub} has more than ${maxAnswerBytes} bytes.`)
          : this.#lost('its channel was closed');
      for (const { reject } of open.pending.values()) reject(lost);
    });
  }

  #lost(reason: string): HubError {
    return new HubError(0, channelLost, `The hub at ${this.#hub} can't be reached: ${reason}`);
  }
}

function readFrame(data: Buffer): HubAnswerFrame | undefined {
  try {
    return hubAnswer.safeParse(JSON.parse(data.toString('utf8'))).data;
  } catch {
    return undefined;
  }
}

/** Why a hub, or what stands before it, does not open a channel. */
async function answerOf(response: IncomingMessage): Promise<HubError> {
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
  return refusalOf(response.statusCode ?? 0, answer, response.headers['retry-after'] ?? null);
}
