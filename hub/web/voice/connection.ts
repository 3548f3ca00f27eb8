import type { VoiceFrame, VoiceRequestFrame, voiceCloseCodes } from '../../../shared/contract/ai/voice.ts';
import { backoffMs } from '../chat/backoff.ts';
import { problemOf, readRefusal } from './hub.ts';
import type { Problem } from './hub.ts';

// The contract itself would bring its whole library of schemas into the page; its types hold these to what it says.
const revoked: (typeof voiceCloseCodes)['revoked'] = 4401;
const tooMany: (typeof voiceCloseCodes)['tooMany'] = 4429;
const path = 'ai/voice/ws';

/** One that lasted so long was no failure, in milliseconds. */
const stableAfterMs = 10_000;
/** How often a place is asked for that others have: one that a hub lost comes free within a few of them. */
const maxBusyRetries = 6;
/** A connection without a place is open for a moment, and then closed; one that is open for longer has it, in milliseconds. */
const acceptedAfterMs = 1_000;
/** Sound that waits to leave beyond that is left out, in bytes: a line that takes no more of it is no line to speak over. */
const maxUnsentBytes = 512 * 1024;

export interface ConnectionOptions {
  onOpen: () => void;
  onFrame: (frame: VoiceFrame) => void;
  /** It is gone and comes again by itself. */
  onLost: () => void;
  /** Others have all places; one is asked for again by itself. */
  onBusy: () => void;
  /** It does not come again by itself. */
  onEnd: (problem: Problem) => void;
}

/** The connection to the hub: comes again after it was lost, each time after a longer while, until the hub says that it may not. */
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
    // A page that comes back out of the browser's memory has lost it.
    addEventListener('pageshow', ({ persisted }) => persisted && this.connectNow());
  }

  get isOpen(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  /** Connects at once, if it is not connected or about to be. */
  connectNow(): void {
    this.#isEnded = false;
    if (this.#socket !== null) return;
    clearTimeout(this.#timer);
    this.#connect();
  }

  /** Answers whether the frame was taken. */
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
    socket.addEventListener('open', () => {
      openedAt = performance.now();
      if (this.#isBusy) this.#timer = setTimeout(() => this.#onOpen(), acceptedAfterMs);
      else this.#onOpen();
    });
    socket.addEventListener('message', ({ data }: MessageEvent<unknown>) => {
      const frame = typeof data === 'string' ? parse(data) : null;
      // Without a place it only hears that there is none.
      if (frame !== null && this.#socket === socket && !this.#isBusy) this.#options.onFrame(frame);
    });
    socket.addEventListener('close', ({ code, reason }) => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      clearTimeout(this.#timer);
      const wasStable = openedAt !== null && performance.now() - openedAt > stableAfterMs;
      if (wasStable) this.#attempt = 0;
      // One that lasted was closed for what was sent over it.
      if (code === tooMany && !wasStable) this.#onRefused();
      else void this.#onClosed(code, reason, openedAt !== null);
    });
  }

  #onOpen(): void {
    this.#isBusy = false;
    this.#options.onOpen();
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
