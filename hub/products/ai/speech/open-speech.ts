import type { Egress } from '../../../platform/egress/egress.ts';
import { createEgress } from '../../../platform/egress/egress.ts';
import { createEspeak } from './espeak.ts';
import type { HttpBinding } from './http.ts';
import { createOpenAiVoice } from './openai-voice.ts';
import type { SpeechOptions } from './retry.ts';
import type { SpeechBindings } from './speech.ts';
import { createTranscriptions } from './transcriptions.ts';

/** The ears and the voice of the whole hub, as its operator set them; null without. */
export interface SpeechSettings {
  speechToText: HttpBinding | null;
  textToSpeech:
    | (HttpBinding & { provider: 'openai'; voice: string })
    | { provider: 'espeak'; voice: string | null }
    | null;
}

/** @param stack ends what it opens. */
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

/** The operator chose this address, so it may be any. */
function openEgress(stack: AsyncDisposableStack, { baseUrl }: HttpBinding): Egress {
  const { host, hostname } = new URL(baseUrl);
  return stack.use(createEgress({ allowHosts: [host, hostname] }));
}
