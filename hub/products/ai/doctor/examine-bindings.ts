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

/** The result of one real call of a binding. */
interface BindingCheck {
  check: 'model' | 'text-to-speech' | 'speech-to-text';
  ok: boolean;
  /** Describes the response, or the failure and its remedy. */
  detail: string;
}

interface ExaminedBindings {
  ai: OwnModelSettings | null;
  speech: SpeechSettings;
}

const settingNames: Readonly<Record<BindingCheck['check'], BindingNames>> = {
  model: { url: 'AI_BASE_URL', key: 'AI_API_KEY', model: 'AI_MODEL', path: '/chat/completions' },
  'text-to-speech': { url: 'TTS_BASE_URL', key: 'TTS_API_KEY', model: 'TTS_MODEL', path: '/audio/speech' },
  'speech-to-text': { url: 'STT_BASE_URL', key: 'STT_API_KEY', model: 'STT_MODEL', path: '/audio/transcriptions' },
};
const testSentence = 'We open at nine in the morning.';
/** Maximum length of a transcript in the detail, in characters. */
const maxTranscriptLength = 80;
const toneRate = 16_000;
/** Time limit of a real question for all models together. */
const modelBudgetMs = 30_000;

/**
 * Calls each binding of the deployment once: the model, text-to-speech, and speech-to-text with the synthesized speech.
 * A binding that is not set counts as ok, and its detail names the settings.
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
      return { check, ok: false, detail: explain(error, settingNames[check]) };
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
      const startedAt = clock.now();
      spoken = await synthesize(textToSpeech, signal);
      const seconds = spoken.pcm.length / 2 / spoken.sampleRate;
      return `${nameOf(speech)} speaks: ${seconds.toFixed(1)} s of sound after ${Math.round(clock.now() - startedAt)} ms`;
    }),
    await examine('speech-to-text', async () =>
      speechToText === null
        ? 'not set; set STT_BASE_URL and STT_MODEL'
        : await transcribe(speechToText, { spoken, model: speech.speechToText?.model ?? '', signal }),
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
  const startedAt = clock.now();
  const deadline = new AbortController();
  using _timer = clock.after(modelBudgetMs, () => deadline.abort());
  const parts = inference.stream(binding, {
    instructions: 'You are asked whether you are there.',
    messages: [{ role: 'user', content: 'Answer with one word: ready.' }],
    maxOutputTokens: 1_024,
    signal: AbortSignal.any([signal, deadline.signal]),
  });
  let length = 0;
  try {
    for await (const part of parts) length += part.length;
  } catch (error) {
    if (!deadline.signal.aborted || signal.aborted) throw error;
    throw new InferenceError(
      'timeout',
      `${settings.model} did not complete its answer within ${modelBudgetMs / 1000} s.`,
    );
  }
  return `${settings.model} answers: ${length} characters after ${Math.round(clock.now() - startedAt)} ms`;
}

async function synthesize(textToSpeech: TextToSpeech, signal: AbortSignal): Promise<Speech> {
  const parts: Uint8Array[] = [];
  let sampleRate = 0;
  for await (const part of textToSpeech.speak({ text: testSentence, language: 'en', signal })) {
    sampleRate = part.sampleRate;
    parts.push(part.pcm);
  }
  const spoken = { pcm: Buffer.concat(parts), sampleRate };
  if (isSilent(spoken)) throw new SpeechFailed('text_to_speech', 'empty', 'the sound is silent.');
  return spoken;
}

async function transcribe(
  speechToText: SpeechToText,
  { spoken, model, signal }: { spoken: Speech | null; model: string; signal: AbortSignal },
): Promise<string> {
  const { text, ms } = await speechToText.transcribe({ ...(spoken ?? tone()), language: 'en', signal });
  if (spoken === null)
    return `${model} answers after ${ms} ms; it received a tone, because text-to-speech is not available`;
  const understood = text.length > maxTranscriptLength ? `${text.slice(0, maxTranscriptLength)}…` : text;
  return `${model} answers after ${ms} ms: it understood "${understood}" of "${testSentence}"`;
}

/** Returns a tone of one second. */
function tone(): Speech {
  const pcm = Buffer.alloc(2 * toneRate);
  for (let at = 0; at < pcm.length; at += 2)
    pcm.writeInt16LE(Math.round(4_000 * Math.sin((Math.PI * 440 * at) / toneRate)), at);
  return { pcm, sampleRate: toneRate };
}

/** Describes any error of a binding, so that the other bindings are still examined. */
function explain(error: unknown, binding: BindingNames): string {
  if (error instanceof InferenceError) return `${error.message} ${remedyFor(error, binding)}`;
  if (error instanceof SpeechFailed)
    return `${error.message} ${remedyFor({ kind: error.kind, status: error.answeredStatus }, binding)}`;
  if (error instanceof AppError) return error.message;
  return `${explainError(error)}: look at ${binding.url}, ${binding.model} and ${binding.key}.`;
}
