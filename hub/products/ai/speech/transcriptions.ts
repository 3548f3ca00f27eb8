import { z } from 'zod';
import type { Egress } from '../../../platform/egress/egress.ts';
import { SpeechFailed } from './failure.ts';
import { callModel, readText } from './http.ts';
import type { HttpBinding } from './http.ts';
import { withRetry } from './retry.ts';
import type { SpeechOptions } from './retry.ts';
import { isSilent, toWav } from './sound.ts';
import type { SpeechToText, TranscriptionRequest } from './speech.ts';

const stage = 'speech_to_text';
const budgetMs = 20_000;
/** Time limit for the first byte of the response, plus a share of the duration of the sound. */
const firstByteMs = 8_000;
const firstByteShare = 0.05;
const maxAnswerBytes = 1024 * 1024;
const maxTextLength = 32_000;

const answerSchema = z.object({ text: z.string() });

/** Speech-to-text by `/audio/transcriptions` of the OpenAI protocol. Each sound is sent as one WAV. */
export function createTranscriptions(egress: Egress, binding: HttpBinding, options: SpeechOptions): SpeechToText {
  return {
    async transcribe(request) {
      const { signal } = request;
      signal.throwIfAborted();
      if (isSilent(request)) return { text: '', ms: 0 };
      const startedAt = options.clock.now();
      const attempts = withRetry({ ...options, stage, budgetMs, signal }, (leftMs) =>
        transcribeOnce(egress, binding, request, leftMs),
      );
      let text = '';
      for await (const transcript of attempts) text = transcript;
      return { text, ms: Math.round(options.clock.now() - startedAt) };
    },
  };
}

async function* transcribeOnce(
  egress: Egress,
  binding: HttpBinding,
  { pcm, sampleRate, language, signal }: TranscriptionRequest,
  leftMs: number,
): AsyncGenerator<string> {
  const form = new FormData();
  form.set('model', binding.model);
  form.set('response_format', 'json');
  // The protocol accepts languages without a region.
  if (language !== undefined) form.set('language', new Intl.Locale(language).language);
  form.set('file', new Blob([toWav({ pcm, sampleRate })], { type: 'audio/wav' }), 'speech.wav');
  const encoded = new Response(form);
  const seconds = pcm.length / 2 / sampleRate;
  const { body } = await callModel(egress, binding, {
    stage,
    path: '/audio/transcriptions',
    contentType: encoded.headers.get('content-type') ?? '',
    body: await encoded.bytes(),
    signal,
    firstByteTimeoutMs: Math.min(leftMs, firstByteMs + seconds * 1000 * firstByteShare),
    timeoutMs: leftMs,
    maxResponseBytes: maxAnswerBytes,
  });
  yield parseText(await readText(body, maxAnswerBytes), binding.model);
}

/** @throws SpeechFailed if the response does not match the protocol. */
function parseText(answer: string, model: string): string {
  try {
    return answerSchema.parse(JSON.parse(answer)).text.trim().slice(0, maxTextLength);
  } catch {
    throw new SpeechFailed(stage, 'rubbish', `${model} gave no usable answer.`);
  }
}
