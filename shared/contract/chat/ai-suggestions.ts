/** Replies that the AI agent suggests to agents. Visitors do not see them. */

import { z } from 'zod';
import { id, listQuery, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { messageSource, toolUse } from './ai-settings.ts';
import { inWorkspace } from './callers.ts';

const agentOperation = {
  tag: 'AI Agent',
  callers: ['session'],
  role: 'agent',
  entitlement: 'ai_agent',
} as const;
const channelParams = inWorkspace.extend({ channelId: id.describe('Id of the conversation') });

export const aiActions = ['answer', 'clarify', 'handoff', 'ignore'] as const;
export type AiAction = (typeof aiActions)[number];

export const suggestion = named(
  'AiSuggestion',
  z.object({
    id: id.describe('Id of the suggestion'),
    conversationId: id.describe('Conversation of the suggestion'),
    content: z.string().describe('Suggested reply; empty if the AI agent would hand over or not reply'),
    action: z
      .enum(aiActions)
      .describe('Action that the AI agent would take: reply, ask back, hand over to a person, or do nothing'),
    reason: z.string().describe('Reason, as the model wrote it'),
    sources: z.array(messageSource).describe('Knowledge entries that the text is based on'),
    tools: z.array(toolUse).describe('Tools that were called, in order; only read-only tools are offered'),
    seq: z.int().describe('`seq` of the newest message that the suggestion considers'),
    origin: z.enum(['asked', 'shadow']).describe('`asked`: requested by an agent; `shadow`: created automatically'),
    acceptedAt: timestamp.nullable(),
    acceptedBy: id.nullable().describe('Member who accepted it; null if it was not accepted'),
    createdAt: timestamp,
  }),
);
export type AiSuggestion = z.output<typeof suggestion>;

/** Maximum number of suggestions that an agent can request per minute. */
export const maxSuggestionsPerMinute = 20;

export const aiSuggestions = defineResource({
  listAiSuggestions: {
    ...agentOperation,
    method: 'GET',
    path: '/tenants/{tenantId}/chat/channels/{channelId}/ai-suggestions',
    summary: 'List AI suggestions of a conversation',
    description: 'Newest first. Suggestions are kept for 30 days.',
    params: channelParams,
    query: listQuery,
    response: page(suggestion),
  },
  createAiSuggestion: {
    ...agentOperation,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/channels/{channelId}/ai-suggestion',
    summary: 'Create an AI suggestion',
    description: `Based on the messages that the visitor can see and on the knowledge. Nothing is sent. Limit: ${maxSuggestionsPerMinute} per minute for each agent. An empty suggestion is 502 \`suggestion_empty\`.`,
    params: channelParams,
    response: suggestion,
    errors: ['ai_binding_not_configured', 'inference_failed', 'suggestion_empty', 'rate_limited', 'ai_budget_used_up'],
    maxOpenSeconds: 75,
  },
  acceptAiSuggestion: {
    ...agentOperation,
    method: 'POST',
    path: '/tenants/{tenantId}/chat/channels/{channelId}/ai-suggestions/{id}/accept',
    summary: 'Mark a suggestion as accepted',
    description: 'Sends nothing. Accepting a suggestion again changes nothing.',
    params: channelParams.extend({ id }),
    response: suggestion,
  },
});
