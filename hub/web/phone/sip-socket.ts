import type { Socket } from 'jssip/lib/Socket.js';
import type { sipCloseCodes } from '../../../shared/contract/calls/sip-socket.ts';
import { backoffMs } from '../chat/backoff.ts';

const tooMany: (typeof sipCloseCodes)['tooMany'] = 4429;

/** One that lasted so long was no failure, in milliseconds. */
const stableAfterMs = 10_000;
/** After how many attempts in vain the hub's patience would be used up: from then on there are fewer of them in a minute. */
const rateLimitedAttempt = 6;

/** The WebSocket under JsSIP: opens again after ever longer pauses, because JsSIP begins anew with each one that opened, however short it lasted. */
export class SipSocket implements Socket {
  readonly url: string;
  readonly sip_uri: string;
  via_transport: string;
  onconnect: () => void = ignore;
  ondisconnect: (error: boolean, code?: number, reason?: string) => void = ignore;
  ondata: (data: unknown) => void = ignore;
  /** Whether the one that closed last had opened. */
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

  /** Opens it at once if it waits, and the next time without waiting. */
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
    // What JsSIP reads beside text.
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
  // JsSIP puts its own here.
}
