import type { chatSilenceSeconds, VisitorFrame } from '../../../shared/contract/chat/live.ts';
import { backoffMs } from './backoff.ts';
import { openSocket, openStream } from './transports.ts';
import type { RequestFrame, Transport } from './transports.ts';

const silenceSeconds: typeof chatSilenceSeconds = 45;
const silenceMs = silenceSeconds * 1000;
/** How often is looked whether the connection is silent or the machine has slept, in milliseconds. */
const checkIntervalMs = 5_000;
const pollMs = { shown: 3_000, hidden: 15_000 };
/** After so many polls the better ways are tried again. */
const pollsBeforeRetry = 20;
/** A way that failed so often without having come about is taken for blocked. */
const failuresUntilBlocked = 2;

export interface LiveConnectionOptions {
  token: () => string;
  /** Seq of the last message without a gap before it. */
  after: () => number;
  onFrame: (frame: VisitorFrame) => void;
  /** Whether news come in. */
  onConnected: (isConnected: boolean) => void;
  /** The session may count no more. */
  onRevoked: () => void;
  /** Reads what is new by plain requests. @throws when that failed. */
  poll: () => Promise<void>;
}

type TransportKind = 'socket' | 'stream' | 'poll';
const transportKinds = ['socket', 'stream', 'poll'] as const satisfies TransportKind[];

/**
 * Keeps a conversation live: by a WebSocket, an event stream where those are blocked, polling where both are. A connection that is silent for 45 seconds is
 * given up; after each that is lost the next one says where it goes on.
 */
export class LiveConnection {
  readonly #options: LiveConnectionOptions;
  readonly #ended = new AbortController();
  #kindIndex = 0;
  #transport: Transport | null = null;
  #lastReceivedAt = 0;
  #hasOpened = false;
  #failures = 0;
  #attempt = 0;
  #polls = 0;
  #isReachable = true;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #checkTimer: ReturnType<typeof setInterval> | undefined;

  constructor(options: LiveConnectionOptions) {
    this.#options = options;
  }

  get kind(): TransportKind {
    return transportKinds[this.#kindIndex] ?? 'poll';
  }

  start(): void {
    const { signal } = this.#ended;
    this.#checkTimer = setInterval(() => this.#checkSilence(), checkIntervalMs);
    // What slept, or was away, is back at once rather than after its wait.
    addEventListener('online', () => this.#reconnectNow(), { signal });
    addEventListener('pageshow', () => this.#checkSilence(), { signal });
    document.addEventListener('visibilitychange', () => document.hidden || this.#checkSilence(), { signal });
    this.#connect();
  }

  /** Says a frame if the connection takes any. */
  send(frame: RequestFrame): boolean {
    return this.#transport?.send(frame) ?? false;
  }

  end(): void {
    this.#ended.abort();
    clearInterval(this.#checkTimer);
    clearTimeout(this.#timer);
    this.#closeTransport();
  }

  #closeTransport(): void {
    const transport = this.#transport;
    this.#transport = null;
    transport?.close();
  }

  #checkSilence(): void {
    if (this.#transport !== null && Date.now() - this.#lastReceivedAt > silenceMs) this.#onLost(false);
  }

  #reconnectNow(): void {
    if (this.#transport === null || Date.now() - this.#lastReceivedAt > silenceMs / 2) {
      this.#closeTransport();
      this.#attempt = 0;
      this.#connect();
    }
  }

  #connect(): void {
    clearTimeout(this.#timer);
    if (this.#ended.signal.aborted) return;
    if (this.kind === 'poll') {
      void this.#poll();
      return;
    }
    this.#lastReceivedAt = Date.now();
    this.#hasOpened = false;
    // A transport that was dropped may still speak.
    const isCurrent = () => this.#transport === transport;
    const events = {
      onFrame: (frame: VisitorFrame) => isCurrent() && this.#options.onFrame(frame),
      onAlive: () => isCurrent() && this.#onAlive(),
      onEnd: (isRevoked: boolean) => isCurrent() && this.#onLost(isRevoked),
    };
    const openTransport = this.kind === 'socket' ? openSocket : openStream;
    const transport = openTransport(this.#options.token(), this.#options.after(), events);
    this.#transport = transport;
  }

  #onAlive(): void {
    this.#lastReceivedAt = Date.now();
    if (this.#hasOpened) return;
    this.#hasOpened = true;
    this.#failures = 0;
    this.#attempt = 0;
    this.#isReachable = true;
    this.#options.onConnected(true);
  }

  #onLost(isRevoked: boolean): void {
    this.#closeTransport();
    this.#options.onConnected(false);
    if (isRevoked) this.#options.onRevoked();
    if (this.#hasOpened) {
      // It came about, so that it is not blocked; what was blocked before may be open by now.
      this.#kindIndex = 0;
      this.#failures = 0;
    } else {
      this.#failures += 1;
      if (this.#failures >= failuresUntilBlocked && this.#kindIndex < 2) {
        this.#kindIndex += 1;
        this.#failures = 0;
      }
    }
    this.#scheduleConnect(backoffMs(this.#attempt++));
  }

  #scheduleConnect(delayMs: number): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), delayMs);
  }

  async #poll(): Promise<void> {
    try {
      await this.#options.poll();
      if (this.#ended.signal.aborted) return;
      const wasUnreachable = !this.#isReachable;
      this.#isReachable = true;
      this.#attempt = 0;
      this.#polls += 1;
      this.#options.onConnected(true);
      if (wasUnreachable || this.#polls >= pollsBeforeRetry) {
        // The hub was away, which says nothing of what is blocked; or it is time to look again.
        this.#polls = 0;
        this.#kindIndex = 0;
        // One attempt of each way is enough to see.
        this.#failures = wasUnreachable ? 0 : failuresUntilBlocked - 1;
      }
      this.#scheduleConnect(document.hidden ? pollMs.hidden : pollMs.shown);
    } catch {
      this.#isReachable = false;
      this.#options.onConnected(false);
      this.#scheduleConnect(backoffMs(this.#attempt++));
    }
  }
}
