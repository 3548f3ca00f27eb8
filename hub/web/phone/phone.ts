import type { RTCSession } from 'jssip/lib/RTCSession.js';
import { background } from '../../../shared/web/background.ts';
import type { LevelListeners } from '../kit/level.tsx';
import { CallAudio, listDevices } from './audio.ts';
import { Call } from './call.ts';
import type { EndedCall } from './call.ts';
import { readAccount, readCalls, readColleagues, readSignedInUser } from './hub.ts';
import type { Account, SignedInUser, Problem } from './hub.ts';
import { MicrophoneSelection } from './microphone-selection.ts';
import { shownOutcome } from './outcomes.ts';
import type { Outcome } from './outcomes.ts';
import { peerOf, targetOf } from './peers.ts';
import type { Peer } from './peers.ts';
import { Ringer } from './ringer.ts';
import { SipConnection } from './sip-connection.ts';
import { canCall, addMissedCall } from './state.ts';
import type { CallView, PhoneStore } from './state.ts';

/** Delay before a failed start is retried. */
const retryMs = 5_000;
/** Delay before the list of calls is reloaded after a call. Carriers report the end of a call a little later. */
const recordDelayMs = 1_500;

/** The phone: connects SIP connection, call, microphone and speaker with the store that the page shows. */
export class Phone {
  readonly #store: PhoneStore;
  readonly #audio: CallAudio;
  readonly #microphone: MicrophoneSelection;
  readonly #ringer = new Ringer();
  /** Receives the audio levels of both sides. */
  readonly levels: LevelListeners = { microphone: ignore, answer: ignore };
  #connection: SipConnection | null = null;
  #call: Call | null = null;
  /** A call that the user ended while the connection was lost. It ends for the other side after reconnecting. */
  #callToEnd: Call | null = null;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #starting: Promise<void> | null = null;

  constructor(store: PhoneStore) {
    this.#store = store;
    this.#audio = new CallAudio({
      onBlocked: (isSoundBlocked) => store.set({ isSoundBlocked }),
      onLost: () => background(this.#microphone.useDefault(this.#call)),
    });
    this.#microphone = new MicrophoneSelection(store, this.#audio);
    (navigator.mediaDevices as MediaDevices | undefined)?.addEventListener('devicechange', () =>
      background(listDevices(store)),
    );
    addEventListener('online', () => this.retry());
    addEventListener('pagehide', () => this.#connection?.stop());
    // A page restored from the back/forward cache has already hung up.
    addEventListener('pageshow', ({ persisted }) => persisted && location.reload());
    addEventListener('beforeunload', (event) => this.#call !== null && event.preventDefault());
    document.addEventListener('visibilitychange', () => !document.hidden && background(this.readCalls()));
  }

  /** Reads the signed-in user and the SIP account, then registers. */
  start(): Promise<void> {
    // Concurrent calls (retry timer, button, `online` event) share one start.
    this.#starting ??= this.#start().finally(() => (this.#starting = null));
    return this.#starting;
  }

  async #start(): Promise<void> {
    clearTimeout(this.#timer);
    const signedInUser = await readSignedInUser();
    if (typeof signedInUser === 'string') return this.#showProblem(signedInUser);
    this.#store.set({ signedInUser });
    const account = await readAccount();
    if (typeof account === 'string') return this.#showProblem(account);
    this.#store.set({ account, problem: null });
    this.#connect(signedInUser, account);
    await Promise.all([
      listDevices(this.#store),
      this.readCalls(),
      readColleagues(signedInUser, account).then((colleagues) => this.#store.set({ colleagues })),
    ]);
  }

  /** Connects again without waiting for the next attempt. */
  retry(): void {
    if (this.#connection === null) background(this.start());
    else this.#connection.reconnectNow();
  }

  async readCalls(): Promise<void> {
    if (this.#store.state.account === null) return;
    const records = await readCalls();
    if (records !== null || this.#store.state.records === null) this.#store.set({ records });
  }

  setDialled(dialled: string): void {
    this.#store.set({ dialled, isDialledInvalid: false });
  }

  /** Calls the target in the dial field. */
  async dial(): Promise<void> {
    const { dialled, account, colleagues } = this.#store.state;
    if (account === null) return;
    const user = targetOf(dialled, { domain: account.domain, colleagues });
    if (user === null) this.#store.set({ isDialledInvalid: true, last: null });
    else await this.callPeer(peerOf(user, '', colleagues));
  }

  async callPeer(peer: Peer): Promise<void> {
    if (!canCall(this.#store.state) || peer.user === null) return;
    this.#show('outbound', peer, 'opening');
    const stream = await this.#microphone.open();
    const connection = this.#connection;
    if (this.#store.state.call === null || connection === null) return this.#audio.close();
    if (stream === null) return this.#ended(peer, { outcome: 'microphoneNeeded', seconds: null, isMissed: false });
    this.#change({ phase: 'calling' });
    this.#ringer.ring('outgoing');
    this.#dialPeer(connection, peer, peer.user, stream);
  }

  async answer(): Promise<void> {
    const call = this.#call;
    if (this.#store.state.call?.phase !== 'incoming' || call === null) return;
    this.#ringer.stop();
    this.#change({ phase: 'connecting' });
    const stream = await this.#microphone.open();
    // The caller may have cancelled in the meantime.
    if (this.#call !== call) return;
    if (stream !== null) this.#connection?.answer(call.session, stream);
    else {
      this.#change({ phase: 'incoming' });
      this.#ringer.ring('incoming');
    }
  }

  /** Ends the call, or declines it if it is still ringing. */
  hangUp(outcome: Outcome = 'callOver'): void {
    const { call: view, connection } = this.#store.state;
    const call = this.#call;
    if (view === null) return;
    if (call === null) return this.#ended(view.peer, { outcome: 'cancelled', seconds: null, isMissed: false });
    if (connection === 'ready' || view.phase !== 'talking') return call.hangUp();
    // The page ends the call now. The other side is informed after the connection returns.
    call.mute(true);
    this.#callToEnd = call;
    this.#call = null;
    const seconds = Math.round((Date.now() - view.since) / 1000);
    this.#ended(view.peer, { outcome, seconds, isMissed: false });
  }

  toggleMute(): void {
    this.#call?.mute(this.#store.state.call?.isMuted !== true);
  }

  toggleHold(): void {
    this.#call?.hold(this.#store.state.call?.isHeld !== true);
  }

  sendKey(key: string): void {
    const view = this.#store.state.call;
    if (view?.phase !== 'talking' || this.#call === null) return;
    this.#call.sendKey(key);
    this.#change({ digits: `${view.digits}${key}`.slice(-40) });
  }

  clearMissed(): void {
    this.#store.set({ missed: [] });
  }

  /** Starts playback that the browser blocked. */
  playSound(): void {
    this.#audio.resume();
  }

  async setMicrophone(id: string): Promise<void> {
    await this.#microphone.select(id, this.#store.state.call?.phase === 'talking' ? this.#call : null);
  }

  async setSpeaker(speakerId: string): Promise<void> {
    this.#store.set({ speakerId });
    await this.#ringer.setSpeaker(speakerId);
    await this.#audio.setSpeaker(speakerId).catch(() => this.#store.set({ speakerId: '' }));
  }

  #connect({ email }: SignedInUser, { domain, user }: Account): void {
    this.#connection = new SipConnection({
      domain,
      user,
      displayName: email,
      onReady: () => this.#ready(),
      onLost: () => this.#store.set({ connection: 'lost' }),
      onEnd: (problem) => this.#connectionEnded(problem),
      onIncoming: (session, caller) => this.#incoming(session, caller),
    });
    this.#connection.start();
  }

  #ready(): void {
    const isBack = this.#store.state.connection === 'lost';
    this.#store.set({ connection: 'ready', problem: null });
    this.#callToEnd?.hangUp();
    this.#callToEnd = null;
    if (isBack) this.#call?.restartIce();
  }

  #connectionEnded(problem: Problem): void {
    this.#connection = null;
    this.#store.set({ connection: 'lost' });
    this.#showProblem(problem);
  }

  #showProblem(problem: Problem): void {
    this.#store.set({ problem });
    if (problem === 'unreachable') this.#timer = setTimeout(() => background(this.start()), retryMs);
  }

  #incoming(session: RTCSession, { user, displayName }: { user: string; displayName: string }): void {
    const peer = peerOf(user, displayName, this.#store.state.colleagues);
    if (this.#store.state.call !== null) {
      session.terminate({ status_code: 486, reason_phrase: 'Busy Here' });
      this.#missed(peer);
      return;
    }
    this.#show('inbound', peer, 'incoming');
    this.#ringer.ring('incoming');
    this.#attach(session, peer);
  }

  #dialPeer(connection: SipConnection, peer: Peer, user: string, stream: MediaStream, isRetry = false): void {
    const call = this.#attach(connection.call(user, stream), peer, () => {
      const isCurrent = this.#call === call;
      if (isCurrent && !isRetry) this.#dialPeer(connection, peer, user, stream, true);
      // The browser produced no offer twice, so the user did not cancel: the call failed.
      if (isCurrent && isRetry) this.#ended(peer, { outcome: 'callFailed', seconds: null, isMissed: false });
      call.hangUp();
    });
  }

  #attach(session: RTCSession, peer: Peer, onInviteTimeout = ignore): Call {
    const call: Call = new Call({
      session,
      onInviteTimeout,
      onChange: (change) => {
        if (this.#call !== call) return;
        if (change.phase === 'talking') this.#ringer.stop();
        this.#change(change);
      },
      onRemoteAudio: (stream) => this.#call === call && this.#audio.play(stream),
      onLevels: ({ microphone, answer }) => {
        this.levels.microphone(microphone);
        this.levels.answer(answer);
      },
      onOutageTimeout: () => this.#call === call && this.hangUp('connectionBroken'),
      onEnd: (ended) => {
        if (this.#call === call) this.#ended(peer, ended);
        if (this.#callToEnd === call) this.#callToEnd = null;
      },
    });
    this.#call = call;
    return call;
  }

  #ended(peer: Peer, { outcome, seconds, isMissed }: EndedCall): void {
    const called = this.#store.state.call?.direction === 'outbound' && seconds === null ? peer.user : null;
    const last = { peer, outcome: shownOutcome(outcome, called), seconds };
    this.#call = null;
    this.#ringer.stop();
    this.#audio.close();
    this.#store.set({ call: null, last: isMissed ? null : last });
    if (isMissed) this.#missed(peer);
    setTimeout(() => background(this.readCalls()), recordDelayMs);
  }

  #missed(peer: Peer): void {
    this.#store.set({ missed: addMissedCall(this.#store.state.missed, peer) });
  }

  #show(direction: CallView['direction'], peer: Peer, phase: CallView['phase']): void {
    const initial = {
      since: 0,
      isMuted: false,
      isHeld: false,
      isHeldByOther: false,
      isBroken: false,
      digits: '',
      quality: null,
    };
    this.#store.set({ call: { direction, peer, phase, ...initial }, last: null, microphoneProblem: null });
  }

  #change(change: Partial<CallView>): void {
    const { call } = this.#store.state;
    if (call !== null) this.#store.set({ call: { ...call, ...change } });
  }
}

function ignore(): void {
  // The page has not set a listener.
}
