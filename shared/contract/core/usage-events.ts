import { z } from 'zod';
import { id, instant, listQuery, named, page, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

export const usageEventKinds = ['chat.session', 'ai.run'] as const;

/** Retention of usage events, in days. */
export const usageEventDays = 400;

const usageEvent = named(
  'UsageEvent',
  z.object({
    id: id.describe('Id of the event'),
    kind: z
      .enum(usageEventKinds)
      .describe('`chat.session`: a chat session was created. `ai.run`: a run of the AI agent succeeded'),
    subjectId: id.describe('Id of the conversation (`chat.session`) or of the AI run (`ai.run`)'),
    environment: z.enum(['live', 'test']).describe('Environment of the API key that was used'),
    createdAt: timestamp.describe('When the event was recorded'),
  }),
);
export type UsageEvent = z.output<typeof usageEvent>;

export const usageEvents = defineResource({
  listUsageEvents: {
    tag: 'Usage',
    callers: ['token', 'session'],
    permission: 'usage:read',
    role: 'admin',
    entitlement: [],
    method: 'GET',
    path: '/tenants/{tenantId}/usage-events',
    summary: 'List usage events for billing',
    description: `One event for each created chat session and each successful AI run of the last ${usageEventDays} days, newest first. Events never change. Bill events of the environment \`live\` only. For tokens and cost of models, see \`GET /tenants/{tenantId}/ai/usage\`.`,
    params: z.strictObject({ tenantId: id }),
    query: listQuery.extend({
      kind: z
        .enum(usageEventKinds, `must be one of ${usageEventKinds.join(', ')}`)
        .optional()
        .describe('Only events of this kind'),
      from: instant.optional().describe('Only events recorded at or after this time'),
      to: instant.optional().describe('Only events recorded before this time'),
    }),
    response: page(usageEvent),
  },
});
