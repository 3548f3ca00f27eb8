import { z } from 'zod';
import { inWorkspace } from '../chat/callers.ts';
import { named, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';
import { currency } from './prices.ts';

const member = {
  tag: 'AI Agent',
  callers: ['token', 'session'],
  permission: 'usage:read',
  role: 'agent',
  entitlement: [],
} as const;
const admin = { tag: 'AI Agent', callers: ['session'], role: 'admin' } as const;

/** Usage is told for at most so many days at once, and kept for as long as `aiUsageDays`. */
export const maxUsageDays = 92;
export const aiUsageDays = 400;

const day = z.iso.date('must be a day, such as 2026-01-31').describe('Day in UTC, `YYYY-MM-DD`');

export const aiUsageQuery = z.strictObject({
  from: day.optional().describe('First day, UTC; 30 days up to `to` when left out'),
  to: day.optional().describe('Last day, UTC; today when left out'),
});

const counts = {
  calls: z.int().describe('Calls of models, each try for itself'),
  failedCalls: z.int().describe('Those that brought no answer'),
  estimatedCalls: z
    .int()
    .describe('Those of which the provider said no tokens, because they were broken off or it counts none'),
  inputTokens: z.int().describe('Tokens that were sent to models'),
  outputTokens: z.int().describe('Tokens that models wrote'),
};

const cost = z.object({
  currency,
  micros: z.int().describe('Millionths of the currency').meta({ example: 1_640_000 }),
});

export const aiUsage = named(
  'AiUsage',
  z.object({
    from: day.describe('First day of the report, UTC'),
    to: day.describe('Last day of the report, UTC; included'),
    data: z
      .array(
        z.object({
          day,
          modelId: z
            .string()
            .nullable()
            .meta({ example: 'main' })
            .describe('Of the models of the workspace; null for the one of the hub'),
          model: z.string().describe('As its provider names it'),
          ...counts,
          cost: cost.nullable().describe('Null where no prices were set'),
        }),
      )
      .describe('By day, the newest first, then by model; days without a call are left out'),
    speech: z
      .array(
        z.object({
          day,
          seconds: z.int().describe('Seconds of sound that were transcribed'),
          characters: z.int().describe('Characters that were spoken'),
        }),
      )
      .describe('Seconds of sound that were transcribed and characters that were spoken, by day, the newest first'),
    totals: z
      .object({ ...counts, costs: z.array(cost).describe('One for each currency') })
      .describe('Sums over all days and models of the report'),
  }),
  {
    from: '2026-01-01',
    to: '2026-01-31',
    data: [
      {
        day: '2026-01-31',
        modelId: 'main',
        model: 'gpt-5',
        calls: 120,
        failedCalls: 2,
        estimatedCalls: 1,
        inputTokens: 410_000,
        outputTokens: 21_000,
        cost: { currency: 'USD', micros: 722_500 },
      },
    ],
    speech: [{ day: '2026-01-31', seconds: 612, characters: 8_140 }],
    totals: {
      calls: 120,
      failedCalls: 2,
      estimatedCalls: 1,
      inputTokens: 410_000,
      outputTokens: 21_000,
      costs: [{ currency: 'USD', micros: 722_500 }],
    },
  },
);

const maxBudget = 1_000_000_000_000_000;
/** Left out it might mean that the limit stays, or that there is none any more. */
const limitOr = (otherwise: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is required, with null for no limit' : otherwise),
});
const notWhole = 'must be a whole number';
const amount = (what: string, error: string | ReturnType<typeof limitOr> = notWhole) =>
  z
    .int(error)
    .min(0, 'must not be negative')
    .max(maxBudget, `must be at most ${maxBudget.toLocaleString('en')}`)
    .describe(what);

const budgetShape = {
  dailyTokens: amount('Tokens in and out of a day, UTC; null for no limit', limitOr(notWhole)).nullable(),
  dailyCost: z
    .strictObject({ currency, micros: amount('Millionths of the currency') }, limitOr('must be a currency and micros'))
    .nullable()
    .describe('Cost of a day, UTC, of the calls of models with prices in this currency; null for no limit'),
};

const speechLimit = (what: string) => z.int(notWhole).min(0, 'must not be negative').max(maxBudget).describe(what);
const seconds = 'Seconds of sound that are transcribed in a day, UTC';
const characters = 'Characters that are spoken in a day, UTC';
const ofHub = 'null for the limit of the hub, which also bounds a higher one; unchanged when left out';

const putBudget = z.strictObject({
  ...budgetShape,
  dailySpeechSeconds: speechLimit(`${seconds}; ${ofHub}`).nullable().optional(),
  dailySpeechCharacters: speechLimit(`${characters}; ${ofHub}`).nullable().optional(),
});

export const putAiBudgetBody = named('PutAiBudget', putBudget, {
  dailyTokens: 2_000_000,
  dailyCost: { currency: 'USD', micros: 5_000_000 },
});

export const aiBudget = named(
  'AiBudget',
  z.object({
    ...budgetShape,
    dailySpeechSeconds: speechLimit(`${seconds}: the lower of the limits of workspace and hub`),
    dailySpeechCharacters: speechLimit(`${characters}: the lower of the limits of workspace and hub`),
    used: z
      .object({
        day: day.describe('Today, UTC'),
        tokens: z.int().describe('Tokens in and out so far today'),
        costs: z.array(cost).describe('One for each currency'),
        share: z.number().nullable().describe('Used of the limit that is nearer, 1 for all of it; null without one'),
        speechSeconds: z.int().describe('Seconds of sound that were transcribed'),
        speechCharacters: z.int().describe('Characters that were spoken'),
      })
      .describe('Today'),
    isUsedUp: z.boolean().describe('Whether calls are refused until `resetsAt`'),
    modelsWithoutCostLimit: z
      .array(z.string())
      .describe('Models that `dailyCost` does not bound: without prices, with 0 or in another currency'),
    resetsAt: timestamp,
    updatedAt: timestamp.nullable(),
  }),
  {
    dailyTokens: 2_000_000,
    dailyCost: { currency: 'USD', micros: 5_000_000 },
    dailySpeechSeconds: 36_000,
    dailySpeechCharacters: 500_000,
    used: {
      day: '2026-01-31',
      tokens: 431_000,
      costs: [{ currency: 'USD', micros: 722_500 }],
      share: 0.2155,
      speechSeconds: 612,
      speechCharacters: 8_140,
    },
    isUsedUp: false,
    modelsWithoutCostLimit: ['local'],
    resetsAt: '2026-02-01T00:00:00.000Z',
    updatedAt: '2026-01-01T09:00:00.000Z',
  },
);

export const aiUsageResource = defineResource({
  getAiUsage: {
    ...member,
    method: 'GET',
    path: '/tenants/{tenantId}/ai/usage',
    compressible: true,
    summary: 'Show what models were used for, by day and model',
    description: `Every call of a model, whatever it was for: runs, the phone, replies and suggestions in chats, steps of workflows and agents. Up to ${maxUsageDays} days at once, of the last ${aiUsageDays}. Tokens are as the provider counts them; where it does not say, because the call was broken off or its server counts none, as the hub estimates them, rather too many. Cost is that of the prices that held at the time, rounded to a millionth for each call. Vectors of the knowledge are not counted.`,
    params: inWorkspace,
    query: aiUsageQuery,
    response: aiUsage,
  },
  getAiBudget: {
    ...member,
    method: 'GET',
    path: '/tenants/{tenantId}/ai/budget',
    summary: 'Show the daily budget for models, and what is used of it',
    params: inWorkspace,
    response: aiBudget,
  },
  putAiBudget: {
    ...admin,
    method: 'PUT',
    path: '/tenants/{tenantId}/ai/budget',
    summary: 'Set the daily budget for models',
    description:
      'Once a limit is reached, no model is called until the next day, UTC: runs, the phone and suggestions answer 429 `ai_budget_used_up` with `Retry-After`, steps of workflows and agents fail with it, and visitors in chats go to a person. What calls that are under way may take counts as used until they end, so a day goes beyond a limit by one call with its retries at most. A limit of 0 switches models off. The limits of speech are counted before a provider is called: beyond them, and for sound once the budget for models is used up, voice requests answer 429 `ai_budget_used_up` too. Admins are told at 80 % and at 100 %, once a day each, in the audit log and by mail.',
    params: inWorkspace,
    body: putAiBudgetBody,
    response: aiBudget,
  },
});
