import type { Socket } from 'jssip/lib/Socket.js';
import type { sipCloseCodes } from '../../../shared/contract/calls/sip-socket.ts';
import { backoffMs } from '../chat/backoff.ts';

const tooMany: (typeof sipCloseCodes)['tooMany'] = 4429;

/** A connection that lasted this long resets the back-off. */
const stableAfterMs = 10_000;
/** Back-off attempt that follows a refusal for too many connections, so that fewer attempts are made per minute. */
const rateLimitedAttempt = 6;

/**
 * The WebSocket that JsSIP uses, with its own exponential back-off. The back-off of JsSIP restarts whenever a socket
 * opens, even if it closes again immediately.
 */
export class SipSocket implements Socket {
  readonly url: string;
  readonly sip_uri: string;
  via_transport: string;
  onconnect: () => void = ignore;
  ondisconnect: (error: boolean, code?: number, reason?: string) => void = ignore;
  ondata: (data: unknown) => void = ignore;
  /** Whether the latest WebSocket reached the open state. */
  hasOpened = false;
  #socket: WebSocket | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #attempt = 0;

  constructor(url: string) {
    const { protocol, host } = new URL(url);
    this.url = url;
    this.via_transport = protocol === 'wss:' ? 'WSS' : 'WS';
    this.sip_uri = `sip:${host};transport=ws`;
  }

  /** Resets the back-off and, if an attempt is scheduled, connects now. */
  reconnectNow(): void {
    this.#attempt = 0;
    if (this.#timer === undefined) return;
    this.#stopWaiting();
    this.#open();
  }

  connect(): void {
    if (this.#socket !== null || this.#timer !== undefined) return;
    const waitMs = this.#attempt === 0 ? 0 : backoffMs(this.#attempt);
    this.#attempt += 1;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#open();
    }, waitMs);
  }

  disconnect(): void {
    this.#stopWaiting();
    const socket = this.#socket;
    this.#socket = null;
    socket?.close();
  }

  send(message: string | ArrayBufferLike | Blob | ArrayBufferView): boolean {
    if (!this.isConnected()) return false;
    this.#socket?.send(message as string);
    return true;
  }

  isConnected(): boolean {
    return this.#socket?.readyState === WebSocket.OPEN;
  }

  isConnecting(): boolean {
    return this.#timer !== undefined || this.#socket?.readyState === WebSocket.CONNECTING;
  }

  #open(): void {
    const socket = new WebSocket(this.url, 'sip');
    // JsSIP reads text and ArrayBuffer messages.
    socket.binaryType = 'arraybuffer';
    this.#socket = socket;
    this.hasOpened = false;
    let openedAt = 0;
    socket.addEventListener('open', () => {
      openedAt = performance.now();
      this.hasOpened = true;
      this.onconnect();
    });
    socket.addEventListener('message', ({ data }) => this.ondata(data));
    socket.addEventListener('close', ({ code, reason, wasClean }) => {
      if (this.#socket !== socket) return;
      this.#socket = null;
      if (this.hasOpened && performance.now() - openedAt > stableAfterMs) this.#attempt = 0;
      if (code === tooMany) this.#attempt = Math.max(this.#attempt, rateLimitedAttempt);
      this.ondisconnect(!wasClean, code, reason);
    });
  }

  #stopWaiting(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}

function ignore(): void {
  // JsSIP replaces this default.
}
