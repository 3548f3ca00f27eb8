import { z } from 'zod';
import { chatText } from '../chat/shapes.ts';
import { id, named } from '../common.ts';
import { defineResource } from '../define.ts';
import { languageCode, maxInputLength } from './runs.ts';

/** Samples a second of PCM, both ways, where a request does not say. */
export const defaultSampleRate = 16_000;
export const leastSampleRate = 8_000;
export const mostSampleRate = 48_000;
/** Longest audio of a request, in seconds. */
export const maxAudioSeconds = 300;

const rateMessage = `must be a whole number from ${leastSampleRate} to ${mostSampleRate}`;

export const voiceBody = named(
  'VoiceRequest',
  z.strictObject({
    text: chatText(0, maxInputLength)
      .default('')
      .describe('What was said, in code points. Where there is audio too, this comes before what is said in it'),
    audioBase64: z
      .base64('must be base64')
      .default('')
      .describe(
        `PCM, signed, 16 bits, little-endian, mono; or a WAV, whose declared lengths count for nothing. At most ${maxAudioSeconds} seconds`,
      ),
    sampleRate: z
      .int(rateMessage)
      .min(leastSampleRate, rateMessage)
      .max(mostSampleRate, rateMessage)
      .default(defaultSampleRate)
      .describe('Samples a second of the PCM that comes and of that which is answered. A WAV that comes says its own'),
    locale: languageCode
      .optional()
      .describe('The language that is spoken and answered in, by BCP 47; that of what was said when left out'),
  }),
  { text: 'When do you open?', audioBase64: '', sampleRate: 16_000, locale: 'en' },
);

const voiceAnswer = named(
  'VoiceAnswer',
  z.object({
    text: z.string().describe('The answer'),
    audioBase64: z.string().describe('The answer as PCM, signed, 16 bits, little-endian, mono, of `sampleRate`'),
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
    summary: 'Answer what somebody said on the phone, as text and speech',
    description:
      'Audio is written down (20 seconds at most), answered as `speak` answers it (30), and the answer is spoken (30). Needs the entitlements `business_phone` and `ai_agent`, a model, `TTS_*`, and `STT_*` for audio: what is missing is a 503 `ai_binding_not_configured` before anybody is asked. With neither text nor audio, and where nothing is said in the audio, the answer is empty. Nothing of it is kept, not even for an `Idempotency-Key`.',
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
