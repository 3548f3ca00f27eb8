import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import { makeSchedulesDue } from '../fixtures/stage/automations.ts';
import { until } from '../fixtures/until.ts';

test('each schedule fire starts one run, with three hub processes of which one is killed', async () => {
  await using database = await acquireDatabase();
  const home = await mkdtemp(join(tmpdir(), 'outrigger-schedules-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    DATABASE_POOL_SIZE: '6',
  };
  const first = await startHubProcess(env, ['--role', 'worker']);
  const others = await Promise.all([
    startHubProcess(env, ['--role', 'worker']),
    startHubProcess(env, ['--role', 'worker']),
  ]);

  const [tenant] = await database.query<{ id: string }>('select id from tenants limit 1');
  const schedules = 20;
  const steps = JSON.stringify([{ type: 'log', message: '{{trigger.fireAt}}' }]);
  const trigger = JSON.stringify({
    schemaVersion: 1,
    type: 'schedule',
    schedule: {
      kind: 'interval',
      everySeconds: 1,
      timezone: 'UTC',
      onMissed: 'all',
      maxCatchUp: 100,
      overlap: 'allow',
      jitterSeconds: 0,
    },
  });
  await database.query(
    `with made as (
       insert into workflows (id, tenant_id, name, active, version, trigger, steps, next_run_at)
       select gen_random_uuid(), $1, 'every second ' || n, true, 1, $2, $3, date_trunc('second', now()) + interval '1 second' from generate_series(1, $4) n returning id, tenant_id, name, steps
     ) insert into workflow_versions (workflow_id, version, tenant_id, name, steps) select id, 1, tenant_id, name, steps from made`,
    [tenant?.id, trigger, steps, schedules],
  );
  await delay(4_000);
  await first.kill();
  // A busy machine fires late and then catches up on all missed fires.
  const hasFired = async () => {
    const [row] = await database.query<{ least: number }>(
      `select coalesce(min(seconds), 0)::int as least from (select extract(epoch from max(f.fire_at) - min(f.fire_at)) + 1 as seconds from workflows w
           left join schedule_fires f on f.workflow_id = w.id group by w.id) fired`,
    );
    return (row?.least ?? 0) >= 10;
  };
  await until(hasFired, () => 'the schedules did not go on');
  await database.query('update workflows set next_run_at = null');

  let open: unknown[] = [];
  const allEnded = async () => {
    open = await database.query(
      'select status, attempt, started_at, holder_id, wake_at, lost_leases from runs where finished_at is null limit 5',
    );
    return open.length === 0;
  };
  // The runs of the killed process are claimed again when its lease ends.
  await until(allEnded, () => `runs did not end: ${JSON.stringify(open)}`);
  const rows = await database.query<{ workflow_id: string; fires: number; runs: number; seconds: number }>(
    `select w.id as workflow_id,
       (select count(*)::int from schedule_fires f where f.workflow_id = w.id and f.outcome = 'started') as fires,
       (select count(distinct trigger->>'fireAt')::int from runs r where r.workflow_id = w.id) as runs,
       (select count(*)::int from runs r where r.workflow_id = w.id) as all_runs,
       (select extract(epoch from max(fire_at) - min(fire_at))::int + 1 from schedule_fires f where f.workflow_id = w.id) as seconds
     from workflows w`,
  );
  expect(rows.length).toBe(schedules);
  for (const row of rows) {
    // Each second has exactly one fire and one run.
    expect([row.runs, row.fires]).toEqual([row.seconds, row.seconds]);
    expect(row).toMatchObject({ all_runs: row.runs });
    expect(row.seconds).toBeGreaterThanOrEqual(8);
  }
  const [ended] = await database.query<{ failed: number; lines: number; runs: number }>(
    `select count(*) filter (where status <> 'succeeded')::int as failed, count(*)::int as runs, (select count(*)::int from run_logs) as lines from runs`,
  );
  expect(ended).toEqual({ failed: 0, runs: ended?.runs, lines: ended?.runs });
  await Promise.all(others.map((hub) => hub.stop()));
});

/** A hub process whose clock differs from that of the database, and a client. */
async function startMovedHub(databaseUrl: string, movedMs: number) {
  const home = await mkdtemp(join(tmpdir(), 'outrigger-schedules-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const env = { OUTRIGGER_HOME: home, PORT: '0', DATABASE_URL: databaseUrl, SECRET_KEY: 'ab'.repeat(32) };
  const hub = await startHubProcess({
    ...env,
    NODE_OPTIONS: `--import=${new URL('../fixtures/moved-clock.ts', import.meta.url).href}`,
    CLOCK_MOVED_MS: String(movedMs),
  });
  const token = await cli(env, 'token', 'create', '--product', 'automations');
  return { hub, api: createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token }) };
}

test('schedules follow the clock of the database, with a hub process whose clock is a day ahead', async () => {
  await using database = await acquireDatabase();
  const dayMs = 86_400_000;
  const { hub, api } = await startMovedHub(database.url, dayMs);
  const create = (schedule: object) =>
    api.call('createAutomationWorkflow', {
      body: {
        name: 'w',
        stepsJson: [{ type: 'log', message: 'fired' }],
        triggerJson: { type: 'schedule', schedule } as never,
      },
    });
  const firesOf = async (workflowId: string) =>
    (await api.call('listAutomationRuns', { query: { workflowId } })).data.map(({ status }) => status);
  const nextOf = async (id: string) =>
    Date.parse((await api.call('getAutomationWorkflow', { params: { id } })).nextRunAt ?? '');
  const inMs = (ms: number) => new Date(Date.now() + ms).toISOString();

  // Both times are in the past of the process.
  const once = await create({ kind: 'at', at: inMs(dayMs / 2) });
  const hourly = await create({ kind: 'interval', everySeconds: 3_600 });
  // The first 48 bits of an id are the time of its process.
  expect(Number.parseInt(once.id.replaceAll('-', '').slice(0, 12), 16)).toBeGreaterThan(Date.now() + dayMs / 2);
  for (const { id } of [once, hourly]) {
    expect(await nextOf(id)).toBeGreaterThan(Date.now());
    expect(await nextOf(id)).toBeLessThan(Date.now() + dayMs);
  }
  const past = create({ kind: 'at', at: inMs(-60_000) });
  await expect(past).rejects.toMatchObject({ code: 'workflow_invalid' });

  const due = await create({ kind: 'interval', everySeconds: 3_600 });
  for (let fires = 1; fires <= 2; fires += 1) {
    await makeSchedulesDue(database, [due.id], { seconds: 1 });
    await expect.poll(() => firesOf(due.id)).toEqual(Array.from({ length: fires }, () => 'succeeded'));
    expect(await nextOf(due.id)).toBeGreaterThan(Date.now());
    expect(await nextOf(due.id)).toBeLessThanOrEqual(Date.now() + 3_600_000);
  }
  // The passes that fired the due schedule left the others.
  expect([await firesOf(once.id), await firesOf(hourly.id)]).toEqual([[], []]);
  expect(await hub.stop()).toBe(0);
});

test('a limit of runs per minute holds in a hub process whose clock is two hours behind', async () => {
  await using database = await acquireDatabase();
  const { hub, api } = await startMovedHub(database.url, -7_200_000);
  const { id } = await api.call('createAutomationWorkflow', {
    body: {
      name: 'w',
      stepsJson: [{ type: 'log', message: 'x' }],
      limits: { maxRunsPerMinute: 1, onLimit: 'drop' },
    },
  });
  const start = () => api.call('runAutomationWorkflow', { params: { id } });
  const answer = await start();
  const runId = 'runId' in answer ? answer.runId : '';
  // The first 48 bits of an id are the time of its process.
  expect(Number.parseInt(runId.replaceAll('-', '').slice(0, 12), 16)).toBeLessThan(Date.now() - 3_600_000);
  await expect(start()).rejects.toMatchObject({ code: 'workflow_limit_reached' });
  expect(await hub.stop()).toBe(0);
});
