import type { chatSilenceSeconds, VisitorFrame } from '../../../shared/contract/chat/live.ts';
import { background } from '../../../shared/web/background.ts';
import { backoffMs } from './backoff.ts';
import { openSocket, openStream } from './transports.ts';
import type { RequestFrame, Transport } from './transports.ts';

const silenceSeconds: typeof chatSilenceSeconds = 45;
const silenceMs = silenceSeconds * 1000;
/** Interval of the checks for a silent connection or a machine that has slept. */
const checkIntervalMs = 5_000;
const pollMs = { shown: 3_000, hidden: 15_000 };
/** After this many polls, the WebSocket and the event stream are tried again. */
const pollsBeforeRetry = 20;
/** A transport that failed this often without opening is treated as blocked. */
const failuresUntilBlocked = 2;

export interface LiveConnectionOptions {
  token: () => string;
  /** Sequence number of the last message without a gap before it. */
  after: () => number;
  onFrame: (frame: VisitorFrame) => void;
  /** Reports whether new messages are received. */
  onConnected: (isConnected: boolean) => void;
  /** The session may no longer be valid. */
  onRevoked: () => void;
  /** Reads new messages and state by plain requests. @throws if a request fails. */
  poll: () => Promise<void>;
}

type TransportKind = 'socket' | 'stream' | 'poll';
const transportKinds = ['socket', 'stream', 'poll'] as const satisfies TransportKind[];

/**
 * Keeps a conversation up to date: by a WebSocket, by an event stream if WebSockets are blocked, by polling if both are
 * blocked. A connection without data for 45 seconds is closed. Each new connection continues after the last received
 * message.
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
    // A machine that wakes up or comes online reconnects immediately instead of after its back-off.
    addEventListener('online', () => this.#reconnectNow(), { signal });
    addEventListener('pageshow', () => this.#checkSilence(), { signal });
    document.addEventListener('visibilitychange', () => document.hidden || this.#checkSilence(), { signal });
    this.#connect();
  }

  /** Sends a frame. Returns false if the current transport cannot send. */
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
      background(this.#poll());
      return;
    }
    this.#lastReceivedAt = Date.now();
    this.#hasOpened = false;
    // A closed transport may still emit events.
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
      // The transport opened, so it is not blocked. The next attempt starts with the WebSocket again.
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
        // An unreachable hub says nothing about blocked transports, and after enough polls they are due for a check.
        this.#polls = 0;
        this.#kindIndex = 0;
        // For the check, one failed attempt of each transport suffices.
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
