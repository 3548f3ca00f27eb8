import { AppError } from '../../../../shared/errors.ts';
import type { SpeechBindings, SpeechToText, TextToSpeech } from '../speech/index.ts';

/** Who answers, listens and speaks. */
export interface Bindings {
  models: { isConfigured(tenantId: string): Promise<boolean> };
  speech: SpeechBindings;
}

/** What an answer needs, before anybody is asked. @throws AppError `ai_binding_not_configured`, which says what to set. */
export async function requireBindings(
  { models, speech }: Bindings,
  tenantId: string,
  needsSpeechToText: boolean,
): Promise<{ speechToText: SpeechToText | null; textToSpeech: TextToSpeech }> {
  const { speechToText, textToSpeech } = speech;
  if (textToSpeech === null)
    throw notConfigured('No text-to-speech is configured: set TTS_BASE_URL and TTS_MODEL, or TTS_PROVIDER=espeak.');
  if (needsSpeechToText && speechToText === null)
    throw notConfigured('No speech-to-text is configured: set STT_BASE_URL and STT_MODEL, or send text.');
  // Of what is text alone the model tells by itself, before anything else is asked.
  if (needsSpeechToText && !(await models.isConfigured(tenantId)))
    throw notConfigured(
      'No model is configured: set one with PUT /v1/automations/models, or AI_BASE_URL and AI_MODEL for the whole hub.',
    );
  return { speechToText, textToSpeech };
}

const notConfigured = (message: string) => new AppError('ai_binding_not_configured', message);
