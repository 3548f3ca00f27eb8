import type { VoiceFrame } from '../../../shared/contract/ai/voice.ts';
import type { LevelListeners } from '../kit/level.tsx';
import { fromBase64, toBase64 } from './base64.ts';
import { Connection } from './connection.ts';
import { readDevices } from './devices.ts';
import { problemOf, readSignedInUser } from './hub.ts';
import type { Problem } from './hub.ts';
import { MicrophoneCapture } from './microphone-capture.ts';
import { canChooseSpeaker, Player } from './player.ts';
import { canInterrupt, configOf } from './state.ts';
import type { VoiceStore } from './state.ts';
import { changeTurn, endOpenTurns, markInterrupted, applyFrame } from './turns.ts';
import type { Turn } from './turns.ts';

/** More silence than ends what is said, in seconds. */
const trailingSilenceSeconds = 1;

export interface VoiceSessionOptions {
  store: VoiceStore;
  processorUrl: string;
}

/** An answer of which nothing came for so long is none, in milliseconds: the hub gives up sooner. */
const replyTimeoutMs = 30_000;

/** The talk with the assistant: microphone, connection, loudspeaker, and the store that the page shows. */
export class VoiceSession {
  readonly #store: VoiceStore;
  readonly #connection: Connection;
  readonly #capture: MicrophoneCapture;
  readonly #player: Player;
  /** How loud microphone and answer are. */
  readonly levels: LevelListeners = { microphone: ignore, answer: ignore };
  #sentConfig = '';
  /** When what was said last ended; null once its answer is heard, or where the hub finds the end. */
  #inputEndedAt: number | null = null;
  #replyTimer: ReturnType<typeof setTimeout> | undefined;
  /** What was written and nothing came back of yet; empty for nothing. */
  #pendingText = '';

  constructor({ store, processorUrl }: VoiceSessionOptions) {
    this.#store = store;
    this.#connection = new Connection({
      onOpen: () => this.#onOpen(),
      onFrame: (frame) => this.#onFrame(frame),
      onLost: () => this.#onLost(),
      onBusy: () => this.#onBusy(),
      onEnd: (problem) => this.#onEnd(problem),
    });
    this.#capture = new MicrophoneCapture({
      processorUrl,
      store,
      onLevel: (level) => this.levels.microphone(level),
      onUtterance: (pcm, sampleRate) => this.#sendUtterance(pcm, sampleRate),
      onBlock: (pcm, sampleRate) => this.#sendBlock(pcm, sampleRate),
      onDevices: () => void this.#listDevices(),
    });
    this.#player = new Player({
      onLevel: (level) => this.levels.answer(level),
      onFirstSound: (turnId, delayMs) => this.#onFirstSound(turnId, delayMs),
      onIdle: () => store.set({ isPlaying: false }),
    });
    (navigator.mediaDevices as MediaDevices | undefined)?.addEventListener(
      'devicechange',
      () => void this.#listDevices(),
    );
  }

  /** Finds out who is signed in, and connects. */
  async start(): Promise<void> {
    const problem = await this.#loadUser();
    this.#store.set({ problem });
    if (problem !== null) return;
    this.#connection.connectNow();
    await this.#listDevices();
  }

  /** Connects again at once. */
  retry(): void {
    if (this.#store.state.signedInUser === null) void this.start();
    else {
      // Whether there is a place shows once it was asked for.
      if (this.#store.state.problem !== 'busyHub') this.#store.set({ problem: null });
      this.#connection.connectNow();
    }
  }

  /** Begins to listen for one utterance; an answer that is heard falls silent. */
  async startUtterance(): Promise<void> {
    this.interrupt();
    await this.#capture.start();
  }

  /** Sends what was heard since. */
  endUtterance(): void {
    this.#capture.endUtterance();
  }

  /** Forgets it. */
  cancelUtterance(): void {
    this.#capture.cancel();
  }

  /** Hands-free: begins and ends listening. */
  async toggleListening(): Promise<void> {
    if (!this.#store.state.isListening) {
      await this.#capture.start();
      return;
    }
    this.#capture.cancel();
    this.#endStream();
  }

  setHandsFree(isHandsFree: boolean): void {
    if (this.#store.state.isListening && !isHandsFree) this.#endStream();
    this.#capture.cancel();
    this.#store.set({ isHandsFree, notice: null });
    this.#sendConfig();
    if (isHandsFree) void this.#capture.start();
  }

  sendText(text: string): boolean {
    this.interrupt();
    this.#sendConfig();
    if (!this.#connection.send({ type: 'text', data: text })) return false;
    this.#awaitReply();
    this.#pendingText = text;
    return true;
  }

  /** Silences the answer, and has the hub end it. */
  interrupt(): void {
    const { state } = this.#store;
    if (!canInterrupt(state)) return;
    const interruptedPlayback = this.#stopPlayback();
    this.#stopAwaiting();
    // What the hub sent before it hears of it is not played, either.
    this.#store.set({ turns: markInterrupted(this.#store.state.turns) });
    this.#connection.send({
      type: 'interrupt',
      ...(interruptedPlayback === null ? {} : { data: interruptedPlayback }),
    });
  }

  setSound(isSoundOn: boolean): void {
    this.#store.set({ isSoundOn });
    if (!isSoundOn) this.#player.stop();
  }

  setSpokenLanguage(spokenLanguage: string): void {
    this.#store.set({ spokenLanguage });
    this.#sendConfig();
  }

  setVoice(voice: string): void {
    this.#store.set({ voice });
    this.#sendConfig();
  }

  async setMicrophone(microphoneId: string): Promise<void> {
    this.#store.set({ microphoneId });
    await this.#capture.reopen();
  }

  async setSpeaker(speakerId: string): Promise<void> {
    this.#store.set({ speakerId });
    await this.#player.setSpeaker(speakerId).catch(() => this.#store.set({ speakerId: '' }));
  }

  #onOpen(): void {
    this.#sentConfig = '';
    this.#store.set({ connection: 'open', problem: null });
    this.#sendConfig();
    if (this.#store.state.signedInUser === null) void this.#loadUser();
  }

  /** Answers why there can be no talk; null where there can. */
  async #loadUser(): Promise<Problem | null> {
    const result = await readSignedInUser();
    if (typeof result !== 'string') this.#store.set({ signedInUser: result });
    return typeof result === 'string' && result !== 'unreachable' ? result : null;
  }

  #onLost(): void {
    this.#player.stop();
    this.#stopAwaiting();
    this.#store.set({ connection: 'lost', turns: endOpenTurns(this.#store.state.turns) });
  }

  /** What the hub says of it is said by the page, in its own words. */
  #onBusy(): void {
    this.#onLost();
    this.#store.set({ problem: 'busyHub', notice: null });
  }

  #onEnd(problem: Problem): void {
    this.#onLost();
    this.#capture.close();
    this.#store.set({ problem, notice: null });
  }

  #onFrame(frame: VoiceFrame): void {
    const { state } = this.#store;
    if (frame.type === 'audio') {
      const turn = state.turns.find(({ id }) => id === frame.turnId);
      if (state.isSoundOn && turn?.isInterrupted !== true) this.#play(frame.turnId, frame.data, frame.sampleRate);
      return;
    }
    // Of a turn that fails before it began the hub does not say what it was about.
    if (frame.type === 'error' && frame.turnId !== undefined)
      this.#updateTurn(frame.turnId, ({ user }) => ({ user: user || this.#pendingText }));
    this.#stopAwaiting();
    const isPlayingTurn = frame.turnId === this.#player.nowPlaying?.turnId;
    // A new turn begins while the end of the one before, which the hub is done with, is still heard.
    const isNew = frame.type === 'text' && frame.role === 'user' && !isPlayingTurn;
    if (isNew || (frame.type === 'done' && frame.interrupted && isPlayingTurn)) this.#stopPlayback();
    this.#store.set({ turns: applyFrame(this.#store.state.turns, frame) });
    if (frame.type === 'error') this.#showFailure(frame.code, frame.turnId !== undefined);
  }

  /** Answers what was heard, and of which turn; that turn counts as interrupted from now on. */
  #stopPlayback(): { turnId: string; playedMs: number } | null {
    const playback = this.#player.nowPlaying;
    if (playback === null) return null;
    this.#player.stop();
    this.#updateTurn(playback.turnId, () => ({ isInterrupted: true }));
    return playback;
  }

  #updateTurn(turnId: string, change: (turn: Turn) => Partial<Turn>): void {
    this.#store.set({ turns: changeTurn(this.#store.state.turns, turnId, change) });
  }

  #showFailure(code: string, belongsToTurn: boolean): void {
    if (code === 'nothing_heard') this.#store.set({ notice: { kind: 'notHeard' } });
    else if (problemOf(code) === 'notConfigured') this.#store.set({ problem: 'notConfigured' });
    else if (!belongsToTurn) this.#store.set({ notice: { kind: 'hub', code } });
  }

  #play(turnId: string, data: string, sampleRate: number): void {
    this.#store.set({ isPlaying: true });
    this.#player.add(turnId, fromBase64(data), sampleRate);
  }

  #onFirstSound(turnId: string, delayMs: number): void {
    const inputEndedAt = this.#inputEndedAt;
    this.#inputEndedAt = null;
    if (inputEndedAt === null) return;
    const firstSoundMs = Math.round(performance.now() + delayMs - inputEndedAt);
    this.#updateTurn(turnId, () => ({ firstSoundMs }));
  }

  #sendUtterance(pcm: Uint8Array, sampleRate: number): void {
    this.#sendConfig(sampleRate);
    if (this.#connection.send({ type: 'audio', data: toBase64(pcm) })) this.#awaitReply();
    else this.#store.set({ notice: { kind: 'failed' } });
  }

  #sendBlock(pcm: Uint8Array, sampleRate: number): void {
    this.#sendConfig(sampleRate);
    this.#connection.send({ type: 'audio', data: toBase64(pcm) });
  }

  /** The hub hears the end of what is being said by the silence after it. */
  #endStream(): void {
    this.#sendBlock(
      new Uint8Array(Math.round(this.#capture.sampleRate * trailingSilenceSeconds) * 2),
      this.#capture.sampleRate,
    );
  }

  #sendConfig(sampleRate = this.#capture.sampleRate): void {
    const data = configOf(this.#store.state, sampleRate);
    const text = JSON.stringify(data);
    if (text !== this.#sentConfig && this.#connection.send({ type: 'config', data })) this.#sentConfig = text;
  }

  #awaitReply(): void {
    this.#inputEndedAt = performance.now();
    clearTimeout(this.#replyTimer);
    this.#replyTimer = setTimeout(() => {
      this.#stopAwaiting();
      this.#store.set({ notice: { kind: 'failed' } });
    }, replyTimeoutMs);
    const { problem } = this.#store.state;
    this.#store.set({ isAwaitingReply: true, notice: null, problem: problem === 'notConfigured' ? null : problem });
  }

  #stopAwaiting(): void {
    clearTimeout(this.#replyTimer);
    this.#pendingText = '';
    if (this.#store.state.isAwaitingReply) this.#store.set({ isAwaitingReply: false });
  }

  async #listDevices(): Promise<void> {
    const { microphones, speakers } = await readDevices();
    this.#store.set({ microphones, speakers: canChooseSpeaker() ? speakers : [] });
  }
}

function ignore(): void {
  // Nobody looks.
}
