import { speechLeadMs } from '../../../../shared/contract/ai/voice.ts';
import type { VoiceConfig, VoiceFrame, VoiceLatency } from '../../../../shared/contract/ai/voice.ts';
import { toSpokenText } from '../../../../shared/spoken-text.ts';
import { waitFor } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { InferenceMessage } from '../../../platform/inference/inference.ts';
import type { FairSemaphore } from '../runs/index.ts';
import type { Speaking } from '../speak/index.ts';
import type { Speech, TextToSpeech } from '../speech/index.ts';
import { requireBindings } from './bindings.ts';
import type { Bindings } from './bindings.ts';
import { PlayedSpeech } from './played-speech.ts';
import { readAhead } from './read-ahead.ts';
import type { ReadAhead } from './read-ahead.ts';
import type { VoiceConnection } from './voice-connection.ts';
import type { VoiceContext } from './voice-context.ts';

/** The input of a turn: typed text, sound, or the transcript of a sound. */
export type TurnInput = { kind: 'typed' | 'transcribed'; text: string } | { kind: 'sound'; speech: Speech };

/** A turn that waits for the turn before it. */
export interface PendingTurn {
  id: string;
  /** Position in the order of utterances on the connection. */
  position: number;
  input: TurnInput;
  /** Clock time at which the input was complete. */
  inputAt: number;
  /** Whether the turn was announced to the page. */
  isAnnounced: boolean;
}

export interface TurnDependencies extends Bindings {
  speaking: Pick<Speaking, 'answerAloud'>;
  slots: FairSemaphore;
  clock: Clock;
}

export interface TurnSession {
  tenantId: string;
  config: VoiceConfig;
  connection: VoiceConnection;
  context: VoiceContext;
  /** Checks that the caller may still use the connection, and counts the request. @throws AppError. */
  authorize: () => Promise<unknown>;
}

export type TurnOutcome = 'answered' | 'interrupted' | 'nothing_heard' | 'failed';

/** The end of a turn, for the metrics. `back_channel`: an utterance that only showed attention and started no turn. */
export interface TurnEnd {
  outcome: TurnOutcome | 'back_channel';
  latencyMs: Partial<VoiceLatency>;
}

/** Maximum bytes of sound in one frame. */
const maxPieceBytes = 24 * 1024;

/** By default no transcript is sent, because clients of the original specification treat every `text` as the answer. */
const sendsTranscript = ({ transcript, turnDetection }: VoiceConfig) =>
  transcript || turnDetection.type === 'server_vad';

/** Releases the slot when the text of the answer is complete, even if the answer is still being spoken. */
async function* releaseAtEnd(slot: Disposable, sentences: AsyncIterable<string>): AsyncGenerator<string> {
  using _slot = slot;
  yield* sentences;
}

/**
 * One question and its spoken answer. A turn ends once, by itself or by an interruption, and sends nothing afterwards.
 */
export class VoiceTurn {
  readonly id: string;
  readonly position: number;
  readonly latencyMs: Partial<VoiceLatency> = {};
  readonly #deps: TurnDependencies;
  readonly #session: TurnSession;
  readonly #pending: PendingTurn;
  readonly #stop = new AbortController();
  readonly #played = new PlayedSpeech();
  #transcribedAt: number | null;
  #firstTextAt: number | null = null;
  #firstAudioAt: number | null = null;
  #answer: InferenceMessage | null = null;
  #isAnnounced: boolean;
  #hasText = false;
  #hasEnded = false;

  constructor(dependencies: TurnDependencies, session: TurnSession, pending: PendingTurn) {
    this.id = pending.id;
    this.position = pending.position;
    this.#deps = dependencies;
    this.#session = session;
    this.#pending = pending;
    this.#isAnnounced = pending.isAnnounced;
    const { kind } = pending.input;
    this.#transcribedAt = kind === 'typed' ? pending.inputAt : kind === 'transcribed' ? dependencies.clock.now() : null;
  }

  /** Whether the input is known to contain text. */
  get hasText(): boolean {
    return this.#hasText;
  }

  /** Whether the answer is being prepared, sent or played. */
  get isSpeaking(): boolean {
    return !this.#hasEnded || this.#deps.clock.now() < this.#played.endsAt;
  }

  /** Runs the turn. It never throws: failures are sent to the page. */
  async run(): Promise<TurnOutcome> {
    const { connection, authorize } = this.#session;
    try {
      const [{ textToSpeech }] = await Promise.all([
        requireBindings(this.#deps, this.#session.tenantId, this.#pending.input.kind === 'sound'),
        authorize(),
      ]);
      const text = await this.#transcribe();
      if (this.#hasEnded) return 'interrupted';
      if (text === '') {
        this.#end(false);
        return 'nothing_heard';
      }
      this.#isAnnounced = true;
      this.#hasText = true;
      if (sendsTranscript(this.#session.config))
        this.#send({ type: 'text', turnId: this.id, role: 'user', data: text, final: true });
      await this.#speak(text, textToSpeech);
      this.#end(false);
      return 'answered';
    } catch (error) {
      if (this.#hasEnded) return 'interrupted';
      connection.fail(error, this.id);
      this.#truncateToHeard(this.#played.playedMs(this.#played.endsAt));
      this.#isAnnounced = true;
      this.#end(false);
      return 'failed';
    }
  }

  /**
   * Ends the turn immediately: aborts its provider calls and sends nothing more. If the turn has already ended, only its
   * answer in the context is cut to the part that was heard.
   * @param playedMs The duration of speech that was played. By default the maximum that can have been played.
   */
  interrupt(playedMs?: number): void {
    const now = this.#deps.clock.now();
    if (this.#hasEnded && playedMs === undefined && now >= this.#played.endsAt) return;
    this.#played.stop(now);
    this.#truncateToHeard(playedMs ?? this.#played.playedMs(now));
    this.#isAnnounced = true;
    this.#end(true);
  }

  /** Ends the turn without sending anything, because the connection is closed. */
  abandon(): void {
    this.#hasEnded = true;
    this.#stop.abort();
  }

  #truncateToHeard(playedMs: number): void {
    if (this.#answer !== null) this.#answer.content = this.#played.textUntil(playedMs);
  }

  #end(interrupted: boolean): void {
    if (this.#hasEnded) return;
    const now = this.#deps.clock.now();
    const { inputAt } = this.#pending;
    const since = (from: number | null, to: number | null) =>
      from === null || to === null ? undefined : Math.max(0, Math.round(to - from));
    const stages = {
      transcribe: this.#pending.input.kind === 'typed' ? undefined : since(inputAt, this.#transcribedAt),
      firstText: since(this.#transcribedAt, this.#firstTextAt),
      firstAudio: since(this.#firstTextAt, this.#firstAudioAt),
      toFirstAudio: since(inputAt, this.#firstAudioAt),
    };
    for (const [stage, ms] of Object.entries(stages) as [keyof typeof stages, number | undefined][])
      if (ms !== undefined) this.latencyMs[stage] = ms;
    const total = since(inputAt, now) as number;
    this.latencyMs.total = total;
    if (this.#isAnnounced)
      this.#send({ type: 'done', turnId: this.id, done: true, latencyMs: { ...this.latencyMs, total }, interrupted });
    this.#hasEnded = true;
    this.#stop.abort();
  }

  #send(frame: VoiceFrame): void {
    if (!this.#hasEnded) this.#session.connection.send(frame);
  }

  async #transcribe(): Promise<string> {
    const { input } = this.#pending;
    const { language } = this.#session.config;
    if (input.kind !== 'sound') return input.text.trim();
    const transcription = await this.#deps.speech.speechToText?.transcribe({
      ...input.speech,
      language: language ?? undefined,
      signal: this.#stop.signal,
    });
    this.#transcribedAt = this.#deps.clock.now();
    return transcription?.text.trim() ?? '';
  }

  async #speak(text: string, textToSpeech: TextToSpeech): Promise<void> {
    const { speaking, slots, clock } = this.#deps;
    const { tenantId, config, context } = this.#session;
    const { signal } = this.#stop;
    const turns = context.turns;
    context.add('user', text);
    const slot = await slots.acquire(tenantId, signal);
    const locale = config.language ?? undefined;
    const sentences = readAhead(releaseAtEnd(slot, speaking.answerAloud({ tenantId, text, turns, locale, signal })));
    const answer = context.add('assistant', '');
    this.#answer = answer;
    let upcoming = this.#prepare(sentences, textToSpeech);
    for (let current = await upcoming; current !== null; current = await upcoming) {
      this.#firstTextAt ??= clock.now();
      // Synthesise the next sentence while this one is sent.
      upcoming = this.#prepare(sentences, textToSpeech);
      upcoming.catch(() => undefined);
      this.#played.beginSentence(current.text);
      answer.content += current.text;
      this.#send({ type: 'text', turnId: this.id, role: 'assistant', data: current.text });
      await this.#sendSound(current.sound);
      this.#played.endSentence();
    }
    answer.content = answer.content.trim();
  }

  async #prepare(
    sentences: ReadAhead<string>,
    textToSpeech: TextToSpeech,
  ): Promise<{ text: string; sound: ReadAhead<Speech> } | null> {
    const { language, voice } = this.#session.config;
    const text = await sentences.next();
    if (text === null) return null;
    const { signal } = this.#stop;
    return {
      text,
      sound: readAhead(
        textToSpeech.speak({
          text: toSpokenText(text),
          language: language ?? undefined,
          voice: voice ?? undefined,
          signal,
        }),
      ),
    };
  }

  async #sendSound(sound: ReadAhead<Speech>): Promise<void> {
    const { clock } = this.#deps;
    const { connection } = this.#session;
    const { signal } = this.#stop;
    for (let part = await sound.next(); part !== null; part = await sound.next()) {
      for (let at = 0; at < part.pcm.length; at += maxPieceBytes) {
        const piece = part.pcm.subarray(at, at + maxPieceBytes);
        await connection.waitUntilDrained(signal);
        const aheadMs = this.#played.endsAt - clock.now() - speechLeadMs;
        if (aheadMs > 0) await waitFor(clock, aheadMs, signal);
        signal.throwIfAborted();
        const now = clock.now();
        this.#firstAudioAt ??= now;
        this.#send({
          type: 'audio',
          turnId: this.id,
          data: Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength).toString('base64'),
          sampleRate: part.sampleRate,
        });
        this.#played.add((piece.length / 2 / part.sampleRate) * 1_000, now);
      }
    }
  }
}
