import type { RTCSession } from 'jssip/lib/RTCSession.js';
import { Breakage } from './breakage.ts';
import { Meter } from './meter.ts';
import { endOf, outcomeOf, outcomeOfIncoming } from './outcomes.ts';
import type { Outcome } from './outcomes.ts';
import type { Quality } from './quality.ts';
import type { CallView } from './state.ts';

/** What a call came to. */
export interface EndedCall {
  outcome: Outcome;
  /** Null where nobody talked. */
  seconds: number | null;
  /** Whether it came and nobody took it, here or elsewhere. */
  isMissed: boolean;
}

export interface CallOptions {
  session: RTCSession;
  onChange: (change: Partial<CallView>) => void;
  onSound: (stream: MediaStream) => void;
  onLevels: (levels: { microphone: number; answer: number }) => void;
  onEnd: (ended: EndedCall) => void;
  /** No sound found its way for so long that the call is to be ended. */
  onBroken: () => void;
  /** The browser found no way for its audio, so that nobody was asked yet. */
  onStuck?: () => void;
}

/** So long after the first way that a call can go it is asked for, whether or not more were found; in milliseconds. */
const gatheringMs = 500;
/** A call that was not asked for so long is stuck in the browser, in milliseconds. */
const stuckMs = 3_000;
/** By which name a description knows its way (ICE). */
const wayOf = (sdp: string | undefined): string | undefined => /^a=ice-ufrag:(.*?)\r?$/m.exec(sdp ?? '')?.[1];

/** How often the other side is asked for something again that it refused, and how long apart, in milliseconds: it may be without a connection. */
const renewals = 10;
const renewalMs = 2_000;
/** For how long whoever was called leaves it to the caller to find a new way, in milliseconds: both may have lost their connection. */
const calleeWaitsMs = 3_000;

/** One call: what SIP and WebRTC say of it, in the terms of the page. */
export class Call {
  readonly session: RTCSession;
  readonly #options: CallOptions;
  #meter: Meter | null = null;
  #talkedSince: number | null = null;
  #isDeclined = false;
  #renewal: ReturnType<typeof setTimeout> | undefined;
  #renewalsLeft = renewals;
  #isRenewedByOther = false;
  readonly #breakage = new Breakage();
  #isOver = false;

  constructor(options: CallOptions) {
    this.#options = options;
    const { session, onChange } = options;
    this.session = session;
    this.#keepOnRefusal();
    this.#listen(session.connection as RTCPeerConnection | null);
    session.on('peerconnection', ({ peerconnection }) => this.#listen(peerconnection));
    if (session.direction === 'outgoing') this.#watchStart();
    session.on('progress', () => onChange({ phase: session.direction === 'incoming' ? 'incoming' : 'ringing' }));
    session.on('accepted', () => this.#talk());
    session.on('confirmed', () => this.#talk());
    session.on('hold', ({ originator }) =>
      onChange(String(originator) === 'local' ? { isHeld: true } : { isHeldByOther: true }),
    );
    session.on('unhold', ({ originator }) =>
      onChange(String(originator) === 'local' ? { isHeld: false } : { isHeldByOther: false }),
    );
    // It has nobody to wait for: all ways are of this machine, and known at once.
    session.on('icecandidate', ({ ready }) => setTimeout(ready, gatheringMs));
    // A relay between them asks for what its other side asked for, and keeps the way that it has to this one.
    session.on('reinvite', ({ request }) => {
      const connection = this.session.connection as RTCPeerConnection | null;
      if (wayOf((request as { body?: string }).body) !== wayOf(connection?.remoteDescription?.sdp))
        this.#isRenewedByOther = true;
    });
    session.on('ended', ({ cause }) => this.#end(this.#isOver ? 'connectionBroken' : endOf(cause), false));
    session.on('failed', ({ originator, cause, message }) => {
      const answer = message as { status_code?: number; reason_phrase?: string; getHeader?: (name: string) => string };
      const { status_code: status, reason_phrase: reason } = answer ?? {};
      const end = { originator: String(originator), cause, status, reason };
      if (session.direction === 'outgoing') return this.#end(outcomeOf(end), false);
      const outcome = outcomeOfIncoming(end, this.#isDeclined, answer?.getHeader?.('Reason'));
      this.#end(outcome, outcome !== 'youDeclined' && outcome !== 'answeredElsewhere');
    });
  }

  /** Ends it, or does not take it. */
  hangUp(): void {
    this.#isDeclined = true;
    const isOffered = this.session.direction === 'incoming' && this.#talkedSince === null;
    this.session.terminate(isOffered ? { status_code: 603, reason_phrase: 'Decline' } : {});
  }

  mute(isMuted: boolean): void {
    if (isMuted) this.session.mute({ audio: true });
    else this.session.unmute({ audio: true });
    this.#options.onChange({ isMuted });
  }

  /** Answers whether it can be now. */
  hold(isHeld: boolean): boolean {
    this.#renewalsLeft = renewals;
    return isHeld ? this.session.hold() : this.session.unhold();
  }

  sendKey(key: string): void {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library's types have an enumeration that it does not export.
    this.session.sendDTMF(key, { transportType: 'RFC2833' as never });
  }

  /** Speaks with another microphone from now on. */
  async speakWith(track: MediaStreamTrack): Promise<void> {
    const connection = this.session.connection as RTCPeerConnection | null;
    const sender = connection?.getSenders().find((each) => each.track?.kind === 'audio');
    if (sender === undefined) return;
    track.enabled = sender.track?.enabled ?? true;
    await sender.replaceTrack(track);
  }

  /** Finds a new way for the audio, and tells the other side where this one is, after the line came back. */
  renew(): void {
    if (this.#talkedSince === null) return;
    this.#renewalsLeft = renewals;
    this.#isRenewedByOther = false;
    if (this.session.direction === 'outgoing') this.#renewNow();
    else this.#renewLater(calleeWaitsMs, () => !this.#isRenewedByOther);
  }

  #renewNow(): void {
    const isAsked = this.session.renegotiate({ rtcOfferConstraints: { iceRestart: true } });
    if (!isAsked) this.#renewLater(renewalMs * (1 + Math.random()));
  }

  #renewLater(afterMs: number, isWanted = () => true): void {
    clearTimeout(this.#renewal);
    if (this.#renewalsLeft === 0) return;
    this.#renewalsLeft -= 1;
    this.#renewal = setTimeout(() => {
      if (this.session.isEstablished() && isWanted()) this.#renewNow();
    }, afterMs);
  }

  /** JsSIP ends a call whose other side refuses a change of it, or whose connection breaks in the middle of one. Here it goes on, and the change is asked for again. */
  #keepOnRefusal(): void {
    const { session } = this;
    const end = session.terminate.bind(session);
    session.terminate = (options) => {
      const isOwn = options?.status_code === 500 && ['WebRTC Error', 'Connection Error'].includes(options.cause ?? '');
      if (!isOwn || !session.isEstablished()) end(options);
      else this.#renewLater(renewalMs * (1 + Math.random()));
    };
  }

  #watchStart(): void {
    const timer = setTimeout(() => this.#options.onStuck?.(), stuckMs);
    const forget = () => clearTimeout(timer);
    this.session.on('sending', forget);
    this.session.on('failed', forget);
  }

  #listen(connection: RTCPeerConnection | null): void {
    if (connection === null || this.#meter !== null) return;
    this.#meter = new Meter({
      connection,
      onLevels: this.#options.onLevels,
      onQuality: (quality: Quality) => this.#judge(connection, quality),
    });
    connection.addEventListener('track', ({ streams, track }) =>
      this.#options.onSound(streams[0] ?? new MediaStream([track])),
    );
    // The way broke while the line held, as when somebody changes the network.
    connection.addEventListener('iceconnectionstatechange', () => {
      if (connection.iceConnectionState === 'failed') this.renew();
    });
  }

  #judge({ iceConnectionState: way }: RTCPeerConnection, quality: Quality): void {
    if (this.#talkedSince === null) return;
    const { local, remote } = this.session.isOnHold();
    const isBroken = way !== 'connected' && way !== 'completed' && quality.verdict === 'silent' && !local && !remote;
    const breakage = this.#breakage.note(isBroken, performance.now());
    this.#options.onChange({ quality, isBroken: breakage !== 'none' });
    if (breakage !== 'over' || this.#isOver) return;
    this.#isOver = true;
    this.#options.onBroken();
  }

  #talk(): void {
    if (this.#talkedSince !== null) return;
    this.#talkedSince = Date.now();
    this.#options.onChange({ phase: 'talking', since: this.#talkedSince });
  }

  #end(outcome: Outcome, isMissed: boolean): void {
    clearTimeout(this.#renewal);
    this.#meter?.stop();
    const since = this.#talkedSince;
    this.#options.onEnd({
      outcome,
      seconds: since === null ? null : Math.round((Date.now() - since) / 1000),
      isMissed,
    });
  }
}
