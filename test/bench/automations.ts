import { execFile } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { Client as PgClient } from 'pg';
import { Agent, request } from 'undici';
import { readPostgresUrl } from '../../hub/platform/postgres-server/server.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import { readBenchArguments } from './bench-arguments.ts';
import { startBenchHub } from './hub.ts';
import type { BenchHub } from './hub.ts';
import { costColumns, milliseconds, percentile, printTable } from './table.ts';

const manyRuns = 1_000_000;
const fewRuns = 1_000;
const pagesEach = 200;
const schedules = 10_000;
const agentRuns = 100;

async function connect(hub: BenchHub): Promise<PgClient> {
  const database = new PgClient({ connectionString: readPostgresUrl(hub.home) as string });
  await database.connect();
  return database;
}

/** Inserts finished runs of the last 30 days with their steps and log lines. */
async function fill(database: PgClient, workflowIds: string[], from: number, to: number): Promise<void> {
  const batch = 100_000;
  for (let at = from; at < to; at += batch) {
    process.stdout.write(`  ${Math.round((at / manyRuns) * 100)} %\r`);
    await database.query(
      `WITH made AS (
         SELECT n, t, (lpad(to_hex((extract(epoch from t) * 1000)::bigint), 12, '0') || '7' || lpad(to_hex(n % 4096), 3, '0') || '8' || lpad(to_hex(n), 15, '0'))::uuid AS id,
           ($1::uuid[])[1 + n % cardinality($1::uuid[])] AS workflow_id
         FROM (SELECT n, now() - ($4::int - n) * interval '2.5 seconds' AS t FROM generate_series($2::int, $3::int - 1) n) series
       ), tenant AS (SELECT id FROM tenants LIMIT 1), run AS (
         INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, next_step, queued_at, started_at, finished_at)
         SELECT made.id, tenant.id, workflow_id, 1, made.id, CASE WHEN n % 20 = 0 THEN 'failed' ELSE 'succeeded' END, '{"type":"manual"}', 'live', 1, 1, t, t + interval '3 milliseconds', t + interval '40 milliseconds' FROM made, tenant RETURNING 1
       )
       INSERT INTO run_logs (id, tenant_id, run_id, workflow_id, step_index, level, message, created_at)
       SELECT made.id, tenant.id, made.id, workflow_id, 0, CASE WHEN n % 10 = 0 THEN 'error' ELSE 'info' END, 'done', t FROM made, tenant WHERE EXISTS (SELECT 1 FROM run)`,
      [workflowIds, at, Math.min(at + batch, to), manyRuns],
    );
  }
  await database.query('VACUUM ANALYZE runs, run_logs');
}

async function timePages(
  hub: BenchHub,
  path: () => string,
  headers: Record<string, string>,
  dispatcher: Agent,
): Promise<number[]> {
  const samples: number[] = [];
  for (let index = 0; index < pagesEach + 20; index += 1) {
    const startedAt = performance.now();
    const { statusCode, body } = await request(`${hub.url}${path()}`, { dispatcher, headers });
    await body.dump();
    if (statusCode !== 200) throw new Error(`${path()} answered ${statusCode}`);
    if (index >= 20) samples.push(performance.now() - startedAt);
  }
  return samples;
}

async function signIn(hub: BenchHub): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [resolve('hub/cli/cli.ts'), 'link'], {
    env: { PATH: process.env['PATH'], HOME: process.env['HOME'], OUTRIGGER_HOME: hub.home },
  });
  const code = new URL(stdout.trim()).searchParams.get('code') as string;
  return (await hub.api.call('redeemSignInLink', { body: { code } })).token;
}

async function measurePages(): Promise<Record<string, string>[]> {
  await using hub = await startBenchHub({ DATABASE_POOL_SIZE: '20' });
  const database = await connect(hub);
  const workflowIds: string[] = [];
  for (let index = 0; index < 20; index += 1)
    workflowIds.push(
      (
        await hub.api.call('createAutomationWorkflow', {
          body: { name: `w${index}`, stepsJson: [{ type: 'log', message: 'x' }] },
        })
      ).id,
    );
  const jwt = await signIn(hub);
  const dispatcher = new Agent({ connections: 1 });
  const token = { 'x-api-key': hub.key };
  const day = (ago: number) => encodeURIComponent(new Date(Date.now() - ago * 86_400_000).toISOString());
  const kinds: [string, () => string, Record<string, string>][] = [
    ['runs, newest 50', () => '/v1/automations/runs', token],
    ['runs, failed', () => '/v1/automations/runs?status=failed', token],
    ['runs, one workflow', () => `/v1/automations/runs?workflowId=${workflowIds[3]}`, token],
    ['runs, one day two weeks ago', () => `/v1/automations/runs?from=${day(15)}&to=${day(14)}`, token],
    ['logs, newest 50', () => '/v1/automations/logs', token],
    ['logs, errors of one workflow', () => `/v1/automations/logs?level=error&workflowId=${workflowIds[10]}`, token],
    ['SLO, 30 days', () => '/v1/automations/slo?window=30d', token],
    ['console', () => '/growth/automations/console', { authorization: `Bearer ${jwt}` }],
  ];
  const measure = async () => {
    const found = new Map<string, number[]>();
    for (const [name, path, headers] of kinds) found.set(name, await timePages(hub, path, headers, dispatcher));
    return found;
  };
  await fill(database, workflowIds, manyRuns - fewRuns, manyRuns);
  const few = await measure();
  await fill(database, workflowIds, 0, manyRuns - fewRuns);
  // The sweep computes the totals of a month.
  process.stdout.write('  waiting for the sums of 30 days\r');
  const isSummed = async () =>
    Number(
      (
        await database.query(
          "select count(*)::int as n from runs where finished_at > coalesce((select max(slice_at) + interval '5 minutes' from run_rollups), '-infinity') and finished_at < now() - interval '10 minutes'",
        )
      ).rows[0].n,
    ) === 0;
  while (!(await isSummed())) await new Promise((done) => setTimeout(done, 2_000));
  const many = await measure();
  const { rows: bare } = await database.query<{ tenant: string }>('select id as tenant from tenants limit 1');
  const direct: number[] = [];
  for (let index = 0; index < pagesEach; index += 1) {
    const startedAt = performance.now();
    await database.query({
      name: 'bare',
      text: 'select * from runs where tenant_id = $1 order by id desc limit 51',
      values: [bare[0]?.tenant],
    });
    direct.push(performance.now() - startedAt);
  }
  await database.end();
  await dispatcher.close();
  const row = (what: string, before: number[] | undefined, after: number[]) => ({
    what,
    [`${fewRuns} runs p50`]: before === undefined ? '' : milliseconds(percentile(before, 0.5)),
    p99: before === undefined ? '' : milliseconds(percentile(before, 0.99)),
    [`${manyRuns} runs p50`]: milliseconds(percentile(after, 0.5)),
    'p99 ': milliseconds(percentile(after, 0.99)),
  });
  return [
    ...kinds.map(([name]) => row(name, few.get(name), many.get(name) as number[])),
    row('the same newest 50 by bare SQL', undefined, direct),
  ];
}

/** Measures schedules that are due within a minute, either spread over it or all in one second. */
async function measureSchedules(spreadSeconds: number): Promise<Record<string, string>> {
  await using hub = await startBenchHub();
  const database = await connect(hub);
  const trigger = JSON.stringify({
    schemaVersion: 1,
    type: 'schedule',
    schedule: {
      kind: 'interval',
      everySeconds: 86_400,
      timezone: 'UTC',
      onMissed: 'last',
      maxCatchUp: 1,
      overlap: 'allow',
      jitterSeconds: 0,
    },
  });
  const steps = JSON.stringify([{ type: 'log', message: 'fired', level: 'info' }]);
  await database.query(
    `WITH made AS (
       INSERT INTO workflows (id, tenant_id, name, active, version, trigger, steps, next_run_at)
       SELECT gen_random_uuid(), (SELECT id FROM tenants LIMIT 1), 's' || n, true, 1, $1, $2, now() + interval '5 seconds' + (n * $3::float8 / $4) * interval '1 second' FROM generate_series(1, $4::int) n RETURNING id, tenant_id, name, steps
     ) INSERT INTO workflow_versions (workflow_id, version, tenant_id, name, steps) SELECT id, 1, tenant_id, name, steps FROM made`,
    [trigger, steps, spreadSeconds, schedules],
  );
  const usageBefore = await hub.usage();
  const count = async () =>
    Number((await database.query('select count(*)::int as n from runs where finished_at is not null')).rows[0].n);
  while ((await count()) < schedules) await new Promise((done) => setTimeout(done, 250));
  const cost = costColumns(usageBefore, await hub.usage(), schedules);
  const { rows } = await database.query<{ fired: number; done: number }>(
    `select extract(epoch from queued_at - (trigger->>'fireAt')::timestamptz)::float8 as fired, extract(epoch from finished_at - (trigger->>'fireAt')::timestamptz)::float8 as done from runs`,
  );
  await database.end();
  const fired = rows.map((row) => row.fired * 1000);
  const done = rows.map((row) => row.done * 1000);
  return {
    what: spreadSeconds === 0 ? `${schedules} due in the same second` : `${schedules} due over ${spreadSeconds} s`,
    'fired after p50': milliseconds(percentile(fired, 0.5)),
    p99: milliseconds(percentile(fired, 0.99)),
    latest: milliseconds(Math.max(...fired)),
    'within 2 s': `${((fired.filter((late) => late <= 2_000).length / fired.length) * 100).toFixed(1)} %`,
    'run done p50': milliseconds(percentile(done, 0.5)),
    'p99 ': milliseconds(percentile(done, 0.99)),
    'latest ': milliseconds(Math.max(...done)),
    ...cost,
  };
}

async function measureAgents(): Promise<Record<string, string>[]> {
  await using model = await startModelServer();
  await using hub = await startBenchHub({ AI_BASE_URL: model.baseUrl, AI_MODEL: 'bench' });
  model.reply = (_request, turn) => (turn === 0 ? 'TOOL_CALL:memory.read|{"key":"a"}' : 'FINAL: done');
  const { id: toolProfileId } = await hub.api.call('putAutomationToolProfile', {
    body: { name: 't', allow: ['memory.read'] },
  });
  const { id } = await hub.api.call('createAutomationWorkflow', {
    body: { name: 'agent', stepsJson: [{ type: 'agent', prompt: 'Look it up.', toolProfileId }] },
  });
  const loop: number[] = [];
  for (let index = 0; index < agentRuns + 5; index += 1) {
    const startedAt = performance.now();
    const { runId } = startedRun(await hub.api.call('runAutomationWorkflow', { params: { id } }));
    const run = await hub.api.call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 20 } });
    if (run.status !== 'succeeded') throw new Error(`the agent's run ${run.status}: ${run.error?.message ?? ''}`);
    if (index >= 5) loop.push(performance.now() - startedAt);
  }
  const bare: number[] = [];
  const dispatcher = new Agent({ connections: 1 });
  for (let index = 0; index < agentRuns + 5; index += 1) {
    const startedAt = performance.now();
    for (const messages of [
      [{ role: 'user', content: 'Look it up.' }],
      [
        { role: 'user', content: 'Look it up.' },
        { role: 'assistant', content: 'x' },
        { role: 'user', content: 'y' },
      ],
    ]) {
      const { body } = await request(`${model.baseUrl}/chat/completions`, {
        method: 'POST',
        dispatcher,
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify({ model: 'bench', messages }),
      });
      await body.json();
    }
    if (index >= 5) bare.push(performance.now() - startedAt);
  }
  await dispatcher.close();
  const row = (what: string, samples: number[]) => ({
    what,
    p50: milliseconds(percentile(samples, 0.5)),
    p99: milliseconds(percentile(samples, 0.99)),
  });
  return [
    row("an agent's run through the public API: two turns, one tool call, all durable", loop),
    row('the two bare model calls', bare),
  ];
}

/** Measures pages of a million runs, ten thousand schedules, and the overhead of an agent loop. */
export async function benchAutomations(args: string[]): Promise<void> {
  const wanted = readBenchArguments('automations', args, {
    agents: "an agent's loop beside the bare calls of its model",
    schedules: 'ten thousand schedules, due over a minute',
    'same-second': 'ten thousand schedules, all due in the same second',
    pages: 'pages over a million runs (takes minutes)',
  });
  if (wanted === null) return;
  const { parts } = wanted;
  if (parts.has('agents'))
    printTable(
      `An agent's loop beside the bare calls of a model that answers at once, ${agentRuns} of each`,
      await measureAgents(),
    );
  const spreads = [...(parts.has('schedules') ? [60] : []), ...(parts.has('same-second') ? [0] : [])];
  const rows: Record<string, string>[] = [];
  for (const seconds of spreads) rows.push(await measureSchedules(seconds));
  if (rows.length > 0) printTable('Schedules on one process', rows);
  if (parts.has('pages'))
    printTable(`Pages of 50 over HTTP, ${pagesEach} of each kind, one after the other`, await measurePages());
}
