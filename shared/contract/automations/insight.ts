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
    .object({
      p50: z.number().nullable().describe('Median'),
      p95: z.number().nullable().describe('95 % of the values are at most this'),
      p99: z.number().nullable().describe('99 % of the values are at most this'),
    })
    .describe('Percentiles in milliseconds, accurate to 10 %; null without values'),
);

export const slo = named(
  'Slo',
  z
    .object({
      window: windowName.describe('Length of the window, which ends now'),
      from: timestamp,
      to: timestamp,
      runs: z
        .object({
          total: z.int().describe('Runs that ended in the window'),
          succeeded: z.int().describe('Runs that succeeded'),
          failed: z.int().describe('Runs that failed'),
          cancelled: z.int().describe('Runs that were cancelled'),
          successRate: z
            .number()
            .nullable()
            .describe('Share of succeeded among succeeded and failed runs, 0 to 1; null without any'),
        })
        .describe('Runs that ended within the window'),
      latencyMs: z
        .object({
          queue: latency.describe('From acceptance to the start'),
          run: latency.describe('From the start to the end'),
        })
        .describe('Durations of runs, in milliseconds'),
      nodes: z
        .object({
          online: z.int().describe('Nodes that are connected now'),
          total: z.int().describe('Paired nodes'),
          commandLatencyMs: latency.describe('From the lease of a command to its result'),
        })
        .describe('Companion nodes'),
      webhooks: z
        .object({
          delivered: z.int().describe('Messages that the URL accepted'),
          failed: z.int().describe('Messages that were not delivered'),
        })
        .describe('Messages that runs sent to URLs in the window'),
      models: z
        .array(
          z.object({
            modelId: z
              .string()
              .nullable()
              .meta({ example: 'main' })
              .describe("Id of a model of the workspace; null for the hub's own model"),
            model: z.string().describe('Name of the model at its provider'),
            calls: z.int().describe('Number of calls; each attempt counts'),
            outcomes: z
              .record(z.string(), z.int())
              .meta({ example: { answered: 118, http_429: 2 } })
              .describe('Number of calls by outcome, such as `answered`, `timeout`, `http_429` and `aborted`'),
            latencyMs: latency.describe('Latency of answered calls, to the end of the answer'),
            inputTokens: z.int().describe('Tokens that were sent to the model'),
            outputTokens: z.int().describe('Tokens that the model wrote'),
            costs: z
              .array(
                z.object({
                  currency: currency.describe('Currency code of ISO 4217, such as `USD`'),
                  micros: z.int().meta({ example: 722_500 }).describe('Cost in millionths of the currency'),
                }),
              )
              .describe('Costs by currency, if prices are set'),
            breaker: z
              .enum(['closed', 'open', 'half_open'])
              .describe(
                'Current state of the circuit breaker; `open`: the model is not called, because it failed too often',
              ),
          }),
        )
        .describe(
          'Models that were called, most used first, at most 50. Counted by full hours, including the whole first hour of the window',
        ),
    })
    .describe('Metrics of runs, nodes, deliveries and models in a window'),
);
export type Slo = z.output<typeof slo>;

export const onboarding = named(
  'Onboarding',
  z.object({
    complete: z.boolean().describe('Whether every step is done'),
    steps: z
      .array(
        z.object({
          id: z.string().meta({ example: 'workflow' }).describe('Stable name of the step'),
          title: z.string().describe('What to do, in a few words'),
          done: z.boolean().describe('Whether the step is done'),
          why: z.string().describe('Why the step is useful'),
          request: z
            .object({
              method: z.string().meta({ example: 'POST' }).describe('HTTP method'),
              path: z
                .string()
                .meta({ example: '/v1/automations/workflows' })
                .describe('Path, relative to the URL of the hub'),
              body: jsonObject.nullable().describe('Example of the JSON body; null for a request without one'),
            })
            .describe('Request that does the step'),
        }),
      )
      .describe('Setup steps, in the recommended order'),
    next: z
      .string()
      .nullable()
      .meta({ example: 'workflow' })
      .describe('Id of the first step that is not done; null when all are done'),
    counts: z
      .object({
        workflows: z.int().describe('Number of workflows'),
        nodesOnline: z.int().describe('Number of companion nodes that are connected now'),
        nodes: z.int().describe('Number of paired companion nodes'),
        models: z.int().describe('Number of configured models'),
        channels: z.int().describe('Number of channels'),
        agents: z.int().describe('Number of AI agents'),
        packs: z.int().describe('Number of installed packs'),
        runsSucceeded: z.boolean().describe('Whether any run has succeeded'),
      })
      .describe('Resources of the workspace'),
  }),
);

export const insight = defineResource({
  getAutomationSlo: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/slo',
    summary: 'Get metrics of runs, nodes, deliveries and models',
    description:
      'Counts runs that ended in the window; cancelled runs do not affect `successRate`. Node states are current, and command latencies cover at most the newest 5,000 commands.',
    query: sloQuery,
    response: slo,
  },
  getAutomationOnboarding: {
    ...manage,
    permission: 'automations:read',
    method: 'GET',
    path: '/v1/automations/onboarding',
    summary: 'Get the setup progress of the workspace',
    description:
      'Computed from what exists in the workspace now, so a step is no longer done after its last resource was deleted. The requests are examples; nothing is executed.',
    response: onboarding,
  },
});
