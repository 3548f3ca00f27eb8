import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client as Postgres } from 'pg';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Client, Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import type { HubProcess } from '../fixtures/processes.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { startSlowConnection } from '../fixtures/slow-connection.ts';
import type { SlowConnection } from '../fixtures/slow-connection.ts';

let database: TestDatabase;
let home: string;
/** The connection of the hubs to the database. */
let line: SlowConnection;
beforeAll(async () => {
  database = await acquireDatabase();
  line = await startSlowConnection(database.url);
  home = await mkdtemp(join(tmpdir(), 'outrigger-chaos-'));
});
afterAll(async () => {
  await line[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(home, { recursive: true, force: true });
});

/** Starts a real hub, with short time limits for its database unless the options of its address are other ones. */
async function startHub(
  query = '?lock_timeout=300&query_timeout=6000',
  more: Record<string, string> = {},
): Promise<{ hub: HubProcess; url: string; key: string; api: Client }> {
  const address = new URL(database.url);
  address.port = new URL(line.url).port;
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: `${address.href}${query}`,
    SECRET_KEY: 'ab'.repeat(32),
    RATE_LIMIT_PER_MINUTE: '1000000',
    ...more,
  };
  const hub = await startHubProcess(env);
  onTestFinished(() => hub.kill());
  const key = await cli(env, 'token', 'create', '--product', 'automations');
  return {
    hub,
    url: hub.url,
    key,
    api: createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token: key }),
  };
}

/** Leaves all requests of the hub to the database without a response until the returned function is called. */
function pauseDatabase(): () => void {
  const resume = () => line.setSpeed(Infinity);
  onTestFinished(resume);
  line.setSpeed(0);
  return resume;
}

test('runs blocked by a locked table finish once the lock is released, with each step done once', async () => {
  const { api } = await startHub();
  const { id } = await api.call('createAutomationWorkflow', {
    body: {
      name: 'w',
      stepsJson: [
        { type: 'log', message: 'one' },
        { type: 'log', message: 'two' },
      ],
    } as never,
  });
  const locker = new Postgres({ connectionString: database.url });
  await locker.connect();
  await locker.query('BEGIN; LOCK TABLE run_steps IN SHARE MODE');
  const runIds = await Promise.all(
    Array.from(
      { length: 5 },
      async () => startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} })).runId,
    ),
  );
  const waiting = async () =>
    (
      await database.query(
        `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%run_steps%'`,
      )
    ).length;
  for (const seen of [true, false, true])
    await expect.poll(async () => (await waiting()) > 0, { interval: 5 }).toBe(seen);
  await locker.query('ROLLBACK');
  await locker.end();
  for (const runId of runIds)
    expect(await settledRun(api, runId)).toMatchObject({
      status: 'succeeded',
    });
  expect(await database.query('SELECT DISTINCT lost_leases FROM runs')).toEqual([{ lost_leases: 0 }]);
  expect(await database.query('SELECT message, count(*)::int AS lines FROM run_logs GROUP BY 1 ORDER BY 1')).toEqual([
    { message: 'one', lines: 5 },
    { message: 'two', lines: 5 },
  ]);
});

test('while the database does not respond, requests get 503 and the hub is not ready; afterwards both recover', async () => {
  const { url, key, api } = await startHub();
  const get = async (path: string) => {
    const response = await fetch(url + path, { headers: { 'x-api-key': key }, signal: AbortSignal.timeout(60_000) });
    return { status: response.status, body: (await response.json()) as { code?: string } };
  };
  await expect.poll(() => get('/readyz')).toMatchObject({ status: 200 });
  const resume = pauseDatabase();
  const answers = await Promise.all([
    get('/readyz'),
    get('/v1/automations/runs'),
    get('/v1/automations/workflows'),
    get('/healthz'),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([503, 503, 503, 200]);
  expect(answers[1]?.body.code).toBe('unavailable');
  resume();
  await expect.poll(async () => (await get('/readyz')).status).toBe(200);
  const { id } = await api.call('createAutomationWorkflow', {
    body: { name: 'after', stepsJson: [{ type: 'log', message: 'after' }] } as never,
  });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} }));
  expect(await settledRun(api, runId)).toMatchObject({
    status: 'succeeded',
  });
});

test('a hub that is stopped while the database does not respond exits within 60 seconds', async () => {
  const { hub } = await startHub('', { SHUTDOWN_SECONDS: '1' });
  pauseDatabase();
  const deadline = AbortSignal.timeout(60_000);
  expect(
    await Promise.race([
      hub.stop().then(() => 'ended'),
      new Promise((done) => deadline.addEventListener('abort', () => done('still there'))),
    ]),
  ).toBe('ended');
});
