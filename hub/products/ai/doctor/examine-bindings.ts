import { AppError } from '../../../../shared/errors.ts';
import { systemClock } from '../../../platform/clock.ts';
import type { Clock } from '../../../platform/clock.ts';
import { InferenceError } from '../../../platform/inference/inference.ts';
import { explainError } from '../../../platform/observability/describe-error.ts';
import { openOwnModel } from '../models/index.ts';
import type { OwnModelSettings } from '../models/index.ts';
import { SpeechFailed, isSilent, openSpeech } from '../speech/index.ts';
import type { Speech, SpeechSettings, SpeechToText, TextToSpeech } from '../speech/index.ts';
import { remedyFor } from './remedies.ts';
import type { BindingNames } from './remedies.ts';

/** What one real call of a binding came to. */
interface BindingCheck {
  check: 'model' | 'text-to-speech' | 'speech-to-text';
  ok: boolean;
  /** What failed, and what to do; or what came. */
  detail: string;
}

interface ExaminedBindings {
  ai: OwnModelSettings | null;
  speech: SpeechSettings;
}

const names: Readonly<Record<BindingCheck['check'], BindingNames>> = {
  model: { url: 'AI_BASE_URL', key: 'AI_API_KEY', model: 'AI_MODEL', path: '/chat/completions' },
  'text-to-speech': { url: 'TTS_BASE_URL', key: 'TTS_API_KEY', model: 'TTS_MODEL', path: '/audio/speech' },
  'speech-to-text': { url: 'STT_BASE_URL', key: 'STT_API_KEY', model: 'STT_MODEL', path: '/audio/transcriptions' },
};
const sentence = 'We open at nine in the morning.';
/** Of what is shown of a transcript. */
const shownLength = 80;
const toneRate = 16_000;
/** What a question has in earnest, for all models together. */
const modelBudgetMs = 30_000;

/**
 * Calls each binding of the deployment once: the model, the voice, and the ears with what the voice said. What is not set is well, and says how to set it.
 * @throws the signal's reason.
 */
export async function examineBindings(
  { ai, speech }: ExaminedBindings,
  { signal, clock = systemClock }: { signal: AbortSignal; clock?: Clock },
): Promise<BindingCheck[]> {
  await using stack = new AsyncDisposableStack();
  const { speechToText, textToSpeech } = openSpeech(stack, speech, { clock, onCall: () => undefined });
  const examine = async (check: BindingCheck['check'], call: () => Promise<string>): Promise<BindingCheck> => {
    try {
      return { check, ok: true, detail: await call() };
    } catch (error) {
      signal.throwIfAborted();
      return { check, ok: false, detail: explain(error, names[check]) };
    }
  };
  let spoken: Speech | null = null;
  return [
    await examine('model', async () =>
      ai === null
        ? 'not set for the whole hub; set AI_BASE_URL and AI_MODEL, or the models of each workspace'
        : await askModel(stack, ai, { signal, clock }),
    ),
    await examine('text-to-speech', async () => {
      if (textToSpeech === null) return 'not set; set TTS_BASE_URL and TTS_MODEL, or TTS_PROVIDER=espeak';
      const begunAt = clock.now();
      spoken = await say(textToSpeech, signal);
      const seconds = spoken.pcm.length / 2 / spoken.sampleRate;
      return `${nameOf(speech)} speaks: ${seconds.toFixed(1)} s of sound after ${Math.round(clock.now() - begunAt)} ms`;
    }),
    await examine('speech-to-text', async () =>
      speechToText === null
        ? 'not set; set STT_BASE_URL and STT_MODEL'
        : await listen(speechToText, { spoken, model: speech.speechToText?.model ?? '', signal }),
    ),
  ];
}

const nameOf = ({ textToSpeech }: SpeechSettings) =>
  textToSpeech?.provider === 'openai' ? textToSpeech.model : 'espeak-ng';

async function askModel(
  stack: AsyncDisposableStack,
  settings: OwnModelSettings,
  { signal, clock }: { signal: AbortSignal; clock: Clock },
): Promise<string> {
  const { binding, inference } = openOwnModel(stack, settings);
  const begunAt = clock.now();
  const late = new AbortController();
  using _deadline = clock.after(modelBudgetMs, () => late.abort());
  const parts = inference.stream(binding, {
    instructions: 'You are asked whether you are there.',
    messages: [{ role: 'user', content: 'Answer with one word: ready.' }],
    maxOutputTokens: 1_024,
    signal: AbortSignal.any([signal, late.signal]),
  });
  let length = 0;
  try {
    for await (const part of parts) length += part.length;
  } catch (error) {
    if (!late.signal.aborted || signal.aborted) throw error;
    throw new InferenceError(
      'timeout',
      `${settings.model} did not come to the end of its answer within ${modelBudgetMs / 1000} s.`,
    );
  }
  return `${settings.model} answers: ${length} characters after ${Math.round(clock.now() - begunAt)} ms`;
}

async function say(voice: TextToSpeech, signal: AbortSignal): Promise<Speech> {
  const parts: Uint8Array[] = [];
  let sampleRate = 0;
  for await (const part of voice.speak({ text: sentence, language: 'en', signal })) {
    sampleRate = part.sampleRate;
    parts.push(part.pcm);
  }
  const spoken = { pcm: Buffer.concat(parts), sampleRate };
  if (isSilent(spoken)) throw new SpeechFailed('text_to_speech', 'empty', 'what came is silent.');
  return spoken;
}

async function listen(
  ears: SpeechToText,
  { spoken, model, signal }: { spoken: Speech | null; model: string; signal: AbortSignal },
): Promise<string> {
  const { text, ms } = await ears.transcribe({ ...(spoken ?? tone()), language: 'en', signal });
  if (spoken === null) return `${model} answers after ${ms} ms; it was given a tone, because nothing speaks`;
  const understood = text.length > shownLength ? `${text.slice(0, shownLength)}…` : text;
  return `${model} answers after ${ms} ms: it understood "${understood}" of "${sentence}"`;
}

/** A second that is no silence. */
function tone(): Speech {
  const pcm = Buffer.alloc(2 * toneRate);
  for (let at = 0; at < pcm.length; at += 2)
    pcm.writeInt16LE(Math.round(4_000 * Math.sin((Math.PI * 440 * at) / toneRate)), at);
  return { pcm, sampleRate: toneRate };
}

/** Whatever failed belongs to the binding that was called, so that the others are examined too. */
function explain(error: unknown, binding: BindingNames): string {
  if (error instanceof InferenceError) return `${error.message} ${remedyFor(error, binding)}`;
  if (error instanceof SpeechFailed)
    return `${error.message} ${remedyFor({ kind: error.kind, status: error.answeredStatus }, binding)}`;
  if (error instanceof AppError) return error.message;
  return `${explainError(error)}: look at ${binding.url}, ${binding.model} and ${binding.key}.`;
}
