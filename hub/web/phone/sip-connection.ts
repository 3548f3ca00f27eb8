import { UA } from 'jssip';
import type { RTCSession } from 'jssip/lib/RTCSession.js';
import type { RTCSessionEvent } from 'jssip/lib/UA.js';
import type { sipCloseCodes } from '../../../shared/contract/calls/sip-socket.ts';
import { readRefusal } from './hub.ts';
import type { Problem } from './hub.ts';
import { SipSocket } from './sip-socket.ts';

// The contract itself would bring its whole library of schemas into the page; its types hold these to what it says.
const revoked: (typeof sipCloseCodes)['revoked'] = 4401;
const foreign: (typeof sipCloseCodes)['foreign'] = 4403;
const path = 'sip/ws';

/** After a registration that the SIP server refused, in milliseconds. */
const registrationRetryMs = 5_000;
/** For how long a registration holds. */
const registrationSeconds = 600;
/** The audio goes to the other side directly or to the operator's relay; no server of others is asked for a way. */
const pcConfig: RTCConfiguration = { iceServers: [] };

export interface SipConnectionOptions {
  domain: string;
  user: string;
  /** What the called are shown. */
  displayName: string;
  onReady: () => void;
  /** It is gone and comes again by itself. */
  onLost: () => void;
  /** It does not come again by itself. */
  onEnd: (problem: Problem) => void;
  onIncoming: (session: RTCSession, caller: { user: string; displayName: string }) => void;
}

/** The connection to the SIP server by way of the hub, registered as the person who is signed in. */
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
      // The socket itself waits longer from one attempt to the next.
      connection_recovery_min_interval: 1,
      connection_recovery_max_interval: 1,
      user_agent: 'Outrigger',
    });
    this.#agent
      .on('registered', () => options.onReady())
      .on('registrationFailed', () => this.#registrationFailed())
      .on('disconnected', ({ code, reason }) => void this.#disconnected(code, reason))
      .on('newRTCSession', ({ originator, session }: RTCSessionEvent) => {
        const { uri, display_name: name } = session.remote_identity;
        if (String(originator) === 'remote')
          options.onIncoming(session, { user: String(uri.user), displayName: name ?? '' });
      });
  }

  start(): void {
    this.#agent.start();
  }

  /** Connects at once, if it waits to. */
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

  /** Ends its call, and tells the SIP server that nobody is here any more. */
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

  /** Why there is no use in coming again; null where there is. */
  async #problemOf(code: number, reason: string, onLost: () => void): Promise<Problem | null> {
    if (code === revoked) return reason === 'product_not_entitled' ? 'notEntitled' : 'ended';
    if (code === foreign) return 'notOptedIn';
    onLost();
    if (this.#socket.hasOpened) return null;
    const problem = await readRefusal(path);
    return problem === 'unreachable' ? null : problem;
  }
}
