import { maxUtteranceSeconds } from '../../../../shared/contract/ai/voice.ts';
import type { VoiceConfig } from '../../../../shared/contract/ai/voice.ts';
import type { Clock } from '../../../platform/clock.ts';
import { Resampler } from '../speech/index.ts';
import type { SoundReader, SpeechToText } from '../speech/index.ts';
import { isBackChannel } from './back-channels.ts';
import { TurnDetector } from './turn-detector.ts';
import { heardSampleRate } from './voice-activity.ts';
import type { VoiceActivity } from './voice-activity.ts';
import type { Said } from './voice-turn.ts';

/** What a listener tells of what it hears. */
export interface ListenerHost {
  readonly clock: Clock;
  readonly config: VoiceConfig;
  readonly speechToText: SpeechToText | null;
  /** Aborts when the page is gone. */
  readonly gone: AbortSignal;
  /** Counts what is asked for whoever speaks. @throws AppError where they may ask no more. */
  confirm(): Promise<unknown>;
  /** Whether the hub speaks, or is about to. */
  isSpeaking(): boolean;
  /** Has the hub fall silent: somebody else speaks. */
  silence(): void;
  /** Tells the page that a turn begins; answers its id. */
  announce(): string;
  /** What is understood so far. */
  tell(turnId: string, text: string): void;
  /** Has it answered. @param turnId of a turn that was announced. */
  take(said: Said, saidAt: number, turnId: string | null): void;
  /** Keeps the place of a short word in the order of what is said; what it answers has the word heard there, once it is understood. */
  keepPlace(): (text: string, saidAt: number) => void;
  /** Somebody only showed that they listen. */
  heardInPassing(): void;
  fail(error: unknown): void;
}

/** Of a voice over the speech of the hub, until it is looked whether it says more than `mhm`. */
const lookAfterMs = 500;
/** Nobody says `mhm` for so long. */
const surelySpeechMs = 1_300;
/** Short words over the speech of the hub that are looked at together; who says more is not heard on. */
const mostAsides = 2;
/** Between two looks at what is being said, by its sound and by the clock: sound may come faster than it was spoken. */
const partialEveryMs = 900;
/** Of an utterance, what a look is about: its end. */
const lookedAtMs = 15_000;

interface Utterance {
  /** Null while it is not known whether it begins a turn. */
  turnId: string | null;
  look: AbortController | null;
  lookedMs: number;
  /** When it may be looked at again, by the clock. */
  lookAgainAt: number;
}

/** Listens to the sound of a page as one stream, and tells who has the word. */
export class Listener {
  readonly #host: ListenerHost;
  readonly #detector: TurnDetector;
  #resampler: { from: number; resampler: Resampler } | null = null;
  #utterance: Utterance | null = null;
  #asides = 0;

  constructor(host: ListenerHost, activity: Pick<VoiceActivity, 'hears'>) {
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

  hear({ pcm, sampleRate }: NonNullable<ReturnType<SoundReader['push']>>): void {
    if (this.#resampler?.from !== sampleRate)
      this.#resampler = { from: sampleRate, resampler: new Resampler(sampleRate, heardSampleRate) };
    for (const detected of this.#detector.push(this.#resampler.resampler.push(pcm)))
      if (detected.kind === 'began') this.#begin();
      else this.#finish(detected.pcm);
    this.#goOn();
  }

  /** Forgets what is being said. */
  end(): void {
    this.#utterance?.look?.abort();
    this.#utterance = null;
  }

  #begin(): void {
    const turnId = this.#host.isSpeaking() ? null : this.#host.announce();
    this.#utterance = { turnId, look: null, lookedMs: 0, lookAgainAt: 0 };
  }

  #goOn(): void {
    const utterance = this.#utterance;
    if (utterance === null) return;
    const { voicedMs } = this.#detector;
    if (utterance.turnId === null) {
      if (voicedMs >= surelySpeechMs) this.#bargeIn(utterance);
      else if (voicedMs >= lookAfterMs && utterance.lookedMs === 0)
        this.#look(utterance, voicedMs, (text) => {
          if (!isBackChannel(text)) this.#bargeIn(utterance);
        });
      return;
    }
    const { turnId } = utterance;
    if (this.#host.config.partial && voicedMs >= utterance.lookedMs + partialEveryMs)
      this.#look(utterance, voicedMs, (text) => {
        if (text !== '') this.#host.tell(turnId, text);
      });
  }

  /** Has what was said so far written down, one look at a time. */
  #look(utterance: Utterance, voicedMs: number, told: (text: string) => void): void {
    const { speechToText } = this.#host;
    const now = this.#host.clock.now();
    if (speechToText === null || utterance.look !== null || now < utterance.lookAgainAt) return;
    const look = new AbortController();
    utterance.look = look;
    utterance.lookedMs = voicedMs;
    utterance.lookAgainAt = now + partialEveryMs;
    void this.#understand(speechToText, this.#detector.soFar(lookedAtMs), look.signal).then(
      (text) => {
        utterance.look = null;
        if (this.#utterance === utterance) told(text);
      },
      // Whoever goes on is heard to the end.
      () => {
        utterance.look = null;
      },
    );
  }

  async #understand(speechToText: SpeechToText, pcm: Uint8Array, signal: AbortSignal): Promise<string> {
    const { gone, config } = this.#host;
    await this.#host.confirm();
    const { text } = await speechToText.transcribe({
      pcm,
      sampleRate: heardSampleRate,
      language: config.language ?? undefined,
      signal: AbortSignal.any([gone, signal]),
    });
    return text.trim();
  }

  #bargeIn(utterance: Utterance): void {
    if (utterance.turnId !== null) return;
    this.#host.silence();
    utterance.turnId = this.#host.announce();
  }

  #finish(pcm: Uint8Array): void {
    const utterance = this.#utterance;
    const { clock, speechToText } = this.#host;
    const saidAt = clock.now();
    this.end();
    if (utterance === null) return;
    const speech = { pcm, sampleRate: heardSampleRate };
    if (utterance.turnId !== null || speechToText === null) {
      if (utterance.turnId === null) this.#host.silence();
      this.#host.take({ kind: 'sound', speech }, saidAt, utterance.turnId);
      return;
    }
    // It was short, and said while the hub spoke: what it is decides whether that goes on.
    if (this.#asides < mostAsides) void this.#hearAside(speechToText, pcm, saidAt);
  }

  async #hearAside(speechToText: SpeechToText, pcm: Uint8Array, saidAt: number): Promise<void> {
    this.#asides += 1;
    const hearThere = this.#host.keepPlace();
    try {
      const text = await this.#understand(speechToText, pcm, this.#host.gone);
      if (isBackChannel(text)) return this.#host.heardInPassing();
      hearThere(text, saidAt);
    } catch (error) {
      if (!this.#host.gone.aborted) this.#host.fail(error);
    } finally {
      this.#asides -= 1;
    }
  }
}
