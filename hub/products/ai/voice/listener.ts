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

/** The operations of a conversation that its listener calls. */
export interface ListenerHost {
  readonly clock: Clock;
  readonly config: VoiceConfig;
  readonly speechToText: SpeechToText | null;
  /** Aborts when the connection of the page is closed. */
  readonly closed: AbortSignal;
  /** Authenticates the caller again and counts one request. @throws AppError if another request is not allowed. */
  authorize(): Promise<unknown>;
  /** Whether the hub is speaking or prepares an answer. */
  isSpeaking(): boolean;
  /** Stops the speech of the hub, because the user speaks. */
  interruptSpeech(): void;
  /** Announces a new turn to the page. @returns its id. */
  announceTurn(): string;
  /** Sends the transcript so far to the page. */
  sendPartial(turnId: string, text: string): void;
  /** Enqueues an utterance for an answer. @param turnId The id of the announced turn, or null. */
  enqueue(input: TurnInput, inputAt: number, turnId: string | null): void;
  /**
   * Reserves the next position in the order of utterances for a short aside.
   * @returns a function that enqueues the aside at this position, once its text is known.
   */
  reservePosition(): (text: string, inputAt: number) => void;
  /** Reports a back channel for the metrics. */
  onBackChannel(): void;
  fail(error: unknown): void;
}

/** Length of a voice over the hub's speech after which its text is checked for a back channel, such as `mhm`. */
const backChannelCheckMs = 500;
/** A longer voice over the hub's speech is not a back channel and interrupts the speech. */
const maxBackChannelMs = 1_300;
/** Short asides over the hub's speech that may be transcribed at the same time. Further asides are dropped. */
const maxPendingAsides = 2;
/**
 * Minimum interval between two partial transcripts, both in length of sound and in real time, because sound may arrive
 * faster than it was spoken.
 */
const partialIntervalMs = 900;
/** A partial transcript covers only this last part of an utterance. */
const partialWindowMs = 15_000;

interface Utterance {
  /** Null while it is not known whether the utterance starts a turn. */
  turnId: string | null;
  partial: AbortController | null;
  transcribedMs: number;
  /** Clock time of the next partial transcript. */
  nextPartialAt: number;
}

/**
 * Finds utterances in the sound stream of a page and decides whether they start a turn or interrupt the hub's speech.
 */
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

  /** The announced turn of the current utterance, or null. */
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

  /** Discards the current utterance. */
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

  /** Transcribes the utterance so far. At most one partial transcript is in progress. */
  #transcribePartial(utterance: Utterance, voicedMs: number, onText: (text: string) => void): void {
    const { speechToText } = this.#host;
    const now = this.#host.clock.now();
    if (speechToText === null || utterance.partial !== null || now < utterance.nextPartialAt) return;
    const partial = new AbortController();
    utterance.partial = partial;
    utterance.transcribedMs = voicedMs;
    utterance.nextPartialAt = now + partialIntervalMs;
    this.#transcribe(speechToText, this.#detector.lastPcm(partialWindowMs), partial.signal).then(
      (text) => {
        utterance.partial = null;
        if (this.#utterance === utterance) onText(text);
      },
      // A failed partial transcript is ignored. The utterance is transcribed again when it ends.
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
    // A short aside while the hub speaks. Its text decides whether the speech continues.
    if (this.#pendingAsides < maxPendingAsides)
      this.#transcribeAside(speechToText, pcm, inputAt).catch((error: unknown) => {
        if (!this.#host.closed.aborted) this.#host.fail(error);
      });
  }

  async #transcribeAside(speechToText: SpeechToText, pcm: Uint8Array, inputAt: number): Promise<void> {
    this.#pendingAsides += 1;
    const enqueueAside = this.#host.reservePosition();
    try {
      const text = await this.#transcribe(speechToText, pcm, this.#host.closed);
      if (isBackChannel(text)) return this.#host.onBackChannel();
      enqueueAside(text, inputAt);
    } finally {
      this.#pendingAsides -= 1;
    }
  }
}
