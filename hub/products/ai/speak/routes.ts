import type { z } from 'zod';
import { speaking as resource } from '../../../../shared/contract/ai/speak.ts';
import type { speakBody } from '../../../../shared/contract/ai/speak.ts';
import type { PrincipalOf } from '../../../platform/http/auth/principal.ts';
import { streamEvents } from '../../../platform/http/live/event-stream.ts';
import { implement } from '../../../platform/http/routing/implement.ts';
import type { FairSemaphore } from '../runs/index.ts';
import { assertMaySpeak } from './speaking.ts';
import type { Speaking } from './speaking.ts';

interface SpeakRequest {
  principal: PrincipalOf<typeof resource.speak>;
  body: z.output<typeof speakBody>;
  signal: AbortSignal;
  recheck: () => Promise<unknown>;
}

/** Routes that answer text spoken on the phone. */
export function speakRoutes(speaking: Speaking, slots: FairSemaphore) {
  const speak = async ({ principal, body, signal, recheck }: SpeakRequest) => {
    const { tenantId } = principal;
    assertMaySpeak(principal);
    using _slot = await slots.acquire(tenantId, signal);
    const { text, automaticAgent, context, locale } = body;
    const answer = await speaking.answer({ tenantId, text, automaticAgent, context, locale, signal });
    // The caller may have lost the access while the model answered.
    await recheck();
    return { text: answer, done: true as const };
  };
  return implement(resource, {
    speak: async (request) => {
      const answer = await speak(request);
      return request.conclude(async () => answer);
    },
    streamSpeak: async (request) => {
      // Answer before the stream begins, so that a failure is a regular error response.
      const answer = await speak(request);
      await streamEvents(
        request.raw.response,
        request.signal,
        { maxSeconds: resource.streamSpeak.maxOpenSeconds },
        (stream) => stream.send('message', answer),
      );
    },
  });
}
