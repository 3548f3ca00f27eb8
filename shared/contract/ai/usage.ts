import { z } from 'zod';
import { inWorkspace } from '../chat/callers.ts';
import { day, named, timestamp, usableDay } from '../common.ts';
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

/** Maximum number of days of a report, and the retention of usage in days. */
export const maxUsageDays = 92;
export const aiUsageDays = 400;

export const aiUsageQuery = z.strictObject({
  from: usableDay.optional().describe('First day, UTC; when omitted, the report has the 30 days up to `to`'),
  to: usableDay.optional().describe('Last day, UTC; today when omitted'),
});

const counts = {
  calls: z.int().describe('Number of model calls; each attempt counts'),
  failedCalls: z.int().describe('Number of calls without an answer'),
  estimatedCalls: z
    .int()
    .describe('Number of calls with estimated tokens, because they were cancelled or the provider reports no tokens'),
  inputTokens: z.int().describe('Tokens that were sent to models'),
  outputTokens: z.int().describe('Tokens that models wrote'),
};

const cost = z.object({
  currency,
  micros: z.int().describe('Cost in millionths of the currency').meta({ example: 1_640_000 }),
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
            .describe("Id of a model of the workspace; null for the hub's own model"),
          model: z.string().describe('Name of the model at the provider'),
          ...counts,
          cost: cost.nullable().describe('Cost; null if no prices were set'),
        }),
      )
      .describe('Usage by day, newest first, and model; days without calls are omitted'),
    speech: z
      .array(
        z.object({
          day,
          seconds: z.int().describe('Seconds of transcribed audio'),
          characters: z.int().describe('Characters of synthesized speech'),
        }),
      )
      .describe('Speech usage by day, newest first'),
    totals: z
      .object({ ...counts, costs: z.array(cost).describe('Costs by currency') })
      .describe('Totals of the report'),
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
/** A limit must be sent: an omitted limit could mean either an unchanged limit or no limit. */
const requiredLimit = (otherwise: string) => ({
  error: ({ input }: { input?: unknown }) => (input === undefined ? 'is required, with null for no limit' : otherwise),
});
const wholeNumberMessage = 'must be a whole number';
const amount = (what: string, error: string | ReturnType<typeof requiredLimit> = wholeNumberMessage) =>
  z
    .int(error)
    .min(0, 'must not be negative')
    .max(maxBudget, `must be at most ${maxBudget.toLocaleString('en')}`)
    .describe(what);

const budgetShape = {
  dailyTokens: amount(
    'Input and output tokens per UTC day; null for no limit',
    requiredLimit(wholeNumberMessage),
  ).nullable(),
  dailyCost: z
    .strictObject(
      { currency, micros: amount('Amount in millionths of the currency') },
      requiredLimit('must be a currency and micros'),
    )
    .nullable()
    .describe('Cost per UTC day of models with prices in this currency; null for no limit'),
};

const speechLimit = (what: string) =>
  z.int(wholeNumberMessage).min(0, 'must not be negative').max(maxBudget).describe(what);
const seconds = 'Seconds of transcribed audio per UTC day';
const characters = 'Characters of synthesized speech per UTC day';
const hubLimit = 'null for the limit of the hub, which is also the maximum; unchanged when omitted';

const putBudget = z.strictObject({
  ...budgetShape,
  dailySpeechSeconds: speechLimit(`${seconds}; ${hubLimit}`).nullable().optional(),
  dailySpeechCharacters: speechLimit(`${characters}; ${hubLimit}`).nullable().optional(),
});

export const putAiBudgetBody = named('PutAiBudget', putBudget, {
  dailyTokens: 2_000_000,
  dailyCost: { currency: 'USD', micros: 5_000_000 },
});

export const aiBudget = named(
  'AiBudget',
  z.object({
    ...budgetShape,
    dailySpeechSeconds: speechLimit(`${seconds}: the lower limit of workspace and hub`),
    dailySpeechCharacters: speechLimit(`${characters}: the lower limit of workspace and hub`),
    used: z
      .object({
        day: day.describe('Today, UTC'),
        tokens: z.int().describe('Input and output tokens so far today'),
        costs: z.array(cost).describe('Costs by currency'),
        share: z
          .number()
          .nullable()
          .describe('Used share of the limit that is closest to exhaustion, 1 for all; null without limits'),
        speechSeconds: z.int().describe('Seconds of transcribed audio'),
        speechCharacters: z.int().describe('Characters of synthesized speech'),
      })
      .describe('Usage of today'),
    isUsedUp: z.boolean().describe('Whether calls are refused until `resetsAt`'),
    modelsWithoutCostLimit: z
      .array(z.string())
      .describe('Models that `dailyCost` does not limit: without prices, with price 0, or in another currency'),
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
    summary: 'Get AI usage by day and model',
    description: `Includes every model call: AI runs, phone, replies and suggestions in chats, and steps of workflows and agents. A report has at most ${maxUsageDays} days of the last ${aiUsageDays}. Token counts come from the provider. If the provider reports none, or the call was cancelled, the hub estimates them with a margin. Costs use the prices at the time of the call, rounded to a millionth per call. Embeddings are not included.`,
    params: inWorkspace,
    query: aiUsageQuery,
    response: aiUsage,
  },
  getAiBudget: {
    ...member,
    method: 'GET',
    path: '/tenants/{tenantId}/ai/budget',
    summary: 'Get the daily AI budget and its usage',
    description:
      'Without a budget, `dailyTokens` and `dailyCost` are null, and only the speech limits of the hub apply. Usage includes the model of the hub and starts at 0 each UTC day.',
    params: inWorkspace,
    response: aiBudget,
  },
  putAiBudget: {
    ...admin,
    method: 'PUT',
    path: '/tenants/{tenantId}/ai/budget',
    summary: 'Set the daily AI budget',
    description:
      'When a limit is reached, no model is called until the next UTC day. AI runs, phone requests and suggestions return 429 `ai_budget_used_up` with `Retry-After`; steps of workflows and agents fail with this code; chats are handed over to a person. Calls in progress reserve their maximum, so a day exceeds a limit by at most one call with its retries. A limit of 0 disables models. Speech limits are checked before a provider is called. Voice requests return 429 `ai_budget_used_up` above them, and for audio also when the model budget is used up. Admins are notified at 80 % and at 100 %, each once a day, in the audit log and by mail.',
    params: inWorkspace,
    body: putAiBudgetBody,
    response: aiBudget,
  },
});
