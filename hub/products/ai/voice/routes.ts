import { maxAudioSeconds, voiceRequests as resource } from '../../../../shared/contract/ai/voice-request.ts';
import { voiceSockets } from '../../../../shared/contract/ai/voice.ts';
import { AppError, invalidBody } from '../../../../shared/errors.ts';
import { implementSocket } from '../../../platform/http/live/sockets.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { RateLimiter } from '../../../platform/rate-limiter/rate-limiter.ts';
import { assertMaySpeak } from '../speak/index.ts';
import { UnreadableSound, readSound } from '../speech/index.ts';
import type { Speech } from '../speech/index.ts';
import type { VoiceAnswers } from './voice-answers.ts';
import type { VoiceSocketGateway } from './voice-socket-gateway.ts';

/** Voice requests of one member, or one API key, in a minute. */
const requestsPerMinute = 60;

/** Routes for spoken answers, used for calls. */
export const voiceRoutes = (answers: VoiceAnswers, rateLimiter: RateLimiter) =>
  implement(resource, {
    // `conclude` is not called, so that no sound is stored for a replay under the same `Idempotency-Key`.
    answerVoice: async ({ principal, body: { text, audioBase64, sampleRate, locale }, signal, recheck }) => {
      assertMaySpeak(principal);
      const { tenantId } = principal;
      await limitCaller(rateLimiter, principal.kind === 'token' ? principal.tokenId : principal.user.id);
      const speech = audioBase64 === '' ? null : readAudio(audioBase64, sampleRate);
      const answer = await answers.answer({ tenantId, text, speech, sampleRate, locale, signal });
      // The answer may take more than a minute. Check that the caller is still signed in.
      if (answer.text !== '') await recheck();
      return { text: answer.text, audioBase64: Buffer.from(answer.pcm).toString('base64'), done: true as const };
    },
  });

export const voiceSocketRoutes = (gateway: VoiceSocketGateway) => [
  implementSocket(voiceSockets.connectVoice, (opened) => gateway.open(opened)),
];

/** Prevents one caller from using up the daily speech of a workspace. @throws AppError `rate_limited`. */
async function limitCaller(rateLimiter: RateLimiter, callerId: string): Promise<void> {
  const { allowed, resetAt } = await rateLimiter.take(`voice:${callerId}`, {
    limit: requestsPerMinute,
    windowSeconds: 60,
  });
  if (allowed) return;
  const retryAfterSeconds = Math.max(1, Math.ceil((resetAt.getTime() - Date.now()) / 1_000));
  throw new AppError(
    'rate_limited',
    `You may send ${requestsPerMinute} voice requests per minute; try again in ${retryAfterSeconds} seconds.`,
    { retryAfterSeconds, limit: requestsPerMinute },
  );
}

/** @throws AppError `validation_failed`. */
function readAudio(base64: string, sampleRate: number): Speech {
  try {
    return readSound(Buffer.from(base64, 'base64'), sampleRate, { maxSeconds: maxAudioSeconds });
  } catch (error) {
    if (error instanceof UnreadableSound) throw invalidBody('audioBase64', error.message);
    throw error;
  }
}
