import { sipCloseCodes } from '../../../../shared/contract/calls/sip-socket.ts';
import type { WebSocket } from '../../../platform/http/sockets.ts';
import { headersOf, parseMessage, SipSyntaxError } from '../../../platform/sip/message.ts';
import type { SipMessage, SipRequest } from '../../../platform/sip/message.ts';
import type { SipServer } from '../../../platform/sip/sip-server.ts';
import { callIdOf, CallsOfLine, isInDialog } from './calls-of-line.ts';
import type { DialDecision } from './dial-policy.ts';
import type { Dial } from './dials.ts';
import { findForeign } from './own-name.ts';
import { cancel, isKeepAlive, readFrame, refuse, withAddress } from './sip-frames.ts';

export interface SoftphoneLineOptions {
  browser: WebSocket;
  /** The connection to the SIP server that was opened in the same name. */
  upstream: WebSocket;
  server: Pick<SipServer, 'end'>;
  /** `user@domain`. */
  address: string;
  decide: (uri: string) => DialDecision;
  /** Begins a call that counts; answers why not. */
  begin: () => Promise<Dial | 'calls_at_once' | 'minutes_a_day'>;
  onRefused: (refusal: { dialled: string; reason: string }) => void;
  now: () => number;
}

const methods = ['REGISTER', 'INVITE', 'ACK', 'CANCEL', 'BYE', 'OPTIONS', 'INFO', 'UPDATE', 'PRACK', 'NOTIFY'];
/** What may wait for a side that does not read, in bytes. */
const maxUnsentBytes = 512 * 1024;
/** New calls that a softphone may ask for in a minute. */
const maxDialsAMinute = 30;
/** Refused calls whose ACK is to come. */
const maxRefused = 64;
const endTimeoutMs = 1_200;
const capReasons = {
  calls_at_once: 'Too Many Calls At Once',
  minutes_a_day: 'Minutes Of The Day Used Up',
} as const;
const pong = Buffer.from('\r\n');

/** One softphone and its connection to the SIP server: what goes by is in its own name, and to where it may call. */
export class SoftphoneLine {
  readonly #options: SoftphoneLineOptions;
  readonly #calls = new CallsOfLine();
  readonly #refused = new Set<string>();
  /** Calls that are ended, and whom to tell that the softphone knows. */
  readonly #toldOfEnd = new Map<string, () => void>();
  #dials: number[] = [];
  #ending: Promise<void> | null = null;
  /** What came while it is found out whether a call may begin; null while nothing is. */
  #waiting: Buffer[] | null = null;

  constructor(options: SoftphoneLineOptions) {
    this.#options = options;
    const { browser, upstream } = options;
    browser.on('message', (data) => this.#guard(() => this.#fromBrowser(data as Buffer)));
    upstream.on('message', (data) => this.#guard(() => this.#fromServer(data as Buffer)));
    browser.on('close', () => {
      this.#calls.takeAll();
      upstream.close();
    });
    upstream.on('close', () => browser.close(sipCloseCodes.tryAgain, 'the SIP server is away'));
    upstream.on('error', () => upstream.terminate());
  }

  /** Ends the calls at the SIP server, and then closes the softphone. Never rejects; done within 1.2 s. */
  end(code: number, reason: string): Promise<void> {
    this.#ending ??= this.#endCalls().finally(() => this.#options.browser.close(code, reason));
    return this.#ending;
  }

  /** Closes the softphone and leaves its calls, so that it can take them up again elsewhere. */
  hangUp(code: number, reason: string): void {
    this.#options.browser.close(code, reason);
  }

  async #endCalls(): Promise<void> {
    const { upstream, server } = this.#options;
    const { answered, asking } = this.#calls.takeAll();
    for (const invite of asking) upstream.send(cancel(invite));
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, endTimeoutMs);
    const ends = answered.map(async (dialog) => {
      const { promise: told, resolve } = Promise.withResolvers<void>();
      this.#toldOfEnd.set(dialog.callId, resolve);
      // The server answers before it has told both sides.
      if (await server.end(dialog)) await told;
    });
    await Promise.race([Promise.allSettled(ends), late.promise]);
    clearTimeout(timer);
  }

  #guard(act: () => void): void {
    const { browser } = this.#options;
    try {
      act();
    } catch (error) {
      if (!(error instanceof SipSyntaxError)) throw error;
      browser.close(sipCloseCodes.notUnderstood, error.message);
    }
  }

  #fromBrowser(frame: Buffer): void {
    const { browser, address } = this.#options;
    if (this.#ending !== null) return;
    if (this.#waiting !== null) {
      this.#waiting.push(frame);
      return;
    }
    if (isKeepAlive(frame)) {
      if (frame.length === 4) this.#send(browser, pong);
      return;
    }
    const message = readFrame(frame);
    const foreign = findForeign(message, { address, calledAs: (callId) => this.#calls.calledAs(callId) });
    if (foreign !== null) {
      void this.end(sipCloseCodes.foreign, `${foreign} is not yours`);
      return;
    }
    if (message.kind === 'request') this.#ask(frame, message);
    else if (this.#calls.isAnswerable(callIdOf(message))) this.#pass(frame, message);
  }

  #ask(frame: Buffer, request: SipRequest): void {
    const { method } = request;
    if (!methods.includes(method)) return this.#refuse(request, 405, 'Method Not Allowed');
    if (method === 'ACK' && this.#refused.delete(callIdOf(request))) return;
    if (isInDialog(request) || method === 'CANCEL') return this.#pass(frame, request);
    if (headersOf(request, 'route').length > 0) return this.#refuse(request, 403, 'Route Not Allowed');
    if (method !== 'INVITE') return this.#pass(frame, request);
    if (this.#calls.isFull || !this.#mayDial()) return this.#refuse(request, 403, 'Too Many Calls');
    this.#dial(frame, request);
  }

  #dial(frame: Buffer, request: SipRequest): void {
    const { browser, decide } = this.#options;
    const decision = decide(request.uri);
    if (decision.kind === 'refused') return this.#refuseDial(request, decision);
    const pass = (dial: Dial | null) =>
      this.#pass(withAddress(frame, request, decision.uri), { ...request, uri: decision.uri }, dial);
    if (!decision.isCounted) return pass(null);
    this.#waiting = [];
    browser.pause();
    void this.#begin(request, decision.dialled, pass).finally(() => {
      const frames = this.#waiting ?? [];
      this.#waiting = null;
      browser.resume();
      for (const each of frames) this.#guard(() => this.#fromBrowser(each));
    });
  }

  async #begin(request: SipRequest, dialled: string, pass: (dial: Dial) => void): Promise<void> {
    const { browser, begin } = this.#options;
    try {
      const dial = await begin();
      if (typeof dial === 'string') this.#refuseDial(request, { dialled, reason: capReasons[dial] });
      else if (browser.readyState === browser.OPEN && this.#ending === null) pass(dial);
      else dial.ended();
    } catch {
      this.#refuse(request, 503, 'Service Unavailable');
    }
  }

  #refuseDial(request: SipRequest, refusal: { dialled: string; reason: string }): void {
    this.#refuse(request, 403, refusal.reason);
    this.#options.onRefused(refusal);
  }

  #refuse(request: SipRequest, status: number, reason: string): void {
    if (request.method === 'ACK') return;
    if (request.method === 'INVITE') this.#expectAck(callIdOf(request));
    this.#send(this.#options.browser, refuse(request, status, reason));
  }

  #pass(frame: Buffer, message: SipMessage, dial: Dial | null = null): void {
    this.#calls.follow(message, true, dial);
    this.#send(this.#options.upstream, frame);
  }

  #fromServer(frame: Buffer): void {
    if (isKeepAlive(frame)) return;
    const message = parseMessage(frame);
    this.#calls.follow(message, false);
    this.#send(this.#options.browser, frame);
    if (message.kind === 'request' && message.method === 'BYE') this.#toldOfEnd.get(callIdOf(message))?.();
  }

  #send(side: WebSocket, frame: Buffer): void {
    if (side.readyState !== side.OPEN) return;
    if (side.bufferedAmount <= maxUnsentBytes) side.send(frame, { binary: false });
    else if (this.#ending === null) {
      void this.end(sipCloseCodes.tryAgain, 'one side does not read');
      // Whoever reads nothing would not read of its end either.
      side.terminate();
    }
  }

  #mayDial(): boolean {
    const now = this.#options.now();
    this.#dials = this.#dials.filter((at) => at > now - 60_000);
    if (this.#dials.length >= maxDialsAMinute) return false;
    this.#dials.push(now);
    return true;
  }

  #expectAck(callId: string): void {
    this.#refused.add(callId);
    if (this.#refused.size > maxRefused) this.#refused.delete(this.#refused.values().next().value as string);
  }
}
