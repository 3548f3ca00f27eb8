import type { Egress } from '../../../platform/egress/egress.ts';
import { SpeechFailed } from './failure.ts';
import { callModel } from './http.ts';
import type { HttpBinding } from './http.ts';
import { withRetry } from './retry.ts';
import type { SpeechOptions } from './retry.ts';
import { splitSentences, hasSpeakableText } from './sentences.ts';
import { SoundReader, UnreadableSound } from './sound.ts';
import type { SpeakRequest, Speech, TextToSpeech } from './speech.ts';

const stage = 'text_to_speech';
const budgetMs = 30_000;
const firstByteMs = 8_000;
const maxSoundBytes = 32 * 1024 * 1024;
/** The protocol allows 4,096 characters. */
const maxInputLength = 2_000;
/** Sample rate of PCM without a header and without a declared rate, by the protocol. */
const rawSampleRate = 24_000;

/**
 * Text-to-speech by `/audio/speech` of the OpenAI protocol. It requests PCM and also accepts WAV.
 * @param binding The model and its default voice.
 */
export function createOpenAiVoice(
  egress: Egress,
  binding: HttpBinding & { voice: string },
  options: SpeechOptions,
): TextToSpeech {
  return {
    async *speak(request) {
      const { signal } = request;
      signal.throwIfAborted();
      const endsAt = options.clock.now() + budgetMs;
      for (const text of splitInputs(request)) {
        const left = { ...options, stage, budgetMs: endsAt - options.clock.now(), signal } as const;
        yield* withRetry(left, (leftMs) => speakOnce(egress, binding, { ...request, text }, leftMs));
      }
    },
  };
}

/** Splits a text into inputs of whole sentences, each up to `maxInputLength`. */
function splitInputs({ text, language }: SpeakRequest): string[] {
  const inputs: string[] = [];
  for (const sentence of splitSentences(text, language)) {
    const last = inputs.length - 1;
    if (last >= 0 && (inputs[last] ?? '').length + sentence.length <= maxInputLength) inputs[last] += sentence;
    else inputs.push(sentence);
  }
  return inputs.filter(hasSpeakableText);
}

async function* speakOnce(
  egress: Egress,
  binding: HttpBinding & { voice: string },
  { text, voice, signal }: SpeakRequest,
  leftMs: number,
): AsyncGenerator<Speech> {
  const { model } = binding;
  const { headers, body } = await callModel(egress, binding, {
    stage,
    path: '/audio/speech',
    contentType: 'application/json',
    body: JSON.stringify({ model, input: text, voice: voice ?? binding.voice, response_format: 'pcm' }),
    signal,
    firstByteTimeoutMs: Math.min(leftMs, firstByteMs),
    timeoutMs: leftMs,
    maxResponseBytes: maxSoundBytes,
  });
  const type = headers['content-type'] ?? '';
  if (/^\s*(?:text\/|application\/(?:json|problem|xml|xhtml))/i.test(type)) {
    await body.cancel();
    throw new SpeechFailed(stage, 'rubbish', `${model} gave no usable answer.`);
  }
  const reader = new SoundReader(Number(/;\s*rate=(\d{4,6})\b/.exec(type)?.[1] ?? rawSampleRate));
  let hasSound = false;
  try {
    for await (const chunk of body) {
      const part = reader.push(chunk);
      if (part === null) continue;
      hasSound = true;
      yield part;
    }
    const rest = reader.end();
    if (rest !== null) yield rest;
    else if (!hasSound) throw new SpeechFailed(stage, 'empty', `${model} returned no sound.`);
  } catch (error) {
    if (!(error instanceof UnreadableSound)) throw error;
    throw new SpeechFailed(stage, 'rubbish', `${model} gave no usable answer: it ${error.message}.`);
  }
}
