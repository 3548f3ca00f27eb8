import { isUtf8 } from 'node:buffer';
import { sipCloseCodes } from '../../../../shared/contract/calls/sip-socket.ts';
import type { WebSocket } from '../../../platform/http/live/sockets.ts';
import type { Logger } from '../../../platform/observability/logger.ts';
import { background } from '../../../platform/process/background.ts';
import { SipSyntaxError, headersOf } from '../sip/index.ts';
import type { SipDialog, SipMessage, SipRequest, SipServer, SipSides } from '../sip/index.ts';
import type { CallDecision } from './call-audit.ts';
import type { CallLease } from './call-leases.ts';
import type { DialLimit } from './call-store.ts';
import type { DialDecision } from './dial-policy.ts';
import { callIdOf, findAmbiguousHeader, isInDialog, tagOf } from './dialog-identifiers.ts';
import { HungUpCalls } from './hung-up-calls.ts';
import { findForeignHeader } from './own-addresses.ts';
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

export interface SoftphoneSessionOptions {
  browser: WebSocket;
  /** Connection to the SIP server, authenticated as the same SIP user. */
  upstream: WebSocket;
  server: Pick<SipServer, 'end' | 'knows'>;
  /** `user@domain`. */
  address: string;
  decide: (uri: string) => DialDecision;
  /** Starts a call that counts against the quota, or returns the exceeded limit. */
  start: (dialog: Omit<SipDialog, 'toTag'>) => Promise<CallLease | DialLimit>;
  /** Stores an answered call. */
  track: (dialog: SipDialog) => CallLease;
  onDecision: (call: CallDecision) => void;
  logger: Logger;
  now: () => number;
  /** Time limit of `end`, in milliseconds. Default: 1.2 s. */
  endTimeoutMs?: number | undefined;
}

const methods = ['REGISTER', 'INVITE', 'ACK', 'CANCEL', 'BYE', 'OPTIONS', 'INFO', 'UPDATE', 'PRACK', 'NOTIFY'];
/** Methods of requests outside calls. */
const methodsOutsideCalls = ['REGISTER', 'INVITE', 'OPTIONS'];
/** Bytes buffered for a side that does not read. */
const maxUnsentBytes = 512 * 1024;
/** Refused calls that wait for their ACK. */
const maxRefused = 64;
/** New calls per minute and softphone. */
const maxDialsPerMinute = 30;
/** Frames in a burst, and frames per second afterwards. */
const maxFramesPerBurst = 200;
const framesPerSecond = 50;
const defaultEndTimeoutMs = 1_200;
const limitReasons: Record<DialLimit, string> = {
  concurrent_calls: 'Too Many Calls At Once',
  minutes_per_day: 'Minutes Of The Day Used Up',
};
const pong = Buffer.from('\r\n');

/**
 * One softphone and its connection to the SIP server. Forwards only messages from the own SIP user to allowed
 * addresses.
 */
export class SoftphoneSession {
  readonly #options: SoftphoneSessionOptions;
  readonly #calls: SessionCalls;
  readonly #hungUp: HungUpCalls;
  readonly #limits: SoftphoneLimits;
  readonly #refused = new Set<string>();
  /** Resolvers by Call-ID, called when the softphone has been informed of the end of a call. */
  readonly #endNotices = new Map<string, () => void>();
  #ending: Promise<void> | null = null;
  /** Frames received while the quota of a call is checked. Null when no check is pending. */
  #waiting: Buffer[] | null = null;

  constructor(options: SoftphoneSessionOptions) {
    this.#options = options;
    const { browser, upstream } = options;
    this.#calls = new SessionCalls(options.track, options.now);
    this.#hungUp = new HungUpCalls(options.server, this.#calls);
    this.#limits = new SoftphoneLimits(options.now);
    browser.on('message', (data) => this.#guard(() => this.#fromBrowser(data as Buffer)));
    upstream.on('message', (data) => this.#fromServer(data as Buffer));
    browser.on('close', () => background(this.#onClose(), options.logger, 'end of a softphone'));
    upstream.on('close', () => browser.close(sipCloseCodes.tryAgain, 'the SIP server is not reachable'));
    upstream.on('error', () => upstream.terminate());
  }

  /** Ends the calls at the SIP server, then closes the softphone. Never rejects and takes at most `endTimeoutMs`. */
  end(code: number, reason: string): Promise<void> {
    this.#ending ??= this.#endCalls().finally(() => this.#options.browser.close(code, reason));
    return this.#ending;
  }

  #endInBackground(code: number, reason: string): void {
    background(this.end(code, reason), this.#options.logger, 'end of a softphone');
  }

  /** Closes the softphone without ending its calls, so that it can resume them on another connection. */
  disconnect(code: number, reason: string): void {
    this.#options.browser.close(code, reason);
  }

  /** Takes over a call from another softphone of the same user. */
  resume(dialog: SipDialog, lease: CallLease, sides: SipSides): void {
    this.#calls.resume(dialog, lease, sides);
  }

  async #endCalls(): Promise<void> {
    const { server, endTimeoutMs = defaultEndTimeoutMs } = this.#options;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, endTimeoutMs);
    const ends = this.#calls.answered.map(async (dialog) => {
      const notice = this.#waitForEndNotice(dialog.callId);
      // The server responds before it has sent BYE to both sides.
      if (await server.end(dialog)) await notice;
      this.#calls.end(dialog.callId);
    });
    const notices = this.#calls.ringing
      .filter(({ isOwn }) => isOwn)
      .map(({ invite }) => this.#waitForEndNotice(callIdOf(invite)));
    for (const call of this.#calls.ringing) this.#abandon(call);
    await Promise.race([Promise.allSettled([...ends, ...notices]), late.promise]);
    clearTimeout(timer);
  }

  #abandon({ invite, isOwn }: RingingCall): void {
    const { upstream } = this.#options;
    if (upstream.readyState !== upstream.OPEN) return;
    upstream.send(isOwn ? cancel(invite) : refuse(invite, 480, 'Temporarily Unavailable'), { binary: false });
    if (!isOwn) this.#calls.end(callIdOf(invite));
  }

  /** Ends ringing calls, which no other softphone can resume, and detaches answered calls. */
  async #onClose(): Promise<void> {
    if (this.#ending === null) for (const call of this.#calls.ringing) this.#abandon(call);
    else await this.#ending;
    this.#hungUp[Symbol.dispose]();
    this.#calls.detach();
    this.#options.upstream.close();
  }

  #waitForEndNotice(callId: string): Promise<void> {
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#endNotices.set(callId, resolve);
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
    if (!this.#limits.maySend()) {
      this.#endInBackground(sipCloseCodes.tooMany, `more than ${framesPerSecond} messages per second`);
      return;
    }
    if (isKeepAlive(frame)) {
      if (frame.length === 4) this.#send(browser, pong);
      return;
    }
    const message = readFrame(frame);
    const foreign = findForeignHeader(message, { address, calledAs: (callId) => this.#calls.calledAs(callId) });
    if (foreign !== null) {
      this.#endInBackground(sipCloseCodes.foreign, `${foreign} does not match your SIP user`);
      return;
    }
    const ambiguous = isFolded(frame) ? 'a folded line' : findAmbiguousHeader(message);
    if (message.kind === 'request') {
      if (ambiguous === null) this.#handleRequest(frame, message);
      else this.#refuse(message, 400, `Bad Request: ${ambiguous}`);
    } else if (ambiguous === null && this.#calls.mayAnswer(message)) this.#forward(frame, message);
  }

  #handleRequest(frame: Buffer, request: SipRequest): void {
    const { method } = request;
    if (!methods.includes(method)) return this.#refuse(request, 405, 'Method Not Allowed');
    if (method === 'ACK' && this.#refused.delete(callIdOf(request))) return;
    if (isInDialog(request) || method === 'CANCEL') return this.#handleInCall(frame, request);
    if (!methodsOutsideCalls.includes(method)) return this.#refuse(request, 481, 'Call Does Not Exist');
    if (method === 'INVITE') return this.#dial(frame, request);
    if (headersOf(request, 'route').length === 0) this.#forward(frame, request);
    else this.#refuseDial(request, { dialled: request.uri, reason: 'Route Not Allowed' });
  }

  #handleInCall(frame: Buffer, request: SipRequest): void {
    const destination = this.#calls.destinationOf(request);
    if (destination.kind === 'unknownCall') return this.#refuse(request, 481, 'Call Does Not Exist');
    if (destination.kind === 'foreignAddress')
      return this.#refuseDial(request, { dialled: request.uri, reason: 'Address Not Of This Call' });
    this.#forward(withAddress(destination.isRouted ? frame : withoutRoute(frame), request, destination.uri), request);
  }

  #dial(frame: Buffer, request: SipRequest): void {
    const { browser, decide, onDecision } = this.#options;
    if (this.#calls.has(callIdOf(request))) return this.#refuse(request, 482, 'Call-ID In Use');
    const decision = decide(request.uri);
    const { dialled, isEmergency } = decision;
    const limit = isEmergency ? null : this.#limitOf(request);
    if (limit !== null) return this.#refuseDial(request, { dialled, reason: limit });
    if (decision.kind === 'refused') return this.#refuseDial(request, decision);
    if (isEmergency && this.#calls.isFullForEmergency)
      return this.#refuseDial(request, { dialled, reason: 'Too Many Calls', isEmergency });
    if (isEmergency) onDecision({ action: 'sip_call.emergency', dialled, reason: 'Routed', isEmergency });
    const forward = (lease: CallLease | null) =>
      this.#forward(
        withAddress(isEmergency ? withoutRoute(frame) : frame, request, decision.uri),
        { ...request, uri: decision.uri },
        { dialledUri: request.uri, lease },
      );
    if (!decision.isCounted) return forward(null);
    this.#waiting = [];
    browser.pause();
    const start = this.#start(request, dialled, forward).finally(() => {
      const frames = this.#waiting ?? [];
      this.#waiting = null;
      browser.resume();
      for (const each of frames) this.#guard(() => this.#fromBrowser(each));
    });
    background(start, this.#options.logger, 'start of a call');
  }

  async #start(request: SipRequest, dialled: string, forward: (lease: CallLease) => void): Promise<void> {
    const { browser, start } = this.#options;
    try {
      const lease = await start({ callId: callIdOf(request), fromTag: tagOf(request, 'from') });
      if (typeof lease === 'string') this.#refuseDial(request, { dialled, reason: limitReasons[lease] });
      else if (browser.readyState === browser.OPEN && this.#ending === null) forward(lease);
      else lease.ended();
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
    this.#options.onDecision({ action: 'sip_call.refused', dialled, reason, isEmergency });
  }

  #refuse(request: SipRequest, status: number, reason: string): void {
    if (request.method === 'ACK') return;
    if (request.method === 'INVITE') this.#expectAck(callIdOf(request));
    this.#send(this.#options.browser, refuse(request, status, reason));
  }

  #forward(frame: Buffer, message: SipMessage, dial?: { dialledUri: string; lease: CallLease | null }): void {
    this.#calls.follow(message, true, dial);
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
      if (message.method === 'BYE') this.#endNotices.get(callId)?.();
    } else if (answersInvite(message) && message.status >= 300) this.#endNotices.get(callId)?.();
    else if (answersInvite(message) && message.status >= 200) this.#endLate(callId);
    else this.#hungUp.watch(this.#calls.afterFailedBye(message));
  }

  /** Ends a call that was answered while its CANCEL was in transit. */
  #endLate(callId: string): void {
    if (this.#ending === null) return;
    const dialog = this.#calls.answered.find((call) => call.callId === callId);
    if (dialog !== undefined)
      this.#options.server.end(dialog).then(
        () => this.#calls.end(callId),
        () => this.#endNotices.get(callId)?.(),
      );
  }

  #send(side: WebSocket, frame: Buffer): void {
    if (side.readyState !== side.OPEN) return;
    // Text frames must be UTF-8, otherwise the receiver closes the connection. RFC 7118 allows binary frames.
    if (side.bufferedAmount <= maxUnsentBytes) side.send(frame, { binary: !isUtf8(frame) });
    else if (this.#ending === null) {
      this.#endInBackground(sipCloseCodes.tryAgain, 'one side does not read its messages');
      // A side that does not read would not receive a close frame either.
      side.terminate();
    }
  }

  #expectAck(callId: string): void {
    this.#refused.add(callId);
    if (this.#refused.size > maxRefused) this.#refused.delete(this.#refused.values().next().value as string);
  }
}

/** Rate limits of one softphone. */
class SoftphoneLimits {
  readonly #now: () => number;
  #dials: number[] = [];
  #frames = { left: maxFramesPerBurst, at: 0 };

  constructor(now: () => number) {
    this.#now = now;
  }

  maySend(): boolean {
    const now = this.#now();
    const since = Math.max(0, now - this.#frames.at) / 1_000;
    this.#frames = { left: Math.min(maxFramesPerBurst, this.#frames.left + since * framesPerSecond) - 1, at: now };
    return this.#frames.left >= 0;
  }

  mayDial(): boolean {
    const now = this.#now();
    this.#dials = this.#dials.filter((at) => at > now - 60_000);
    if (this.#dials.length >= maxDialsPerMinute) return false;
    this.#dials.push(now);
    return true;
  }
}
