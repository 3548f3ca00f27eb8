import { maxUtteranceSeconds } from '../../../../shared/contract/ai/voice.ts';
import type { VoiceConfig } from '../../../../shared/contract/ai/voice.ts';
import type { Clock } from '../../../platform/clock.ts';
import { Resampler } from '../speech/index.ts';
import type { SoundReader, SpeechToText } from '../speech/index.ts';
import { isBackChannel } from './back-channels.ts';
import { TurnDetector } from './turn-detector.ts';
import { analysisSampleRate } from './voice-activity.ts';
import type { VoiceActivity } from './voice-activity.ts';
import type { TurnInput } from './voice-turn.ts';

/** What a listener tells of what it hears. */
export interface ListenerHost {
  readonly clock: Clock;
  readonly config: VoiceConfig;
  readonly speechToText: SpeechToText | null;
  /** Aborts when the page is gone. */
  readonly closed: AbortSignal;
  /** Counts what is asked for whoever speaks. @throws AppError where they may ask no more. */
  authorize(): Promise<unknown>;
  /** Whether the hub speaks, or is about to. */
  isSpeaking(): boolean;
  /** Has the hub fall silent: somebody else speaks. */
  interruptSpeech(): void;
  /** Tells the page that a turn begins; answers its id. */
  announceTurn(): string;
  /** What is understood so far. */
  sendPartial(turnId: string, text: string): void;
  /** Has it answered. @param turnId of a turn that was announced. */
  enqueue(input: TurnInput, inputAt: number, turnId: string | null): void;
  /** Keeps the place of a short word in the order of what is said; what it answers has the word heard there, once it is understood. */
  reservePosition(): (text: string, inputAt: number) => void;
  /** Somebody only showed that they listen. */
  onBackChannel(): void;
  fail(error: unknown): void;
}

/** Of a voice over the speech of the hub, until it is looked whether it says more than `mhm`. */
const backChannelCheckMs = 500;
/** Nobody says `mhm` for so long. */
const maxBackChannelMs = 1_300;
/** Short words over the speech of the hub that are looked at together; who says more is not heard on. */
const maxPendingAsides = 2;
/** Between two looks at what is being said, by its sound and by the clock: sound may come faster than it was spoken. */
const partialIntervalMs = 900;
/** Of an utterance, what a look is about: its end. */
const partialWindowMs = 15_000;

interface Utterance {
  /** Null while it is not known whether it begins a turn. */
  turnId: string | null;
  partial: AbortController | null;
  transcribedMs: number;
  /** When it may be looked at again, by the clock. */
  nextPartialAt: number;
}

/** Listens to the sound of a page as one stream, and tells who has the word. */
export class SpeechListener {
  readonly #host: ListenerHost;
  readonly #detector: TurnDetector;
  #resampler: { from: number; resampler: Resampler } | null = null;
  #utterance: Utterance | null = null;
  #pendingAsides = 0;

  constructor(host: ListenerHost, activity: Pick<VoiceActivity, 'isVoice'>) {
    this.#host = host;
    const { silenceMs, minSpeechMs } = host.config.turnDetection;
    this.#detector = new TurnDetector(activity, {
      silenceMs,
      minSpeechMs,
      maxUtteranceMs: maxUtteranceSeconds * 1_000,
    });
  }

  /** The turn that somebody is about to begin; null for none. */
  get turnId(): string | null {
    return this.#utterance?.turnId ?? null;
  }

  push({ pcm, sampleRate }: NonNullable<ReturnType<SoundReader['push']>>): void {
    if (this.#resampler?.from !== sampleRate)
      this.#resampler = { from: sampleRate, resampler: new Resampler(sampleRate, analysisSampleRate) };
    for (const detected of this.#detector.push(this.#resampler.resampler.push(pcm)))
      if (detected.kind === 'began') this.#begin();
      else this.#finish(detected.pcm);
    this.#evaluate();
  }

  /** Forgets what is being said. */
  discard(): void {
    this.#utterance?.partial?.abort();
    this.#utterance = null;
  }

  #begin(): void {
    const turnId = this.#host.isSpeaking() ? null : this.#host.announceTurn();
    this.#utterance = { turnId, partial: null, transcribedMs: 0, nextPartialAt: 0 };
  }

  #evaluate(): void {
    const utterance = this.#utterance;
    if (utterance === null) return;
    const { voicedMs } = this.#detector;
    if (utterance.turnId === null) {
      if (voicedMs >= maxBackChannelMs) this.#bargeIn(utterance);
      else if (voicedMs >= backChannelCheckMs && utterance.transcribedMs === 0)
        this.#transcribePartial(utterance, voicedMs, (text) => {
          if (!isBackChannel(text)) this.#bargeIn(utterance);
        });
      return;
    }
    const { turnId } = utterance;
    if (this.#host.config.partial && voicedMs >= utterance.transcribedMs + partialIntervalMs)
      this.#transcribePartial(utterance, voicedMs, (text) => {
        if (text !== '') this.#host.sendPartial(turnId, text);
      });
  }

  /** Has what was said so far written down, one look at a time. */
  #transcribePartial(utterance: Utterance, voicedMs: number, onText: (text: string) => void): void {
    const { speechToText } = this.#host;
    const now = this.#host.clock.now();
    if (speechToText === null || utterance.partial !== null || now < utterance.nextPartialAt) return;
    const partial = new AbortController();
    utterance.partial = partial;
    utterance.transcribedMs = voicedMs;
    utterance.nextPartialAt = now + partialIntervalMs;
    void this.#transcribe(speechToText, this.#detector.lastPcm(partialWindowMs), partial.signal).then(
      (text) => {
        utterance.partial = null;
        if (this.#utterance === utterance) onText(text);
      },
      // Whoever goes on is heard to the end.
      () => {
        utterance.partial = null;
      },
    );
  }

  async #transcribe(speechToText: SpeechToText, pcm: Uint8Array, signal: AbortSignal): Promise<string> {
    const { closed, config } = this.#host;
    await this.#host.authorize();
    const { text } = await speechToText.transcribe({
      pcm,
      sampleRate: analysisSampleRate,
      language: config.language ?? undefined,
      signal: AbortSignal.any([closed, signal]),
    });
    return text.trim();
  }

  #bargeIn(utterance: Utterance): void {
    if (utterance.turnId !== null) return;
    this.#host.interruptSpeech();
    utterance.turnId = this.#host.announceTurn();
  }

  #finish(pcm: Uint8Array): void {
    const utterance = this.#utterance;
    const { clock, speechToText } = this.#host;
    const inputAt = clock.now();
    this.discard();
    if (utterance === null) return;
    const speech = { pcm, sampleRate: analysisSampleRate };
    if (utterance.turnId !== null || speechToText === null) {
      if (utterance.turnId === null) this.#host.interruptSpeech();
      this.#host.enqueue({ kind: 'sound', speech }, inputAt, utterance.turnId);
      return;
    }
    // It was short, and said while the hub spoke: what it is decides whether that goes on.
    if (this.#pendingAsides < maxPendingAsides) void this.#transcribeAside(speechToText, pcm, inputAt);
  }

  async #transcribeAside(speechToText: SpeechToText, pcm: Uint8Array, inputAt: number): Promise<void> {
    this.#pendingAsides += 1;
    const enqueueAside = this.#host.reservePosition();
    try {
      const text = await this.#transcribe(speechToText, pcm, this.#host.closed);
      if (isBackChannel(text)) return this.#host.onBackChannel();
      enqueueAside(text, inputAt);
    } catch (error) {
      if (!this.#host.closed.aborted) this.#host.fail(error);
    } finally {
      this.#pendingAsides -= 1;
    }
  }
}
