import { isUtf8 } from 'node:buffer';
import { sipCloseCodes } from '../../../../shared/contract/calls/sip-socket.ts';
import type { WebSocket } from '../../../platform/http/live/sockets.ts';
import { SipSyntaxError, headersOf } from '../sip/index.ts';
import type { SipDialog, SipMessage, SipRequest, SipServer, SipSides } from '../sip/index.ts';
import type { CallDecision } from './call-audit.ts';
import type { CallLease, CallLeases } from './call-leases.ts';
import type { DialDecision } from './dial-policy.ts';
import { callIdOf, findUnclear, isInDialog, tagOf } from './dialog-identifiers.ts';
import { HungUpCalls } from './hung-up-calls.ts';
import { findForeign } from './own-name.ts';
import { answersInvite, SessionCalls } from './session-calls.ts';
import type { RingingCall } from './session-calls.ts';
import {
  cancel,
  isFolded,
  isKeepAlive,
  readFrame,
  readFromServer,
  refuse,
  refuseUnreadable,
  withAddress,
  withoutRoute,
} from './sip-frames.ts';
import { framesASecond, SoftphoneLimits } from './softphone-limits.ts';

export interface SoftphoneSessionOptions {
  browser: WebSocket;
  /** The connection to the SIP server that was opened in the same name. */
  upstream: WebSocket;
  server: Pick<SipServer, 'end' | 'knows'>;
  /** `user@domain`. */
  address: string;
  decide: (uri: string) => DialDecision;
  /** Begins a call that counts; answers why not. */
  begin: (asked: Omit<SipDialog, 'toTag'>) => ReturnType<CallLeases['begin']>;
  /** Keeps a call that was answered. */
  hold: (dialog: SipDialog) => CallLease;
  onJudged: (call: CallDecision) => void;
  now: () => number;
}

const methods = ['REGISTER', 'INVITE', 'ACK', 'CANCEL', 'BYE', 'OPTIONS', 'INFO', 'UPDATE', 'PRACK', 'NOTIFY'];
/** Those that begin something. */
const outOfCalls = ['REGISTER', 'INVITE', 'OPTIONS'];
/** What may wait for a side that does not read, in bytes. */
const maxUnsentBytes = 512 * 1024;
/** Refused calls whose ACK is to come. */
const maxRefused = 64;
const endTimeoutMs = 1_200;
const capReasons = {
  calls_at_once: 'Too Many Calls At Once',
  minutes_a_day: 'Minutes Of The Day Used Up',
} as const;
const pong = Buffer.from('\r\n');

/** One softphone and its connection to the SIP server: what goes by is in its own name, and to where it may call. */
export class SoftphoneSession {
  readonly #options: SoftphoneSessionOptions;
  readonly #calls: SessionCalls;
  readonly #hungUp: HungUpCalls;
  readonly #limits: SoftphoneLimits;
  readonly #refused = new Set<string>();
  /** Calls that are ended, and whom to tell that the softphone knows. */
  readonly #toldOfEnd = new Map<string, () => void>();
  #ending: Promise<void> | null = null;
  /** What came while it is found out whether a call may begin; null while nothing is. */
  #waiting: Buffer[] | null = null;

  constructor(options: SoftphoneSessionOptions) {
    this.#options = options;
    const { browser, upstream } = options;
    this.#calls = new SessionCalls(options.hold, options.now);
    this.#hungUp = new HungUpCalls(options.server, this.#calls);
    this.#limits = new SoftphoneLimits(options.now);
    browser.on('message', (data) => this.#guard(() => this.#fromBrowser(data as Buffer)));
    upstream.on('message', (data) => this.#fromServer(data as Buffer));
    browser.on('close', () => void this.#leave());
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

  /** Goes on with a call that another softphone of the same person had. */
  takeUp(dialog: SipDialog, held: CallLease, sides: SipSides): void {
    this.#calls.takeUp(dialog, held, sides);
  }

  async #endCalls(): Promise<void> {
    const { server } = this.#options;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, endTimeoutMs);
    const ends = this.#calls.answered.map(async (dialog) => {
      const told = this.#toldOf(dialog.callId);
      // The server answers before it has told both sides.
      if (await server.end(dialog)) await told;
      this.#calls.end(dialog.callId);
    });
    const asked = this.#calls.ringing.filter(({ isOwn }) => isOwn).map(({ invite }) => this.#toldOf(callIdOf(invite)));
    for (const call of this.#calls.ringing) this.#giveUp(call);
    await Promise.race([Promise.allSettled([...ends, ...asked]), late.promise]);
    clearTimeout(timer);
  }

  #giveUp({ invite, isOwn }: RingingCall): void {
    const { upstream } = this.#options;
    if (upstream.readyState !== upstream.OPEN) return;
    upstream.send(isOwn ? cancel(invite) : refuse(invite, 480, 'Temporarily Unavailable'), { binary: false });
    if (!isOwn) this.#calls.end(callIdOf(invite));
  }

  /** Nobody can take up a call that rings at a softphone that is gone; those that were answered can be. */
  async #leave(): Promise<void> {
    if (this.#ending === null) for (const call of this.#calls.ringing) this.#giveUp(call);
    else await this.#ending;
    this.#hungUp[Symbol.dispose]();
    this.#calls.leave();
    this.#options.upstream.close();
  }

  #toldOf(callId: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#toldOfEnd.set(callId, resolve);
    return promise;
  }

  #guard(act: () => void): void {
    const { browser } = this.#options;
    try {
      act();
    } catch (error) {
      if (!(error instanceof SipSyntaxError)) throw error;
      browser.close(sipCloseCodes.invalidFrame, error.message);
    }
  }

  #fromBrowser(frame: Buffer): void {
    const { browser, address } = this.#options;
    if (this.#ending !== null) return;
    if (this.#waiting !== null) {
      this.#waiting.push(frame);
      return;
    }
    if (!this.#limits.mayTalk()) {
      void this.end(sipCloseCodes.tooMany, `more than ${framesASecond} messages in a second`);
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
    const unclear = isFolded(frame) ? 'a folded line' : findUnclear(message);
    if (message.kind === 'request') {
      if (unclear === null) this.#ask(frame, message);
      else this.#refuse(message, 400, `Bad Request: ${unclear}`);
    } else if (unclear === null && this.#calls.mayAnswer(message)) this.#pass(frame, message);
  }

  #ask(frame: Buffer, request: SipRequest): void {
    const { method } = request;
    if (!methods.includes(method)) return this.#refuse(request, 405, 'Method Not Allowed');
    if (method === 'ACK' && this.#refused.delete(callIdOf(request))) return;
    if (isInDialog(request) || method === 'CANCEL') return this.#askInCall(frame, request);
    if (!outOfCalls.includes(method)) return this.#refuse(request, 481, 'Call Does Not Exist');
    if (method === 'INVITE') return this.#dial(frame, request);
    if (headersOf(request, 'route').length === 0) this.#pass(frame, request);
    else this.#refuseDial(request, { dialled: request.uri, reason: 'Route Not Allowed' });
  }

  #askInCall(frame: Buffer, request: SipRequest): void {
    const direction = this.#calls.directionOf(request);
    if (direction.kind === 'unknown') return this.#refuse(request, 481, 'Call Does Not Exist');
    if (direction.kind === 'elsewhere')
      return this.#refuseDial(request, { dialled: request.uri, reason: 'Address Not Of This Call' });
    this.#pass(withAddress(direction.isRouted ? frame : withoutRoute(frame), request, direction.uri), request);
  }

  #dial(frame: Buffer, request: SipRequest): void {
    const { browser, decide, onJudged } = this.#options;
    if (this.#calls.has(callIdOf(request))) return this.#refuse(request, 482, 'Call-ID In Use');
    const decision = decide(request.uri);
    const { dialled, isEmergency } = decision;
    const refusal = isEmergency ? null : this.#limitOf(request);
    if (refusal !== null) return this.#refuseDial(request, { dialled, reason: refusal });
    if (decision.kind === 'refused') return this.#refuseDial(request, decision);
    if (isEmergency && this.#calls.isOverfull)
      return this.#refuseDial(request, { dialled, reason: 'Too Many Calls', isEmergency });
    if (isEmergency) onJudged({ action: 'sip_call.emergency', dialled, reason: 'Routed', isEmergency });
    const pass = (held: CallLease | null) =>
      this.#pass(
        withAddress(isEmergency ? withoutRoute(frame) : frame, request, decision.uri),
        { ...request, uri: decision.uri },
        { asked: request.uri, held },
      );
    if (!decision.isCounted) return pass(null);
    this.#waiting = [];
    browser.pause();
    void this.#begin(request, dialled, pass).finally(() => {
      const frames = this.#waiting ?? [];
      this.#waiting = null;
      browser.resume();
      for (const each of frames) this.#guard(() => this.#fromBrowser(each));
    });
  }

  async #begin(request: SipRequest, dialled: string, pass: (held: CallLease) => void): Promise<void> {
    const { browser, begin } = this.#options;
    try {
      const held = await begin({ callId: callIdOf(request), fromTag: tagOf(request, 'from') });
      if (typeof held === 'string') this.#refuseDial(request, { dialled, reason: capReasons[held] });
      else if (browser.readyState === browser.OPEN && this.#ending === null) pass(held);
      else held.ended();
    } catch {
      this.#refuse(request, 503, 'Service Unavailable');
    }
  }

  #limitOf(request: SipRequest): string | null {
    if (headersOf(request, 'route').length > 0) return 'Route Not Allowed';
    return this.#calls.isFull || !this.#limits.mayDial() ? 'Too Many Calls' : null;
  }

  #refuseDial(request: SipRequest, refusal: { dialled: string; reason: string; isEmergency?: boolean }): void {
    const { dialled, reason, isEmergency = false } = refusal;
    this.#refuse(request, 403, reason);
    this.#options.onJudged({ action: 'sip_call.refused', dialled, reason, isEmergency });
  }

  #refuse(request: SipRequest, status: number, reason: string): void {
    if (request.method === 'ACK') return;
    if (request.method === 'INVITE') this.#expectAck(callIdOf(request));
    this.#send(this.#options.browser, refuse(request, status, reason));
  }

  #pass(frame: Buffer, message: SipMessage, begun?: { asked: string; held: CallLease | null }): void {
    this.#calls.follow(message, true, begun);
    this.#send(this.#options.upstream, frame);
  }

  #fromServer(frame: Buffer): void {
    if (isKeepAlive(frame)) return;
    const message = readFromServer(frame);
    const answer = message === null ? refuseUnreadable(frame) : this.#calls.refuse(message);
    if (answer !== null) this.#send(this.#options.upstream, answer);
    if (message === null || answer !== null) return;
    const callId = callIdOf(message);
    this.#calls.follow(message, false);
    this.#send(this.#options.browser, frame);
    if (message.kind === 'request') {
      if (message.method === 'BYE') this.#toldOfEnd.get(callId)?.();
    } else if (answersInvite(message) && message.status >= 300) this.#toldOfEnd.get(callId)?.();
    else if (answersInvite(message) && message.status >= 200) this.#endLate(callId);
    else this.#hungUp.ask(this.#calls.left(message));
  }

  /** Somebody answered while the call was taken back. */
  #endLate(callId: string): void {
    if (this.#ending === null) return;
    const dialog = this.#calls.answered.find((call) => call.callId === callId);
    if (dialog !== undefined)
      this.#options.server.end(dialog).then(
        () => this.#calls.end(callId),
        () => this.#toldOfEnd.get(callId)?.(),
      );
  }

  #send(side: WebSocket, frame: Buffer): void {
    if (side.readyState !== side.OPEN) return;
    // What is no UTF-8 goes as binary (RFC 7118): as text it would end the connection.
    if (side.bufferedAmount <= maxUnsentBytes) side.send(frame, { binary: !isUtf8(frame) });
    else if (this.#ending === null) {
      void this.end(sipCloseCodes.tryAgain, 'one side does not read');
      // Whoever reads nothing would not read of its end either.
      side.terminate();
    }
  }

  #expectAck(callId: string): void {
    this.#refused.add(callId);
    if (this.#refused.size > maxRefused) this.#refused.delete(this.#refused.values().next().value as string);
  }
}
