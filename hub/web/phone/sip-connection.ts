import { UA } from 'jssip';
import type { RTCSession } from 'jssip/lib/RTCSession.js';
import type { RTCSessionEvent } from 'jssip/lib/UA.js';
import type { sipCloseCodes } from '../../../shared/contract/calls/sip-socket.ts';
import { background } from '../../../shared/web/background.ts';
import { readRefusal } from './hub.ts';
import type { Problem } from './hub.ts';
import { SipSocket } from './sip-socket.ts';

// Importing the contract would add its schema library to the page. The types keep these values equal to the contract.
const revoked: (typeof sipCloseCodes)['revoked'] = 4401;
const foreign: (typeof sipCloseCodes)['foreign'] = 4403;
const path = 'sip/ws';

/** Delay before a refused registration is retried. */
const registrationRetryMs = 5_000;
/** Lifetime of a registration. */
const registrationSeconds = 600;
/** Audio is sent directly to the other side or to the relay of the operator. No STUN or TURN server is used. */
const pcConfig: RTCConfiguration = { iceServers: [] };

export interface SipConnectionOptions {
  domain: string;
  user: string;
  /** Name that called parties see. */
  displayName: string;
  onReady: () => void;
  /** The connection was lost and reconnects by itself. */
  onLost: () => void;
  /** The connection ended and does not reconnect. */
  onEnd: (problem: Problem) => void;
  onIncoming: (session: RTCSession, caller: { user: string; displayName: string }) => void;
}

/** Connection to the SIP server through the hub, registered as the signed-in user. */
export class SipConnection {
  readonly #options: SipConnectionOptions;
  readonly #socket: SipSocket;
  readonly #agent: UA;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: SipConnectionOptions) {
    this.#options = options;
    const { domain, user, displayName } = options;
    this.#socket = new SipSocket(new URL(path, document.baseURI).href.replace(/^http/, 'ws'));
    this.#agent = new UA({
      sockets: this.#socket,
      uri: `sip:${user}@${domain}`,
      display_name: displayName,
      register: true,
      register_expires: registrationSeconds,
      // SipSocket has its own back-off.
      connection_recovery_min_interval: 1,
      connection_recovery_max_interval: 1,
      user_agent: 'Outrigger',
    });
    this.#agent
      .on('registered', () => options.onReady())
      .on('registrationFailed', () => this.#registrationFailed())
      .on('disconnected', ({ code, reason }) => background(this.#disconnected(code, reason)))
      .on('newRTCSession', ({ originator, session }: RTCSessionEvent) => {
        const { uri, display_name: name } = session.remote_identity;
        if (String(originator) === 'remote')
          options.onIncoming(session, { user: String(uri.user), displayName: name ?? '' });
      });
  }

  start(): void {
    this.#agent.start();
  }

  /** Connects now if a reconnection attempt is scheduled. */
  reconnectNow(): void {
    this.#socket.reconnectNow();
  }

  call(user: string, stream: MediaStream): RTCSession {
    return this.#agent.call(`sip:${encodeURIComponent(user).replaceAll('%2B', '+')}@${this.#options.domain}`, {
      mediaStream: stream,
      pcConfig,
    });
  }

  answer(session: RTCSession, stream: MediaStream): void {
    session.answer({ mediaStream: stream, pcConfig });
  }

  /** Ends the call and unregisters from the SIP server. */
  stop(): void {
    clearTimeout(this.#timer);
    this.#agent.stop();
  }

  #registrationFailed(): void {
    this.#options.onLost();
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#agent.isConnected() && this.#agent.register(), registrationRetryMs);
  }

  async #disconnected(code = 0, reason = ''): Promise<void> {
    const { onLost, onEnd } = this.#options;
    clearTimeout(this.#timer);
    const problem = await this.#problemOf(code, reason, onLost);
    if (problem === null) return;
    this.#agent.stop();
    onEnd(problem);
  }

  /** The problem that makes reconnecting useless. Null if reconnecting may help. */
  async #problemOf(code: number, reason: string, onLost: () => void): Promise<Problem | null> {
    if (code === revoked) return reason === 'product_not_entitled' ? 'notEntitled' : 'ended';
    if (code === foreign) return 'notOptedIn';
    onLost();
    if (this.#socket.hasOpened) return null;
    const problem = await readRefusal(path);
    return problem === 'unreachable' ? null : problem;
  }
}
