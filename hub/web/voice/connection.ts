import type { VoiceFrame, VoiceRequestFrame, voiceCloseCodes } from '../../../shared/contract/ai/voice.ts';
import { background } from '../../../shared/web/background.ts';
import { backoffMs } from '../chat/backoff.ts';
import { problemOf, readRefusal } from './hub.ts';
import type { Problem } from './hub.ts';

// Importing the contract would add its schema library to the page. The types keep these values equal to the contract's.
const revoked: (typeof voiceCloseCodes)['revoked'] = 4401;
const tooMany: (typeof voiceCloseCodes)['tooMany'] = 4429;
const path = 'ai/voice/ws';

/** A connection that lasted this long resets the back-off. */
const stableAfterMs = 10_000;
/**
 * Retries while the limit of voice sessions is reached. The session of a stopped hub process is released within a few
 * retries.
 */
const maxBusyRetries = 6;
/**
 * The hub accepts and then closes a connection above the limit. A connection open for this long is within the limit.
 */
const acceptedAfterMs = 1_000;
/** Audio frames are dropped while this many bytes are unsent: the connection is too slow for speech. */
const maxUnsentBytes = 512 * 1024;

export interface ConnectionOptions {
  onOpen: () => void;
  onFrame: (frame: VoiceFrame) => void;
  /** The connection was lost. It reconnects automatically. */
  onLost: () => void;
  /** The limit of voice sessions is reached. The connection is retried automatically. */
  onBusy: () => void;
  /** The connection ended and does not reconnect automatically. */
  onEnd: (problem: Problem) => void;
}

/** The connection to the hub. Reconnects with increasing back-off after a loss, until the hub refuses access. */
export class Connection {
  readonly #options: ConnectionOptions;
  #socket: WebSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;
  #isEnded = false;
  #isBusy = false;

  constructor(options: ConnectionOptions) {
    this.#options = options;
    addEventListener('online', () => this.connectNow());
    addEventListener('pagehide', () => this.#disconnect());
    // A page restored from the browser's back/forward cache has lost its connection.
    addEventListener('pageshow', ({ persisted }) => persisted && this.connectNow());
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Connects now, unless a connection is open or opening. */
  connectNow(): void {
    this.#isEnded = false;
    if (this.#socket !== null) return;
    clearTimeout(this.#timer);
    this.#connect();
  }

  /** Closes the connection, if there is one, and connects again. */
  reconnect(): void {
    this.#disconnect();
    this.connectNow();
  }

  /** Returns whether the frame was sent. */
  send(frame: VoiceRequestFrame): boolean {
    const socket = this.#socket;
    if (socket === null || socket.readyState !== WebSocket.OPEN) return false;
    if (frame.type === 'audio' && socket.bufferedAmount > maxUnsentBytes) return false;
    socket.send(JSON.stringify(frame));
    return true;
  }

  #connect(): void {
    const socket = new WebSocket(new URL(path, document.baseURI).href.replace(/^http/, 'ws'));
    this.#socket = socket;
    let openedAt: number | null = null;
    // Handed over once the connection is accepted. Above the limit, the only frame is the error that reports it.
    const early: VoiceFrame[] = [];
    const accept = () => {
      this.#isBusy = false;
      this.#options.onOpen();
      for (const frame of early.splice(0)) this.#options.onFrame(frame);
    };
    socket.addEventListener('open', () => {
      openedAt = performance.now();
      if (this.#isBusy) this.#timer = setTimeout(accept, acceptedAfterMs);
      else accept();
    });
    socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      const frame = typeof data === 'string' ? parse(data) : null;
      if (frame === null || this.#socket !== socket) return;
      if (this.#isBusy) early.push(frame);
      else this.#options.onFrame(frame);
    });
    socket.addEventListener('close', ({ code, reason }) => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      clearTimeout(this.#timer);
      const wasStable = openedAt !== null && performance.now() - openedAt > stableAfterMs;
      if (wasStable) this.#attempt = 0;
      // A connection that lasted is closed with this code because of the frames sent over it.
      if (code === tooMany && !wasStable) this.#onRefused();
      else background(this.#onClosed(code, reason, openedAt !== null));
    });
  }

  #onRefused(): void {
    this.#isBusy = true;
    if (this.#attempt >= maxBusyRetries) {
      this.#end('busyHub');
      return;
    }
    this.#options.onBusy();
    this.#scheduleReconnect();
  }

  async #onClosed(code: number, reason: string, hasOpened: boolean): Promise<void> {
    if (code === revoked) {
      const problem = problemOf(reason);
      this.#end(problem === 'notEntitled' ? problem : 'ended');
      return;
    }
    this.#options.onLost();
    const problem = hasOpened ? 'unreachable' : await readRefusal(path);
    if (problem === 'unreachable') this.#scheduleReconnect();
    else this.#end(problem);
  }

  #end(problem: Problem): void {
    this.#isEnded = true;
    this.#attempt = 0;
    clearTimeout(this.#timer);
    this.#options.onEnd(problem);
  }

  #scheduleReconnect(): void {
    clearTimeout(this.#timer);
    if (this.#isEnded || this.#socket !== null) return;
    this.#timer = setTimeout(() => this.connectNow(), backoffMs(this.#attempt++));
  }

  #disconnect(): void {
    const socket = this.#socket;
    this.#socket = null;
    clearTimeout(this.#timer);
    socket?.close();
    if (socket !== null) this.#options.onLost();
  }
}

function parse(text: string): VoiceFrame | null {
  try {
    return JSON.parse(text) as VoiceFrame;
  } catch {
    return null;
  }
}
