import type { VoiceFrame } from '../../../shared/contract/ai/voice.ts';
import type { LevelListeners } from '../kit/level.tsx';
import { fromBase64, toBase64 } from './base64.ts';
import { Connection } from './connection.ts';
import { readDevices } from './devices.ts';
import { Ears } from './ears.ts';
import { problemOf, readPerson } from './hub.ts';
import type { Problem } from './hub.ts';
import { canChooseSpeaker, Player } from './player.ts';
import { canInterrupt, configOf } from './state.ts';
import type { VoiceStore } from './state.ts';
import { changeTurn, cutOff, cutShort, heardFrame } from './turns.ts';
import type { Turn } from './turns.ts';

/** More silence than ends what is said, in seconds. */
const endSeconds = 1;

export interface TalkOptions {
  store: VoiceStore;
  processorUrl: string;
}

/** An answer of which nothing came for so long is none, in milliseconds: the hub gives up sooner. */
const awaitMs = 30_000;

/** The talk with the assistant: microphone, connection, loudspeaker, and the store that the page shows. */
export class Talk {
  readonly #store: VoiceStore;
  readonly #connection: Connection;
  readonly #ears: Ears;
  readonly #player: Player;
  /** How loud microphone and answer are. */
  readonly levels: LevelListeners = { microphone: ignore, answer: ignore };
  #sentConfig = '';
  /** When what was said last ended; null once its answer is heard, or where the hub finds the end. */
  #saidAt: number | null = null;
  #awaiting: ReturnType<typeof setTimeout> | undefined;
  /** What was written and nothing came back of yet; empty for nothing. */
  #typed = '';

  constructor({ store, processorUrl }: TalkOptions) {
    this.#store = store;
    this.#connection = new Connection({
      onOpen: () => this.#opened(),
      onFrame: (frame) => this.#heard(frame),
      onLost: () => this.#lost(),
      onBusy: () => this.#busy(),
      onEnd: (problem) => this.#ended(problem),
    });
    this.#ears = new Ears({
      processorUrl,
      store,
      onLevel: (level) => this.levels.microphone(level),
      onUtterance: (pcm, sampleRate) => this.#sendUtterance(pcm, sampleRate),
      onBlock: (pcm, sampleRate) => this.#sendBlock(pcm, sampleRate),
      onDevices: () => void this.#listDevices(),
    });
    this.#player = new Player({
      onLevel: (level) => this.levels.answer(level),
      onBegin: (turnId, inMs) => this.#begun(turnId, inMs),
      onIdle: () => store.set({ isPlaying: false }),
    });
    (navigator.mediaDevices as MediaDevices | undefined)?.addEventListener(
      'devicechange',
      () => void this.#listDevices(),
    );
  }

  /** Finds out who is signed in, and connects. */
  async start(): Promise<void> {
    const problem = await this.#findPerson();
    this.#store.set({ problem });
    if (problem !== null) return;
    this.#connection.again();
    await this.#listDevices();
  }

  /** Connects again at once. */
  retry(): void {
    if (this.#store.state.person === null) void this.start();
    else {
      // Whether there is a place shows once it was asked for.
      if (this.#store.state.problem !== 'busyHub') this.#store.set({ problem: null });
      this.#connection.again();
    }
  }

  /** Begins to listen for one utterance; an answer that is heard falls silent. */
  async beginUtterance(): Promise<void> {
    this.interrupt();
    await this.#ears.begin();
  }

  /** Sends what was heard since. */
  endUtterance(): void {
    this.#ears.endUtterance();
  }

  /** Forgets it. */
  cancelUtterance(): void {
    this.#ears.cancel();
  }

  /** Hands-free: begins and ends listening. */
  async toggleListening(): Promise<void> {
    if (!this.#store.state.isListening) {
      await this.#ears.begin();
      return;
    }
    this.#ears.cancel();
    this.#endStream();
  }

  setHandsFree(isHandsFree: boolean): void {
    if (this.#store.state.isListening && !isHandsFree) this.#endStream();
    this.#ears.cancel();
    this.#store.set({ isHandsFree, notice: null });
    this.#configure();
    if (isHandsFree) void this.#ears.begin();
  }

  say(text: string): boolean {
    this.interrupt();
    this.#configure();
    if (!this.#connection.send({ type: 'text', data: text })) return false;
    this.#await();
    this.#typed = text;
    return true;
  }

  /** Silences the answer, and has the hub end it. */
  interrupt(): void {
    const { state } = this.#store;
    if (!canInterrupt(state)) return;
    const heard = this.#silence();
    this.#settle();
    // What the hub sent before it hears of it is not played, either.
    this.#store.set({ turns: cutShort(this.#store.state.turns) });
    this.#connection.send({ type: 'interrupt', ...(heard === null ? {} : { data: heard }) });
  }

  setSound(isSoundOn: boolean): void {
    this.#store.set({ isSoundOn });
    if (!isSoundOn) this.#player.silence();
  }

  setTalkLanguage(talkLanguage: string): void {
    this.#store.set({ talkLanguage });
    this.#configure();
  }

  setVoice(voice: string): void {
    this.#store.set({ voice });
    this.#configure();
  }

  async setMicrophone(microphoneId: string): Promise<void> {
    this.#store.set({ microphoneId });
    await this.#ears.reopen();
  }

  async setSpeaker(speakerId: string): Promise<void> {
    this.#store.set({ speakerId });
    await this.#player.setSpeaker(speakerId).catch(() => this.#store.set({ speakerId: '' }));
  }

  #opened(): void {
    this.#sentConfig = '';
    this.#store.set({ connection: 'open', problem: null });
    this.#configure();
    if (this.#store.state.person === null) void this.#findPerson();
  }

  /** Answers why there can be no talk; null where there can. */
  async #findPerson(): Promise<Problem | null> {
    const found = await readPerson();
    if (typeof found !== 'string') this.#store.set({ person: found });
    return typeof found === 'string' && found !== 'unreachable' ? found : null;
  }

  #lost(): void {
    this.#player.silence();
    this.#settle();
    this.#store.set({ connection: 'lost', turns: cutOff(this.#store.state.turns) });
  }

  /** What the hub says of it is said by the page, in its own words. */
  #busy(): void {
    this.#lost();
    this.#store.set({ problem: 'busyHub', notice: null });
  }

  #ended(problem: Problem): void {
    this.#lost();
    this.#ears.close();
    this.#store.set({ problem, notice: null });
  }

  #heard(frame: VoiceFrame): void {
    const { state } = this.#store;
    if (frame.type === 'audio') {
      const turn = state.turns.find(({ id }) => id === frame.turnId);
      if (state.isSoundOn && turn?.isInterrupted !== true) this.#play(frame.turnId, frame.data, frame.sampleRate);
      return;
    }
    // Of a turn that fails before it began the hub does not say what it was about.
    if (frame.type === 'error' && frame.turnId !== undefined)
      this.#change(frame.turnId, ({ user }) => ({ user: user || this.#typed }));
    this.#settle();
    const isOfHeard = frame.turnId === this.#player.heard?.turnId;
    // A new turn begins while the end of the one before, which the hub is done with, is still heard.
    const isNew = frame.type === 'text' && frame.role === 'user' && !isOfHeard;
    if (isNew || (frame.type === 'done' && frame.interrupted && isOfHeard)) this.#silence();
    this.#store.set({ turns: heardFrame(this.#store.state.turns, frame) });
    if (frame.type === 'error') this.#failed(frame.code, frame.turnId !== undefined);
  }

  /** Answers what was heard, and of which turn; that turn counts as interrupted from now on. */
  #silence(): { turnId: string; playedMs: number } | null {
    const heard = this.#player.heard;
    if (heard === null) return null;
    this.#player.silence();
    this.#change(heard.turnId, () => ({ isInterrupted: true }));
    return heard;
  }

  #change(turnId: string, change: (turn: Turn) => Partial<Turn>): void {
    this.#store.set({ turns: changeTurn(this.#store.state.turns, turnId, change) });
  }

  #failed(code: string, isOfTurn: boolean): void {
    if (code === 'nothing_heard') this.#store.set({ notice: { kind: 'notHeard' } });
    else if (problemOf(code) === 'notConfigured') this.#store.set({ problem: 'notConfigured' });
    else if (!isOfTurn) this.#store.set({ notice: { kind: 'hub', code } });
  }

  #play(turnId: string, data: string, sampleRate: number): void {
    this.#store.set({ isPlaying: true });
    this.#player.add(turnId, fromBase64(data), sampleRate);
  }

  #begun(turnId: string, inMs: number): void {
    const saidAt = this.#saidAt;
    this.#saidAt = null;
    if (saidAt === null) return;
    const heardMs = Math.round(performance.now() + inMs - saidAt);
    this.#change(turnId, () => ({ heardMs }));
  }

  #sendUtterance(pcm: Uint8Array, sampleRate: number): void {
    this.#configure(sampleRate);
    if (this.#connection.send({ type: 'audio', data: toBase64(pcm) })) this.#await();
    else this.#store.set({ notice: { kind: 'failed' } });
  }

  #sendBlock(pcm: Uint8Array, sampleRate: number): void {
    this.#configure(sampleRate);
    this.#connection.send({ type: 'audio', data: toBase64(pcm) });
  }

  /** The hub hears the end of what is being said by the silence after it. */
  #endStream(): void {
    this.#sendBlock(new Uint8Array(Math.round(this.#ears.sampleRate * endSeconds) * 2), this.#ears.sampleRate);
  }

  #configure(sampleRate = this.#ears.sampleRate): void {
    const data = configOf(this.#store.state, sampleRate);
    const text = JSON.stringify(data);
    if (text !== this.#sentConfig && this.#connection.send({ type: 'config', data })) this.#sentConfig = text;
  }

  #await(): void {
    this.#saidAt = performance.now();
    clearTimeout(this.#awaiting);
    this.#awaiting = setTimeout(() => {
      this.#settle();
      this.#store.set({ notice: { kind: 'failed' } });
    }, awaitMs);
    const { problem } = this.#store.state;
    this.#store.set({ isAwaiting: true, notice: null, problem: problem === 'notConfigured' ? null : problem });
  }

  #settle(): void {
    clearTimeout(this.#awaiting);
    this.#typed = '';
    if (this.#store.state.isAwaiting) this.#store.set({ isAwaiting: false });
  }

  async #listDevices(): Promise<void> {
    const { microphones, speakers } = await readDevices();
    this.#store.set({ microphones, speakers: canChooseSpeaker() ? speakers : [] });
  }
}

function ignore(): void {
  // Nobody looks.
}
