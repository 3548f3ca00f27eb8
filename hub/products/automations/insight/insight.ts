import type { z } from 'zod';
import { insight as resource, sloWindows } from '../../../../shared/contract/automations/insight.ts';
import type { Slo, SloWindow } from '../../../../shared/contract/automations/insight.ts';
import { addHistogram, quantile, readSlices, sliceSeconds, summarisePeriod } from '../../../engine/index.ts';
import type { Histogram } from '../../../engine/index.ts';
import { runs } from '../../../engine/schema.ts';
import { isShown, workflows } from '../../../engine/schema.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, isNull, sql } from '../../../platform/db/orm.ts';
import { readModelHealth } from '../../ai/index.ts';
import { modelConfigs } from '../../ai/models/schema.ts';
import { nodes } from '../../nodes/schema.ts';
import { agents } from '../agents/schema.ts';
import { channels } from '../channels/schema.ts';
import { packInstalls } from '../packs/schema.ts';

type Onboarding = z.input<typeof resource.getAutomationOnboarding.response>;

export interface InsightDependencies {
  db: Database;
  /** Heartbeat interval of nodes, in seconds. A node is offline after three missed heartbeats. */
  heartbeatSeconds: number;
  /** Whether the hub provides its own model. */
  hasOwnModel: boolean;
}

const latencies = (histogram: Histogram) => ({
  p50: quantile(histogram, 0.5),
  p95: quantile(histogram, 0.95),
  p99: quantile(histogram, 0.99),
});

/** Success rates and onboarding state of a workspace. */
export class Insight {
  readonly #deps: InsightDependencies;

  constructor(dependencies: InsightDependencies) {
    this.#deps = dependencies;
  }

  /** Combines five-minute sums with the index of ended runs for the most recent period. */
  slo(tenantId: string, window: SloWindow): Promise<Slo> {
    return this.#deps.db.read(tenantId, (tx) => this.sloWithin(tx, tenantId, window));
  }

  async sloWithin(tx: Transaction, tenantId: string, window: SloWindow): Promise<Slo> {
    const to = new Date();
    const from = new Date(to.getTime() - sloWindows[window] * 1000);
    const firstSlice = new Date(Math.ceil(from.getTime() / (sliceSeconds * 1000)) * sliceSeconds * 1000);
    const [{ slices, through }, startedCounts, nodesNow, commands, sent, models] = await Promise.all([
      readSlices(tx, tenantId, firstSlice, to),
      summarisePeriod(tx, tenantId, from, firstSlice),
      this.#nodeCounts(tx, tenantId),
      tx.query<{ p50: number | null; p95: number | null; p99: number | null }>(
        'command_latency',
        `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY ms) AS p50, percentile_cont(0.95) WITHIN GROUP (ORDER BY ms) AS p95, percentile_cont(0.99) WITHIN GROUP (ORDER BY ms) AS p99
       FROM (SELECT extract(epoch from finished_at - handed_out_at)::float8 * 1000 AS ms FROM node_commands
             WHERE tenant_id = $1 AND status = 'succeeded' AND finished_at >= $2 AND handed_out_at IS NOT NULL ORDER BY finished_at DESC LIMIT 5000) latest`,
        [tenantId, from],
      ),
      tx.query<{ delivered: number; failed: number }>(
        'webhook_counts',
        `SELECT count(*) FILTER (WHERE status = 'delivered')::int AS delivered, count(*) FILTER (WHERE status = 'failed')::int AS failed FROM messages WHERE tenant_id = $1 AND channel = 'webhook' AND created_at >= $2`,
        [tenantId, from],
      ),
      readModelHealth(tx, tenantId, from),
    ]);
    const summedUntil = through !== null && through > firstSlice ? through : firstSlice;
    const parts = [
      ...slices,
      startedCounts,
      await summarisePeriod(tx, tenantId, summedUntil, new Date(to.getTime() + 1000)),
    ];
    const queue: Histogram = {};
    const run: Histogram = {};
    const counts = { succeeded: 0, failed: 0, cancelled: 0 };
    for (const part of parts) {
      counts.succeeded += part.succeeded;
      counts.failed += part.failed;
      counts.cancelled += part.cancelled;
      addHistogram(queue, part.queue_histogram);
      addHistogram(run, part.run_histogram);
    }
    const decided = counts.succeeded + counts.failed;
    const commandRow = commands.rows[0];
    const rounded = (value: number | null | undefined) =>
      value === null || value === undefined ? null : Math.round(value * 10) / 10;
    return {
      window,
      from: from.toISOString(),
      to: to.toISOString(),
      runs: {
        total: decided + counts.cancelled,
        ...counts,
        successRate: decided === 0 ? null : counts.succeeded / decided,
      },
      latencyMs: { queue: latencies(queue), run: latencies(run) },
      nodes: {
        ...nodesNow,
        commandLatencyMs: {
          p50: rounded(commandRow?.p50),
          p95: rounded(commandRow?.p95),
          p99: rounded(commandRow?.p99),
        },
      },
      webhooks: { delivered: sent.rows[0]?.delivered ?? 0, failed: sent.rows[0]?.failed ?? 0 },
      models,
    };
  }

  /** The onboarding steps, which of them are done, and the API request for the next one. */
  onboarding(tenantId: string): Promise<Onboarding> {
    return this.#deps.db.read(tenantId, async (tx) => {
      const count = async (table: typeof agents | typeof channels | typeof packInstalls) => {
        const [row] = await tx
          .select({ count: sql<number>`count(*)::int` })
          .from(table)
          .where(eq(table.tenantId, tenantId));
        return row?.count ?? 0;
      };
      const [live] = await tx
        .select({ count: sql<number>`count(*)::int` })
        .from(workflows)
        .where(and(eq(workflows.tenantId, tenantId), isNull(workflows.deletedAt), isShown));
      const [first] = await tx
        .select({ id: workflows.id })
        .from(workflows)
        .where(and(eq(workflows.tenantId, tenantId), isNull(workflows.deletedAt), isShown))
        .orderBy(workflows.id)
        .limit(1);
      const [succeeded] = await tx
        .select({ id: runs.id })
        .from(runs)
        .where(and(eq(runs.tenantId, tenantId), eq(runs.status, 'succeeded')))
        .orderBy(desc(runs.id))
        .limit(1);
      const [models] = await tx
        .select({ order: modelConfigs.order })
        .from(modelConfigs)
        .where(eq(modelConfigs.tenantId, tenantId));
      const nodesNow = await this.#nodeCounts(tx, tenantId);
      const counts = {
        workflows: live?.count ?? 0,
        nodesOnline: nodesNow.online,
        nodes: nodesNow.total,
        models: models?.order.length ?? 0,
        channels: await count(channels),
        agents: await count(agents),
        packs: await count(packInstalls),
        runsSucceeded: succeeded !== undefined,
      };
      const post = (path: string, body: Onboarding['steps'][number]['request']['body']) => ({
        method: 'POST',
        path,
        body,
      });
      const steps: Onboarding['steps'] = [
        {
          id: 'node',
          title: 'Pair a machine',
          done: counts.nodes > 0,
          why: 'Workflows run commands on real machines through the companion.',
          request: post('/v1/automations/nodes', { name: 'My laptop' }),
        },
        {
          id: 'pack',
          title: 'Install a pack',
          done: counts.packs > 0,
          why: 'Packs are ready-made workflows.',
          request: post('/v1/automations/skills/install', { packId: 'weekly-run-digest' }),
        },
        {
          id: 'workflow',
          title: 'Create a workflow',
          done: counts.workflows > 0,
          why: 'A workflow is a trigger and steps.',
          request:
            counts.packs > 0
              ? post('/v1/automations/skills/weekly-run-digest/workflow', { inputs: {} })
              : post('/v1/automations/workflows', {
                  name: 'My first workflow',
                  stepsJson: [{ type: 'log', message: 'Hello' }],
                }),
        },
        {
          id: 'run',
          title: 'Run it',
          done: counts.runsSucceeded,
          why: 'A run shows the result of each step.',
          request: post(`/v1/automations/workflows/${first?.id ?? '{id}'}/run`, {}),
        },
        {
          id: 'model',
          title: 'Set a model',
          done: counts.models > 0 || this.#deps.hasOwnModel,
          why: 'Agents and ai.invoke use it.',
          request: {
            method: 'PUT',
            path: '/v1/automations/models',
            body: {
              models: [
                {
                  id: 'main',
                  provider: 'openai-compatible',
                  baseUrl: 'https://api.example.com/v1',
                  model: 'MODEL',
                  apiKey: 'KEY',
                },
              ],
              order: ['main'],
            },
          },
        },
        {
          id: 'agent',
          title: 'Create an agent',
          done: counts.agents > 0,
          why: 'An agent answers messages and uses skills as its tools.',
          request: post('/v1/automations/agents', {
            name: 'Assistant',
            systemPrompt: 'You help our team.',
            routeKeys: ['*'],
          }),
        },
        {
          id: 'channel',
          title: 'Connect a channel',
          done: counts.channels > 0,
          why: 'People write to your agents and workflows through it.',
          request: post('/v1/automations/channels', {
            provider: 'webhook',
            name: 'Inbound',
            config: { inboundSecret: 'AT-LEAST-16-CHARACTERS' },
          }),
        },
      ];
      const next = steps.find((step) => !step.done)?.id ?? null;
      return { complete: next === null, steps, next, counts };
    });
  }

  async #nodeCounts(tx: Transaction, tenantId: string): Promise<{ online: number; total: number }> {
    const [row] = await tx
      .select({
        total: sql<number>`count(*) filter (where paired_at is not null)::int`,
        online: sql<number>`count(*) filter (where last_seen_at > now() - make_interval(secs => ${this.#deps.heartbeatSeconds * 3}))::int`,
      })
      .from(nodes)
      .where(and(eq(nodes.tenantId, tenantId), isNull(nodes.revokedAt)));
    return { total: row?.total ?? 0, online: row?.online ?? 0 };
  }
}
