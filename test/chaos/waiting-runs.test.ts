import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

const waitingRuns = 10_000;
/** Measured time in milliseconds. Statistics arrive a second late. */
const watchedMs = 3_000;

interface Work {
  commits: number;
  written: number;
  read: number;
}

/** Measures the work of the database while no requests arrive. */
async function measureWork(database: TestDatabase): Promise<Work> {
  const readCounters = async () => {
    const [row] = await database.query<Work>(
      // Only tables of the hub. The server writes others by itself, for example the results of ANALYZE.
      `SELECT (SELECT xact_commit::int FROM pg_stat_database WHERE datname = current_database()) AS commits,
         sum(n_tup_ins + n_tup_upd + n_tup_del)::int AS written, sum(coalesce(seq_tup_read, 0) + coalesce(idx_tup_fetch, 0))::int AS read FROM pg_stat_user_tables`,
    );
    return row as Work;
  };
  const before = await readCounters();
  await delay(watchedMs);
  const after = await readCounters();
  return {
    commits: after.commits - before.commits,
    written: after.written - before.written,
    read: after.read - before.read,
  };
}

/** Adds copies of a run that waits for a limit. They follow it in the order of their ids. */
async function addWaitingRuns(database: TestDatabase, runId: string, count: number): Promise<void> {
  const inserted = async () =>
    (await database.query<{ n: number }>('SELECT sum(n_tup_ins)::int AS n FROM pg_stat_user_tables'))[0]?.n ?? 0;
  const before = await inserted();
  await database.query(
    `WITH more AS (
       SELECT (lpad(to_hex((extract(epoch FROM clock.at) * 1000)::bigint), 12, '0') || '70008' || lpad(to_hex(n), 15, '0'))::uuid AS id, gen_random_uuid() AS flow_id FROM (SELECT now() AS at) clock, generate_series(1, $2::int) n
     ), flow AS (
       INSERT INTO flows (id, tenant_id, workflow_id, revision) SELECT more.flow_id, tenant_id, workflow_id, 1 FROM more, runs WHERE runs.id = $1
     )
     INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, waits_for, wake_at, holder_id, fence, wake_count, queued_at)
     SELECT more.id, tenant_id, workflow_id, workflow_version, more.flow_id, status, trigger, environment, attempt, waits_for, wake_at, holder_id, fence, wake_count, queued_at FROM more, runs WHERE runs.id = $1`,
    [runId, count],
  );
  await database.query('ANALYZE runs');
  // Waits until the statistics include the inserts.
  await until(
    async () => (await inserted()) - before >= 2 * count,
    () => 'the statistics do not include the rows',
  );
}

test('ten thousand runs that wait for a limit cost an idle database no work, do not delay other runs, and start in order after a kill -9 of the hub', async () => {
  await using database = await acquireDatabase();
  const home = await mkdtemp(join(tmpdir(), 'outrigger-held-'));
  onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 5 }));
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    RATE_LIMIT_PER_MINUTE: '1000000',
  };
  const hub = await startHubProcess(env);
  const token = await cli(env, 'token', 'create', '--product', 'automations');
  const clientOf = (url: string) => createClient({ baseUrl: url, fetch: fetch as unknown as Fetch, token });
  let api = clientOf(hub.url);
  const limits = (maxConcurrentRuns: number) => ({ limits: { maxConcurrentRuns, onLimit: 'queue' as const } });
  const { id } = await api.call('createAutomationWorkflow', {
    body: { name: 'one by one', stepsJson: [{ type: 'approval', title: 'wait' }], ...limits(1) },
  });
  const quick = await api.call('createAutomationWorkflow', {
    body: { name: 'quick', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  const run = async (workflowId: string) =>
    startedRun(await api.call('runAutomationWorkflow', { params: { id: workflowId } })).runId;
  const runQuick = async () => (await settledRun(api, await run(quick.id))).status;
  // Checking the first runs is enough: the later ones cannot start before them.
  const states = () =>
    database.query<{ status: string; waits_for: string | null; has_started: boolean }>(
      `SELECT status, waits_for, started_at IS NOT NULL AS has_started FROM runs WHERE workflow_id = $1 ORDER BY id LIMIT 100`,
      [id],
    );
  const startedRuns = async () => (await states()).flatMap((row, place) => (row.has_started ? [place] : []));

  const first = await run(id);
  await until(
    async () => (await states())[0]?.status === 'waiting_approval',
    () => 'the first run did not start',
  );
  await run(id);
  const third = await run(id);
  await until(
    async () => (await states()).map((row) => row.waits_for).join() === ',max_concurrent_runs,earlier_runs',
    () => 'the later runs do not wait for the limit',
  );
  expect(await runQuick()).toBe('succeeded');

  const without = await measureWork(database);
  await addWaitingRuns(database, third, waitingRuns);
  const withWaitingRuns = await measureWork(database);
  // Periodic tasks continue. If they read each waiting run, one of these numbers would show it.
  expect(withWaitingRuns.commits).toBeLessThan(without.commits + waitingRuns / 10);
  expect(withWaitingRuns.written).toBeLessThan(without.written + waitingRuns / 10);
  expect(withWaitingRuns.read - without.read).toBeLessThan(waitingRuns);

  expect(await Promise.all(Array.from({ length: 10 }, runQuick))).toEqual(
    Array.from({ length: 10 }, () => 'succeeded'),
  );
  expect(await startedRuns()).toEqual([0]);
  await hub.kill();
  const again = await startHubProcess(env);
  api = clientOf(again.url);
  expect(await runQuick()).toBe('succeeded');
  await run(id);
  const upTo = (count: number) => Array.from({ length: count }, (_value, place) => place);
  for (const most of [5, 40]) {
    await api.call('updateAutomationWorkflow', { params: { id }, body: limits(most) });
    await until(
      async () => (await states()).filter(({ status }) => status === 'waiting_approval').length === most,
      () => 'the runs within the limit did not start',
    );
    expect(await startedRuns()).toEqual(upTo(most));
  }
  const [approval] = (await api.call('listAutomationApprovals', { query: { runId: first } })).data;
  await api.call('decideAutomationApproval', {
    params: { id: approval?.id as string },
    body: { decision: 'approved' },
  });
  await until(
    async () => (await startedRuns()).length === 41,
    () => 'the slot of a finished run was not used',
  );
  expect(await startedRuns()).toEqual(upTo(41));
  expect(
    await database.query(
      'SELECT count(*)::int AS runs, count(started_at)::int AS begun FROM runs WHERE workflow_id = $1',
      [id],
    ),
  ).toEqual([{ runs: waitingRuns + 4, begun: 41 }]);
  expect(await again.stop()).toBe(0);
});
