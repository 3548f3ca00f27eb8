import type { z } from 'zod';
import { speaking as resource } from '../../../../shared/contract/ai/speak.ts';
import type { speakBody } from '../../../../shared/contract/ai/speak.ts';
import { AppError } from '../../../../shared/errors.ts';
import { streamEvents } from '../../../platform/http/event-stream.ts';
import { implement } from '../../../platform/http/implement.ts';
import type { PrincipalOf } from '../../../platform/http/principal.ts';
import type { Answering } from '../prompt/index.ts';
import type { FairPlaces } from '../runs/index.ts';

const task =
  'You speak with a person on the phone, for a business and on its behalf. Take the facts from what is quoted. Where it does not hold the answer, say that you do not know, and do not guess. Answer in one to three short sentences, as they are spoken: no lists, no headings, no addresses.';
const alone = 'Nobody of the business listens: offer that somebody calls back where you can not help.';
const greeting = 'Greet the person in one short sentence, and ask how you can help.';

interface SpeakRequest {
  principal: PrincipalOf<typeof resource.speak>;
  body: z.output<typeof speakBody>;
  signal: AbortSignal;
}

/** Answers to what was said on the phone. */
export function speakRoutes(answering: Answering, places: FairPlaces) {
  const speak = async ({ principal, body, signal }: SpeakRequest) => {
    const { tenantId, entitlements } = principal;
    if (!entitlements.business_phone)
      throw new AppError('product_not_entitled', 'This workspace is not entitled to business_phone.');
    using _place = await places.take(tenantId, signal);
    const { text } = await answering.ask({
      tenantId,
      task: body.automaticAgent ? `${task} ${alone}` : task,
      input: body.text.trim() === '' ? greeting : body.text,
      context: body.context,
      locale: body.locale,
      signal,
    });
    return { text, done: true as const };
  };
  return implement(resource, {
    speak: async (request) => {
      const answer = await speak(request);
      return request.conclude(async () => answer);
    },
    streamSpeak: async (request) => {
      // Before the stream begins, so that what fails is an error like any other.
      const answer = await speak(request);
      await streamEvents(
        request.raw.response,
        request.signal,
        { maxSeconds: resource.streamSpeak.holdSeconds },
        (stream) => stream.send('message', answer),
      );
    },
  });
}
