import type { VoiceFrame } from '../../../shared/contract/ai/voice.ts';
import { background } from '../../../shared/web/background.ts';
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

/** Silence sent after the user stops listening: more than the hub needs to detect the end of speech. */
const trailingSilenceSeconds = 1;

export interface VoiceSessionOptions {
  store: VoiceStore;
  processorUrl: string;
}

/** An answer without any frame within this time counts as failed. The hub gives up sooner. */
const replyTimeoutMs = 30_000;

/**
 * A voice conversation with the assistant: connects microphone, hub connection and playback to the store that the page
 * shows.
 */
export class VoiceSession {
  readonly #store: VoiceStore;
  readonly #connection: Connection;
  readonly #capture: MicrophoneCapture;
  readonly #player: Player;
  /** Callbacks for the levels of the microphone and the answer. */
  readonly levels: LevelListeners = { microphone: ignore, answer: ignore };
  #sentConfig = '';
  /** Whether the hub said at the start of this connection that the model or text-to-speech is missing. */
  #hasFailedAtStart = false;
  /** When the latest input ended. Null once its answer plays, and in hands-free mode, where the hub detects the end. */
  #inputEndedAt: number | null = null;
  #replyTimer: ReturnType<typeof setTimeout> | undefined;
  /** The written input that has no frame yet; empty for none. */
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
      onDevices: () => background(this.#listDevices()),
    });
    this.#player = new Player({
      onLevel: (level) => this.levels.answer(level),
      onFirstSound: (turnId, delayMs) => this.#onFirstSound(turnId, delayMs),
      onIdle: () => store.set({ isPlaying: false }),
    });
    (navigator.mediaDevices as MediaDevices | undefined)?.addEventListener('devicechange', () =>
      background(this.#listDevices()),
    );
  }

  /** Reads the signed-in user and connects. */
  async start(): Promise<void> {
    const problem = await this.#loadUser();
    this.#store.set({ problem });
    if (problem !== null) return;
    this.#connection.connectNow();
    await this.#listDevices();
  }

  /** Reconnects now. */
  retry(): void {
    if (this.#store.state.signedInUser === null) background(this.start());
    else if (this.#store.state.problem === 'notConfigured') {
      this.#store.set({ problem: null });
      // The hub checks its configuration when a connection opens. A new connection forgets the conversation.
      if (this.#hasFailedAtStart) this.#connection.reconnect();
    } else {
      // The problem of the session limit stays until a connection is accepted.
      if (this.#store.state.problem !== 'busyHub') this.#store.set({ problem: null });
      this.#connection.connectNow();
    }
  }

  /** Starts recording one utterance and stops a playing answer. */
  async startUtterance(): Promise<void> {
    this.interrupt();
    await this.#capture.start();
  }

  /** Sends the recorded utterance. */
  endUtterance(): void {
    this.#capture.endUtterance();
  }

  /** Discards the recorded utterance. */
  cancelUtterance(): void {
    this.#capture.cancel();
  }

  /** Starts or stops listening in hands-free mode. */
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
    if (isHandsFree) background(this.#capture.start());
  }

  sendText(text: string): boolean {
    this.interrupt();
    this.#sendConfig();
    if (!this.#connection.send({ type: 'text', data: text })) return false;
    this.#awaitReply();
    this.#pendingText = text;
    return true;
  }

  /** Stops the answer here and in the hub. */
  interrupt(): void {
    const { state } = this.#store;
    if (!canInterrupt(state)) return;
    const interruptedPlayback = this.#stopPlayback();
    this.#stopAwaiting();
    // Audio that the hub sends before it handles the interruption is not played either.
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
    this.#hasFailedAtStart = false;
    this.#store.set({ connection: 'open', problem: null });
    this.#sendConfig();
    if (this.#store.state.signedInUser === null) background(this.#loadUser());
  }

  /** Reads the signed-in user. Returns why voice is unavailable, or null. */
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

  /** The page shows its own text instead of the hub's error message. */
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
    // The hub sends no input text for a turn that fails before it starts.
    if (frame.type === 'error' && frame.turnId !== undefined)
      this.#updateTurn(frame.turnId, ({ user }) => ({ user: user || this.#pendingText }));
    this.#stopAwaiting();
    const isPlayingTurn = frame.turnId === this.#player.nowPlaying?.turnId;
    // A new turn can start while the audio of the previous, completed turn is still playing.
    const isNew = frame.type === 'text' && frame.role === 'user' && !isPlayingTurn;
    if (isNew || (frame.type === 'done' && frame.interrupted && isPlayingTurn)) this.#stopPlayback();
    this.#store.set({ turns: applyFrame(this.#store.state.turns, frame) });
    if (frame.type === 'error') this.#showFailure(frame.code, frame.turnId !== undefined);
  }

  /** Stops playback, marks the playing turn as interrupted and returns how much of it was played. */
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
    else if (problemOf(code) === 'notConfigured') {
      this.#hasFailedAtStart ||= !belongsToTurn;
      this.#store.set({ problem: 'notConfigured' });
    } else if (!belongsToTurn) this.#store.set({ notice: { kind: 'hub', code } });
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

  /** Sends silence, so that the hub detects the end of the speech. */
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
  // Replaced by the parts that show the levels.
}
