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
    text: chatText(0, maxInputLength)
      .default('')
      .describe('Words of the caller, at most 4,000 code points; empty for a greeting'),
    locale: languageCode.optional().describe('Language of the answer (BCP 47); the language of the text when omitted'),
    automaticAgent: z.boolean().default(false).describe('Whether no person of the business is listening'),
    context: chatText(0, maxContextLength)
      .optional()
      .describe('Facts for the answer, at most 24,000 code points; quoted as data'),
    sessionId: chatText(0, 200).optional().describe('Accepted and ignored'),
  }),
  { text: 'When do you open?', locale: 'en' },
);

const spoken = named(
  'Spoken',
  z.object({
    text: z.string().describe('Text of the answer, for speech output'),
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
    summary: 'Answer a caller as text',
    description: 'Requires the entitlements `business_phone` and `ai_agent`. Nothing is stored.',
    body: speakBody,
    response: spoken,
  },
  streamSpeak: {
    ...member,
    path: '/tenants/{tenantId}/ai/speak/stream',
    summary: 'Answer a caller as a stream',
    description:
      'Sends one event `message` with `{ text, done: true }` when the answer is complete. Earlier failures are normal error responses.',
    body: speakBody,
    binaryResponse: 'text/event-stream',
    streamedEvent: spoken,
    response: z.any(),
  },
});
