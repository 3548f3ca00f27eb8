import { toSpokenText } from '../../../../shared/spoken-text.ts';
import type { FairSemaphore } from '../runs/index.ts';
import type { Speaking } from '../speak/index.ts';
import { Resampler } from '../speech/index.ts';
import type { Speech, SpeechBindings, TextToSpeech } from '../speech/index.ts';
import { requireBindings } from './bindings.ts';
import type { Bindings } from './bindings.ts';

export interface VoiceRequest {
  tenantId: string;
  text: string;
  speech: Speech | null;
  /** Sample rate of the answer, in samples per second. */
  sampleRate: number;
  /** A BCP 47 language tag. */
  locale?: string | undefined;
  signal: AbortSignal;
}

export interface VoiceAnswer {
  text: string;
  /** Signed 16 bits, little-endian, one channel. */
  pcm: Uint8Array;
}

interface Dependencies extends Pick<Bindings, 'models'> {
  /** Returns the speech bindings of a workspace. */
  speechOf: (tenantId: string) => SpeechBindings;
  speaking: Speaking;
  slots: FairSemaphore;
}

const emptyAnswer: VoiceAnswer = { text: '', pcm: new Uint8Array() };

/** Answers complete utterances: transcribes, answers and synthesises each one. */
export class VoiceAnswers {
  readonly #deps: Dependencies;

  constructor(dependencies: Dependencies) {
    this.#deps = dependencies;
  }

  /**
   * Answers one utterance. The answer is empty if the utterance has no words. Nothing is stored.
   * @throws AppError `ai_binding_not_configured` before any provider is called, `rate_limited`, `inference_failed`,
   * `speech_failed`; the reason of the signal when it aborts.
   */
  async answer({ tenantId, text, speech, sampleRate, locale: language, signal }: VoiceRequest): Promise<VoiceAnswer> {
    const hasText = text.trim() !== '';
    if (!hasText && speech === null) return emptyAnswer;
    const { speechToText, textToSpeech } = await requireBindings(
      { models: this.#deps.models, speech: this.#deps.speechOf(tenantId) },
      tenantId,
      speech !== null,
    );
    using _slot = await this.#deps.slots.acquire(tenantId, signal);
    const transcript =
      speech === null || speechToText === null
        ? ''
        : (await speechToText.transcribe({ ...speech, language, signal })).text;
    const input = [...(hasText ? [text] : []), ...(transcript === '' ? [] : [transcript])].join('\n');
    if (input === '') return emptyAnswer;
    const answer = await this.#deps.speaking.answer({ tenantId, text: input, locale: language, signal });
    return {
      text: answer,
      pcm: await speak(textToSpeech, { text: toSpokenText(answer), language, signal }, sampleRate),
    };
  }
}

async function speak(
  textToSpeech: TextToSpeech,
  request: Parameters<TextToSpeech['speak']>[0],
  sampleRate: number,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let resampler: Resampler | null = null;
  for await (const part of textToSpeech.speak(request)) {
    resampler ??= new Resampler(part.sampleRate, sampleRate);
    parts.push(resampler.push(part.pcm));
  }
  return Buffer.concat([...parts, ...(resampler === null ? [] : [resampler.end()])]);
}
