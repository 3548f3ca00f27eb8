import { z } from 'zod';
import { chatText } from '../chat/shapes.ts';
import { id, named } from '../common.ts';
import { defineResource } from '../define.ts';
import { languageCode, maxContextLength, maxInputLength } from './runs.ts';

const member = {
  tag: 'AI Agent',
  callers: ['token', 'session'],
  permission: 'ai:speak',
  role: 'agent',
  entitlement: 'ai_agent',
  method: 'POST',
  params: z.strictObject({ tenantId: id }),
  waitsForThirdParty: true,
  maxOpenSeconds: 60,
  errors: ['ai_binding_not_configured', 'inference_failed', 'ai_budget_used_up'],
} as const;

export const speakBody = named(
  'Speak',
  z.strictObject({
    text: chatText(0, maxInputLength).default('').describe('What was said, in code points; empty asks for a greeting'),
    locale: languageCode.optional().describe('The language of the answer, by BCP 47; that of the text when left out'),
    automaticAgent: z.boolean().default(false).describe('Whether nobody of the business listens in'),
    context: chatText(0, maxContextLength).optional().describe('Facts for the answer, in code points; quoted as data'),
    sessionId: chatText(0, 200).optional().describe('Taken, and used for nothing'),
  }),
  { text: 'When do you open?', locale: 'en' },
);

const spoken = named(
  'Spoken',
  z.object({
    text: z.string().describe('Answer to be spoken'),
    done: z.literal(true).describe('Always true: the answer is complete'),
  }),
  {
    text: 'At nine, from Monday to Friday.',
    done: true,
  },
);

export const speaking = defineResource({
  speak: {
    ...member,
    path: '/tenants/{tenantId}/ai/speak',
    summary: 'Answer what somebody said on the phone, as text',
    description: 'Needs the entitlements `business_phone` and `ai_agent`. Nothing of it is kept.',
    body: speakBody,
    response: spoken,
  },
  streamSpeak: {
    ...member,
    path: '/tenants/{tenantId}/ai/speak/stream',
    summary: 'The same as a stream of one event',
    description:
      'One event `message`, whose data is `{ text, done: true }`, once the whole answer is there. What fails before is an error as of every operation.',
    body: speakBody,
    binaryResponse: 'text/event-stream',
    streamedEvent: spoken,
    response: z.any(),
  },
});
