import { WebSocket } from 'ws';
import { maxMessageBytes } from './message.ts';

export interface SipServerSettings {
  domain: string;
  /** Where it takes SIP over WebSocket. */
  wsUrl: string;
  /** Where it takes JSON-RPC over HTTP. */
  rpcUrl: string;
  /** By which it knows the hub. */
  sharedSecret: string;
}

/** A call that was answered. */
export interface SipDialog {
  callId: string;
  fromTag: string;
  toTag: string;
}

const handshakeTimeoutMs = 3_000;
const rpcTimeoutMs = 1_000;

/** The operator's SIP server (deploy/kamailio), which trusts the hub to say who somebody is. */
export class SipServer {
  readonly #settings: SipServerSettings;

  constructor(settings: SipServerSettings) {
    this.#settings = settings;
  }

  get domain(): string {
    return this.#settings.domain;
  }

  /** A connection on which the server takes whoever speaks for this user, without a password. @throws Error where it is not to be had within 3 s. */
  connect(username: string): Promise<WebSocket> {
    const { wsUrl, sharedSecret } = this.#settings;
    const socket = new WebSocket(wsUrl, 'sip', {
      headers: { 'X-Outrigger-Secret': sharedSecret, 'X-Outrigger-User': username },
      perMessageDeflate: false,
      maxPayload: maxMessageBytes,
      handshakeTimeout: handshakeTimeoutMs,
    });
    return new Promise((done, fail) => {
      socket.on('error', fail);
      socket.once('open', () => done(socket));
    });
  }

  /** Ends a call on both sides. Answers whether the server knew it. @throws Error where the server does not answer within a second. */
  async end({ callId, fromTag, toTag }: SipDialog): Promise<boolean> {
    return (await this.#ask('dlg.terminate_dlg', [callId, fromTag, toTag])).error === undefined;
  }

  /** Whether a call lasts. @throws Error where the server does not answer within a second. */
  async knows({ callId, fromTag }: SipDialog): Promise<boolean> {
    return (await this.#ask('dlg.dlg_list', [callId, fromTag])).error === undefined;
  }

  /** Forgets where the phones of a user are, so that no call reaches them. @throws Error where the server does not answer within a second. */
  async forget(username: string): Promise<void> {
    await this.#ask('ul.rm', ['location', username]);
  }

  /** What it is. @throws Error where it does not answer within a second. */
  async version(): Promise<string> {
    const { result } = await this.#ask('core.version', []);
    if (typeof result !== 'string') throw new Error('its answer is none of Kamailio');
    return result;
  }

  async #ask(method: string, params: string[]): Promise<{ result?: unknown; error?: unknown }> {
    const { rpcUrl, sharedSecret } = this.#settings;
    const response = await fetch(rpcUrl, {
      method: 'POST',
      headers: { 'Content-Type': 'application/json', 'X-Outrigger-Secret': sharedSecret },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
      signal: AbortSignal.timeout(rpcTimeoutMs),
    });
    if (response.status === 403) throw new Error('it does not know the secret');
    return (await response.json()) as { result?: unknown; error?: unknown };
  }
}
