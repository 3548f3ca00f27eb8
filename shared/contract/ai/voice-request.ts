import { z } from 'zod';
import { chatText } from '../chat/shapes.ts';
import { id, named } from '../common.ts';
import { defineResource } from '../define.ts';
import { languageCode, maxInputLength } from './runs.ts';

/** Default sample rate of PCM in requests and responses, in Hz. */
export const defaultSampleRate = 16_000;
export const minSampleRate = 8_000;
export const maxSampleRate = 48_000;
/** Maximum length of the audio of a request, in seconds. */
export const maxAudioSeconds = 300;

const rateMessage = `must be a whole number from ${minSampleRate} to ${maxSampleRate}`;

export const voiceBody = named(
  'VoiceRequest',
  z.strictObject({
    text: chatText(0, maxInputLength)
      .default('')
      .describe('Words of the caller, at most 4,000 code points. They precede the words in the audio'),
    audioBase64: z
      .base64('must be base64')
      .default('')
      .describe(
        `PCM, signed, 16 bits, little-endian, mono; or a WAV, whose declared lengths are ignored. At most ${maxAudioSeconds} seconds`,
      ),
    sampleRate: z
      .int(rateMessage)
      .min(minSampleRate, rateMessage)
      .max(maxSampleRate, rateMessage)
      .default(defaultSampleRate)
      .describe('Sample rate of the PCM in request and response, in Hz. A WAV in the request declares its own'),
    locale: languageCode.optional().describe('Language of the caller and the answer (BCP 47); detected when omitted'),
  }),
  { text: 'When do you open?', audioBase64: '', sampleRate: 16_000, locale: 'en' },
);

const voiceAnswer = named(
  'VoiceAnswer',
  z.object({
    text: z.string().describe('Text of the answer'),
    audioBase64: z
      .string()
      .describe('Speech of the answer: PCM, signed, 16 bits, little-endian, mono, of `sampleRate`'),
    done: z.literal(true).describe('Always true: the answer is complete'),
  }),
  { text: 'At nine.', audioBase64: 'AAABAAIAAQA=', done: true },
);

export const voiceRequests = defineResource({
  answerVoice: {
    tag: 'AI Agent',
    callers: ['token', 'session'],
    permission: 'ai:voice',
    role: 'agent',
    entitlement: 'ai_agent',
    method: 'POST',
    path: '/tenants/{tenantId}/ai/voice',
    summary: 'Answer a caller as text and speech',
    description:
      'Transcribes the audio (at most 20 seconds), answers it like `speak` (30 seconds) and synthesizes the answer (30 seconds). Requires the entitlements `business_phone` and `ai_agent`, a model, `TTS_*`, and `STT_*` for audio. If one is missing, the response is 503 `ai_binding_not_configured`, without calling a provider. Without text and audio, or without speech in the audio, the answer is empty. Nothing is stored, not even for an `Idempotency-Key`.',
    params: z.strictObject({ tenantId: id }),
    body: voiceBody,
    bodyOptional: true,
    bodyLimitBytes: 12 * 1024 * 1024,
    response: voiceAnswer,
    waitsForThirdParty: true,
    maxOpenSeconds: 85,
    errors: ['ai_binding_not_configured', 'inference_failed', 'speech_failed'],
  },
});
