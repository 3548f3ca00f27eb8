import { z } from 'zod';
import { id, listQuery, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { messageSource, toolUse } from './ai-settings.ts';
import { inWorkspace } from './callers.ts';

/** What the AI agent suggests to agents; visitors see none of it. */

const agent = {
  tag: 'AI Agent',
  callers: ['session'],
  role: 'agent',
  entitlement: 'ai_agent',
} as const;
const ofChannel = inWorkspace.extend({ channelId: id.describe('The conversation') });

export const aiActions = ['answer', 'clarify', 'handoff', 'ignore'] as const;
export type AiAction = (typeof aiActions)[number];

export const suggestion = named(
  'AiSuggestion',
  z.object({
    id: id.describe('Id of the suggestion'),
    conversationId: id.describe('Conversation that it is for'),
    content: z.string().describe('What could be replied; empty where it would hand over or not reply at all'),
    action: z
      .enum(aiActions)
      .describe('What the AI agent would do: reply, ask back, hand over to a person, or do nothing'),
    reason: z.string().describe('Why, in the words of the model'),
    sources: z.array(messageSource).describe('Entries of the knowledge that the text is based on'),
    tools: z.array(toolUse).describe('What was called for it, in that order; what acts is not offered'),
    seq: z.int().describe('The newest message that it knows'),
    origin: z.enum(['asked', 'shadow']).describe('Whether an agent asked for it'),
    acceptedAt: timestamp.nullable(),
    acceptedBy: id.nullable().describe('A member'),
    createdAt: timestamp,
  }),
);
export type AiSuggestion = z.output<typeof suggestion>;

/** How many an agent may ask for in a minute. */
export const suggestionsAMinute = 20;

export const aiSuggestions = defineResource({
  listAiSuggestions: {
    ...agent,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/channels/{channelId}/ai-suggestions',
    summary: 'List what was suggested for a conversation',
    description: 'Newest first. They are kept for 30 days.',
    params: ofChannel,
    query: listQuery,
    response: page(suggestion),
  },
  createAiSuggestion: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/channels/{channelId}/ai-suggestion',
    summary: 'Have a reply suggested',
    description: `Of what the visitor can see, and the knowledge; nothing is sent to anybody. At most ${suggestionsAMinute} a minute for each agent. A suggestion that comes back empty is 502 \`suggestion_empty\`.`,
    params: ofChannel,
    response: suggestion,
    errors: ['ai_binding_not_configured', 'inference_failed', 'suggestion_empty', 'rate_limited', 'ai_budget_used_up'],
    maxOpenSeconds: 75,
  },
  acceptAiSuggestion: {
    ...agent,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/channels/{channelId}/ai-suggestions/{id}/accept',
    summary: 'Mark a suggestion as accepted',
    description: 'It sends nothing; accepted again, it stays as it was.',
    params: ofChannel.extend({ id }),
    response: suggestion,
  },
});
