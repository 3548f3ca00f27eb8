import { z } from 'zod';
import { jsonObject } from '../../json.ts';
import { currency } from '../ai/prices.ts';
import { named, timestamp } from '../common.ts';
import { defineResource } from '../define.ts';

const manage = {
  tag: 'Insight',
  callers: ['token', 'session'],
  permission: 'automations:manage',
  role: 'agent',
} as const;

export const sloWindows = { '1h': 3_600, '24h': 86_400, '7d': 7 * 86_400, '30d': 30 * 86_400 } as const;
export type SloWindow = keyof typeof sloWindows;
const windowName = z.enum(
  Object.keys(sloWindows) as [SloWindow, ...SloWindow[]],
  `must be one of ${Object.keys(sloWindows).join(', ')}`,
);
export const sloQuery = z.strictObject({ window: windowName.default('24h') });

const latency = named(
  'Latency',
  z
    .object({ p50: z.number().nullable(), p95: z.number().nullable(), p99: z.number().nullable() })
    .describe('Milliseconds, to within 10 %; null without a run'),
);

export const slo = named(
  'Slo',
  z.object({
    window: windowName,
    from: timestamp,
    to: timestamp,
    runs: z
      .object({
        total: z.int(),
        succeeded: z.int(),
        failed: z.int(),
        cancelled: z.int(),
        successRate: z.number().nullable().describe('Succeeded of those that succeeded or failed, 0 to 1'),
      })
      .describe('Runs that ended within the window'),
    latencyMs: z.object({
      queue: latency.describe('From acceptance to the start'),
      run: latency.describe('From the start to the end'),
    }),
    nodes: z.object({
      online: z.int(),
      total: z.int(),
      commandLatencyMs: latency.describe('From handing a command out to its result'),
    }),
    webhooks: z.object({ delivered: z.int(), failed: z.int() }),
    models: z
      .array(
        z.object({
          modelId: z
            .string()
            .nullable()
            .meta({ example: 'main' })
            .describe('Of the models of the workspace; null for the one of the hub'),
          model: z.string(),
          calls: z.int().describe('Each try for itself'),
          outcomes: z
            .record(z.string(), z.int())
            .meta({ example: { answered: 118, http_429: 2 } })
            .describe('How many ended how: answered, timeout, http_429, aborted and the like'),
          latencyMs: latency.describe('Of answered calls, to the end of the answer'),
          inputTokens: z.int(),
          outputTokens: z.int(),
          costs: z
            .array(z.object({ currency, micros: z.int().meta({ example: 722_500 }) }))
            .describe('In millionths of each currency, where prices are set'),
          breaker: z
            .enum(['closed', 'open', 'half_open'])
            .describe('Now: an open one has the model left alone, because it failed too often'),
        }),
      )
      .describe(
        'Models that were called, the most used first, at most 50; counted by the hour, the one in which the window begins as a whole',
      ),
  }),
);
export type Slo = z.output<typeof slo>;

export const onboarding = named(
  'Onboarding',
  z.object({
    complete: z.boolean(),
    steps: z.array(
      z.object({
        id: z.string().meta({ example: 'workflow' }),
        title: z.string(),
        done: z.boolean(),
        why: z.string(),
        request: z
          .object({
            method: z.string().meta({ example: 'POST' }),
            path: z.string().meta({ example: '/v1/automations/workflows' }),
            body: jsonObject.nullable(),
          })
          .describe('What does it'),
      }),
    ),
    next: z.string().nullable().meta({ example: 'workflow' }).describe('Id of the first step that is not done'),
    counts: z.object({
      workflows: z.int(),
      nodesOnline: z.int(),
      nodes: z.int(),
      models: z.int(),
      channels: z.int(),
      agents: z.int(),
      packs: z.int(),
      runsSucceeded: z.boolean(),
    }),
  }),
);

export const insight = defineResource({
  getAutomationSlo: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/slo',
    summary: 'How runs, nodes, deliveries and models did',
    query: sloQuery,
    response: slo,
  },
  getAutomationOnboarding: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/onboarding',
    summary: 'What this workspace has, what it lacks, and what to do next',
    response: onboarding,
  },
});
