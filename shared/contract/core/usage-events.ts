import { z } from 'zod';
import { day, id, instant, listQuery, named, page, timestamp, usableDay } from '../common.ts';
import { defineResource } from '../define.ts';

export const usageEventKinds = ['chat.session', 'ai.run'] as const;

const reader = {
  tag: 'Usage',
  callers: ['token', 'session'],
  permission: 'usage:read',
  role: 'admin',
  entitlement: [],
} as const;

/** Retention of usage events and of their totals, in days. */
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

/** Maximum number of days in one `UsageTotals`. */
export const maxUsageTotalDays = 92;

const kind = z.enum(usageEventKinds, `must be one of ${usageEventKinds.join(', ')}`);
const counts = {
  kind: kind.describe('Kind of the events'),
  environment: z.enum(['live', 'test']).describe('Environment of the events'),
  count: z.int().describe('Number of events'),
};

const usageTotals = named(
  'UsageTotals',
  z.object({
    from: day.describe('First day, UTC'),
    to: day.describe('Last day, UTC; included'),
    days: z
      .array(z.object({ day, ...counts }))
      .describe('Totals by day, newest first, kind and environment; totals of 0 are omitted'),
    months: z
      .array(
        z.object({
          month: z.string().meta({ example: '2026-01' }).describe('Calendar month in UTC, `YYYY-MM`'),
          ...counts,
        }),
      )
      .describe(
        'Totals of each calendar month that has a day of the period, also of its other days; newest first. Totals of 0 are omitted',
      ),
  }),
  {
    from: '2026-01-30',
    to: '2026-01-31',
    days: [
      { day: '2026-01-31', kind: 'chat.session', environment: 'live', count: 120 },
      { day: '2026-01-31', kind: 'chat.session', environment: 'test', count: 3 },
      { day: '2026-01-30', kind: 'chat.session', environment: 'live', count: 98 },
    ],
    months: [
      { month: '2026-01', kind: 'chat.session', environment: 'live', count: 3_140 },
      { month: '2026-01', kind: 'chat.session', environment: 'test', count: 3 },
    ],
  },
);
export type UsageTotals = z.output<typeof usageTotals>;

export const usageEvents = defineResource({
  listUsageEvents: {
    ...reader,
    method: 'GET',
    path: '/tenants/{tenantId}/usage-events',
    summary: 'List usage events for billing',
    description: `One event for each created chat session and each successful AI run of the last ${usageEventDays} days, newest first. Events never change. Bill events of the environment \`live\` only. For tokens and cost of models, see \`GET /tenants/{tenantId}/ai/usage\`.`,
    params: z.strictObject({ tenantId: id }),
    query: listQuery.extend({
      kind: kind.optional().describe('Only events of this kind'),
      from: instant.optional().describe('Only events recorded at or after this time'),
      to: instant.optional().describe('Only events recorded before this time'),
    }),
    response: page(usageEvent),
  },
  getUsageTotals: {
    ...reader,
    method: 'GET',
    path: '/tenants/{tenantId}/usage-totals',
    summary: 'Get numbers of usage events by day and month',
    description: `Counts the events that \`GET /tenants/{tenantId}/usage-events\` lists, by UTC day. A request has at most ${maxUsageTotalDays} days of the last ${usageEventDays}.`,
    params: z.strictObject({ tenantId: id }),
    query: z.strictObject({
      kind: kind.optional().describe('Only events of this kind'),
      from: usableDay.optional().describe('First day, UTC; when omitted, the 30 days up to `to` are counted'),
      to: usableDay.optional().describe('Last day, UTC; today when omitted'),
    }),
    response: usageTotals,
  },
});
