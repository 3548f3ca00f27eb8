import type { RTCSession } from 'jssip/lib/RTCSession.js';
import { MediaOutage } from './media-outage.ts';
import { Meter } from './meter.ts';
import { outcomeOfAnswered, outcomeOf, outcomeOfIncoming } from './outcomes.ts';
import type { Outcome } from './outcomes.ts';
import type { Quality } from './quality.ts';
import type { CallView } from './state.ts';

/** The result of a call. */
export interface EndedCall {
  outcome: Outcome;
  /** Duration of the conversation. Null if the call was not answered. */
  seconds: number | null;
  /** Whether it is an incoming call that was neither answered nor declined, here or on another phone. */
  isMissed: boolean;
}

export interface CallOptions {
  session: RTCSession;
  onChange: (change: Partial<CallView>) => void;
  onRemoteAudio: (stream: MediaStream) => void;
  onLevels: (levels: { microphone: number; answer: number }) => void;
  onEnd: (ended: EndedCall) => void;
  /** The media path was down for so long that the call must end. */
  onOutageTimeout: () => void;
  /** The browser did not produce an offer in time, so no INVITE was sent. */
  onInviteTimeout?: () => void;
}

/** The INVITE is sent this long after the first ICE candidate, even if gathering continues. */
const iceGatheringMs = 500;
/** An outgoing call whose INVITE was not sent by then is stuck in the browser. */
const inviteTimeoutMs = 3_000;
/** The ICE user name fragment of a session description. It changes with each ICE restart. */
const iceUfragOf = (sdp: string | undefined): string | undefined => /^a=ice-ufrag:(.*?)\r?$/m.exec(sdp ?? '')?.[1];

/** Retries of an ICE restart or of another refused session change. The other side may have lost its connection. */
const maxIceRestarts = 10;
const iceRestartDelayMs = 2_000;
/**
 * The called side waits this long for the caller to restart ICE before it restarts ICE itself.
 * Both sides may have lost their connection at the same time.
 */
const calleeRestartDelayMs = 3_000;

/** One call. Translates the events of SIP and WebRTC into the state of the page. */
export class Call {
  readonly session: RTCSession;
  readonly #options: CallOptions;
  #meter: Meter | null = null;
  #answeredAt: number | null = null;
  #isDeclined = false;
  #restartTimer: ReturnType<typeof setTimeout> | undefined;
  #restartsLeft = maxIceRestarts;
  #isRestartedByPeer = false;
  readonly #outage = new MediaOutage();
  #isTimedOut = false;

  constructor(options: CallOptions) {
    this.#options = options;
    const { session, onChange } = options;
    this.session = session;
    this.#keepCallOnRefusedChange();
    this.#listen(session.connection as RTCPeerConnection | null);
    session.on('peerconnection', ({ peerconnection }) => this.#listen(peerconnection));
    if (session.direction === 'outgoing') this.#watchStart();
    session.on('progress', () => onChange({ phase: session.direction === 'incoming' ? 'incoming' : 'ringing' }));
    session.on('accepted', () => this.#markAnswered());
    session.on('confirmed', () => this.#markAnswered());
    session.on('hold', ({ originator }) =>
      onChange(String(originator) === 'local' ? { isHeld: true } : { isHeldByOther: true }),
    );
    session.on('unhold', ({ originator }) =>
      onChange(String(originator) === 'local' ? { isHeld: false } : { isHeldByOther: false }),
    );
    // Without STUN and TURN servers all candidates are local and known immediately.
    session.on('icecandidate', ({ ready }) => setTimeout(ready, iceGatheringMs));
    // The relay also forwards re-INVITEs that keep the media path to this side. A new ICE fragment means a restart.
    session.on('reinvite', ({ request }) => {
      const connection = this.session.connection as RTCPeerConnection | null;
      if (iceUfragOf((request as { body?: string }).body) !== iceUfragOf(connection?.remoteDescription?.sdp))
        this.#isRestartedByPeer = true;
    });
    session.on('ended', ({ cause }) =>
      this.#end(this.#isTimedOut ? 'connectionBroken' : outcomeOfAnswered(cause), false),
    );
    session.on('failed', ({ originator, cause, message }) => {
      const response = message as {
        status_code?: number;
        reason_phrase?: string;
        getHeader?: (name: string) => string;
      };
      const { status_code: status, reason_phrase: reason } = response ?? {};
      const end = { originator: String(originator), cause, status, reason };
      if (session.direction === 'outgoing') return this.#end(outcomeOf(end), false);
      const outcome = outcomeOfIncoming(end, this.#isDeclined, response?.getHeader?.('Reason'));
      this.#end(outcome, outcome !== 'youDeclined' && outcome !== 'answeredElsewhere');
    });
  }

  /** Ends the call, or declines it if it is still ringing. */
  hangUp(): void {
    this.#isDeclined = true;
    const isOffered = this.session.direction === 'incoming' && this.#answeredAt === null;
    this.session.terminate(isOffered ? { status_code: 603, reason_phrase: 'Decline' } : {});
  }

  mute(isMuted: boolean): void {
    if (isMuted) this.session.mute({ audio: true });
    else this.session.unmute({ audio: true });
    this.#options.onChange({ isMuted });
  }

  /** Returns whether the change could be started. */
  hold(isHeld: boolean): boolean {
    this.#restartsLeft = maxIceRestarts;
    return isHeld ? this.session.hold() : this.session.unhold();
  }

  sendKey(key: string): void {
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the library's types have an enumeration that it does not export.
    this.session.sendDTMF(key, { transportType: 'RFC2833' as never });
  }

  async replaceMicrophone(track: MediaStreamTrack): Promise<void> {
    const connection = this.session.connection as RTCPeerConnection | null;
    const sender = connection?.getSenders().find((each) => each.track?.kind === 'audio');
    if (sender === undefined) return;
    track.enabled = sender.track?.enabled ?? true;
    await sender.replaceTrack(track);
  }

  /** Restarts ICE after the connection returned, so that both sides find a new media path. */
  restartIce(): void {
    if (this.#answeredAt === null) return;
    this.#restartsLeft = maxIceRestarts;
    this.#isRestartedByPeer = false;
    if (this.session.direction === 'outgoing') this.#restartIce();
    else this.#restartIceLater(calleeRestartDelayMs, () => !this.#isRestartedByPeer);
  }

  #restartIce(): void {
    const isStarted = this.session.renegotiate({ rtcOfferConstraints: { iceRestart: true } });
    if (!isStarted) this.#restartIceLater(iceRestartDelayMs * (1 + Math.random()));
  }

  #restartIceLater(afterMs: number, isNeeded = () => true): void {
    clearTimeout(this.#restartTimer);
    if (this.#restartsLeft === 0) return;
    this.#restartsLeft -= 1;
    this.#restartTimer = setTimeout(() => {
      if (this.session.isEstablished() && isNeeded()) this.#restartIce();
    }, afterMs);
  }

  /**
   * JsSIP ends a call when the other side refuses a session change, or when the connection breaks during one.
   * This override keeps the call and retries the change.
   */
  #keepCallOnRefusedChange(): void {
    const { session } = this;
    const end = session.terminate.bind(session);
    session.terminate = (options) => {
      const isByLibrary =
        options?.status_code === 500 && ['WebRTC Error', 'Connection Error'].includes(options.cause ?? '');
      if (!isByLibrary || !session.isEstablished()) end(options);
      else this.#restartIceLater(iceRestartDelayMs * (1 + Math.random()));
    };
  }

  #watchStart(): void {
    const timer = setTimeout(() => this.#options.onInviteTimeout?.(), inviteTimeoutMs);
    const clear = () => clearTimeout(timer);
    this.session.on('sending', clear);
    this.session.on('failed', clear);
  }

  #listen(connection: RTCPeerConnection | null): void {
    if (connection === null || this.#meter !== null) return;
    this.#meter = new Meter({
      connection,
      onLevels: this.#options.onLevels,
      onQuality: (quality: Quality) => this.#handleQuality(connection, quality),
    });
    connection.addEventListener('track', ({ streams, track }) =>
      this.#options.onRemoteAudio(streams[0] ?? new MediaStream([track])),
    );
    // The media path can fail while the SIP connection survives, for example after a change of the network.
    connection.addEventListener('iceconnectionstatechange', () => {
      if (connection.iceConnectionState === 'failed') this.restartIce();
    });
  }

  #handleQuality({ iceConnectionState: state }: RTCPeerConnection, quality: Quality): void {
    if (this.#answeredAt === null) return;
    const { local, remote } = this.session.isOnHold();
    const isBroken =
      state !== 'connected' && state !== 'completed' && quality.verdict === 'silent' && !local && !remote;
    const outage = this.#outage.update(isBroken, performance.now());
    this.#options.onChange({ quality, isBroken: outage !== 'none' });
    if (outage !== 'end' || this.#isTimedOut) return;
    this.#isTimedOut = true;
    this.#options.onOutageTimeout();
  }

  #markAnswered(): void {
    if (this.#answeredAt !== null) return;
    this.#answeredAt = Date.now();
    this.#options.onChange({ phase: 'talking', since: this.#answeredAt });
  }

  #end(outcome: Outcome, isMissed: boolean): void {
    clearTimeout(this.#restartTimer);
    this.#meter?.stop();
    const since = this.#answeredAt;
    this.#options.onEnd({
      outcome,
      seconds: since === null ? null : Math.round((Date.now() - since) / 1000),
      isMissed,
    });
  }
}
