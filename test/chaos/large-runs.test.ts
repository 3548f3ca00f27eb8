import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

const memories = 8;
const runCount = 24;

test('runs whose outputs together exceed the memory of the hub finish one after the other, and do not crash the hub', async () => {
  await using database = await acquireDatabase();
  await using receiver = await startReceiver();
  const home = await mkdtemp(join(tmpdir(), 'outrigger-large-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  // The runs wait for this receiver at the same time, each with 31 MB of outputs that a later step reads. A delivery
  // that reaches its time limit of 15 s on a busy machine is repeated.
  receiver.answer = async (_received, response) => {
    await delay(9_000);
    while (receiver.mostOpen <= 8 && !response.destroyed) await delay(100);
    response.end();
  };
  const retry = { maxAttempts: 10, backoffSeconds: 0, factor: 1 };
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    EGRESS_ALLOW_HOSTS: new URL(receiver.url).host,
    DATABASE_POOL_SIZE: '8',
    NODE_OPTIONS: '--max-old-space-size=400',
  };
  const hub = await startHubProcess(env);
  const key = await cli(env, 'token', 'create', '--product', 'automations');
  const api = createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token: key });
  const keys = Array.from({ length: memories }, (_unused, index) => `k${index}`);
  const diff = (name: string, items: Record<string, string>[]) => ({
    type: 'skill' as const,
    id: name,
    skillId: 'memory.diff',
    input: { key: name, by: 'id', items },
  });
  const create = async (stepsJson: object[]) =>
    (await api.call('createAutomationWorkflow', { body: { name: 'large', stepsJson: stepsJson as never } })).id;
  const start = async (id: string, payload: Record<string, string>) =>
    startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: { payload } })).runId;
  const ended = (id: string) =>
    settledRun(api, id).then(({ status, error }) => ({
      status,
      error,
    }));
  await ended(await start(await create(keys.map((name) => diff(name, [{ id: '0' }]))), {}));
  const x = '{{payload.x}}'.repeat(4);
  const id = await create([
    ...keys.map((name) => diff(name, [{ id: `{{run.id}}-${name}`, x }])),
    { type: 'skill', skillId: 'webhook.deliver', input: { url: receiver.url }, retry },
    { type: 'skill', skillId: 'webhook.deliver', input: { url: receiver.url, body: '{{payload.x}}' }, retry },
    ...keys.map((name) => ({ type: 'log', message: `{{steps.${name}.output.first}}` })),
  ]);
  for (let run = 0; run < runCount; run += 1) await start(id, { x: 'x'.repeat(980_000) });
  await until(
    async () =>
      (await database.query('select id from runs where workflow_id = $1 and finished_at is not null', [id])).length ===
      runCount,
    () => 'not all runs finished',
    240_000,
  );
  const outcomes = await database.query<{ status: string; count: number }>(
    'select status, count(*)::int as count from runs where workflow_id = $1 group by status',
    [id],
  );
  expect(outcomes).toEqual([{ status: 'succeeded', count: runCount }]);
  expect(receiver.mostOpen).toBeGreaterThan(8);
  expect(hub.child.exitCode).toBeNull();
});
