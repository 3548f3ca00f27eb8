import type { Egress } from '../../../platform/egress/egress.ts';
import { createEgress } from '../../../platform/egress/egress.ts';
import { createEspeak } from './espeak.ts';
import type { HttpBinding } from './http.ts';
import { createOpenAiVoice } from './openai-voice.ts';
import type { SpeechOptions } from './retry.ts';
import type { SpeechBindings } from './speech.ts';
import { createTranscriptions } from './transcriptions.ts';

/** The speech settings of the operator. Null disables a stage. */
export interface SpeechSettings {
  speechToText: HttpBinding | null;
  textToSpeech:
    | (HttpBinding & { provider: 'openai'; voice: string })
    | { provider: 'espeak'; voice: string | null }
    | null;
}

/** @param stack Disposes the connections that this function opens. */
export function openSpeech(
  stack: AsyncDisposableStack,
  { speechToText, textToSpeech }: SpeechSettings,
  options: SpeechOptions,
): SpeechBindings {
  return {
    speechToText:
      speechToText === null ? null : createTranscriptions(openEgress(stack, speechToText), speechToText, options),
    textToSpeech:
      textToSpeech === null
        ? null
        : textToSpeech.provider === 'espeak'
          ? createEspeak(textToSpeech, options)
          : createOpenAiVoice(openEgress(stack, textToSpeech), textToSpeech, options),
  };
}

/** Any address is allowed, because the operator configured it. */
function openEgress(stack: AsyncDisposableStack, { baseUrl }: HttpBinding): Egress {
  const { host, hostname } = new URL(baseUrl);
  return stack.use(createEgress({ allowHosts: [host, hostname] }));
}
