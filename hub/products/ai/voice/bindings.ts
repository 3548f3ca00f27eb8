import { AppError } from '../../../../shared/errors.ts';
import type { SpeechBindings, SpeechToText, TextToSpeech } from '../speech/index.ts';

/** The models and the speech bindings of a workspace. */
export interface Bindings {
  models: { isConfigured(tenantId: string): Promise<boolean> };
  speech: SpeechBindings;
}

/**
 * Checks the bindings that a spoken answer needs, before any provider is called.
 * @throws AppError `ai_binding_not_configured`. Its message says what to configure.
 */
export async function requireBindings(
  { models, speech }: Bindings,
  tenantId: string,
  needsSpeechToText: boolean,
): Promise<{ speechToText: SpeechToText | null; textToSpeech: TextToSpeech }> {
  const { speechToText, textToSpeech } = speech;
  if (textToSpeech === null) throw noTextToSpeech();
  if (needsSpeechToText && speechToText === null)
    throw notConfigured('No speech-to-text is configured: set STT_BASE_URL and STT_MODEL, or send text.');
  // Without speech-to-text, the model is called first and reports a missing configuration itself.
  if (needsSpeechToText && !(await models.isConfigured(tenantId))) throw noModel();
  return { speechToText, textToSpeech };
}

/** Checks the bindings that every spoken answer needs. @throws AppError `ai_binding_not_configured`. */
export async function requireAnswerBindings({ models, speech }: Bindings, tenantId: string): Promise<void> {
  if (speech.textToSpeech === null) throw noTextToSpeech();
  if (!(await models.isConfigured(tenantId))) throw noModel();
}

const notConfigured = (message: string) => new AppError('ai_binding_not_configured', message);
const noTextToSpeech = () =>
  notConfigured('No text-to-speech is configured: set TTS_BASE_URL and TTS_MODEL, or TTS_PROVIDER=espeak.');
const noModel = () =>
  notConfigured(
    'No model is configured: set one with PUT /v1/automations/models, or AI_BASE_URL and AI_MODEL for the whole hub.',
  );
