import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import type { HubProcess } from '../fixtures/processes.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

const runCount = 20;
const frozenMs = 60_000;

test('the runs of a worker that is frozen for a minute are continued by another one, and end once', async () => {
  await using database = await acquireDatabase();
  const home = await mkdtemp(join(tmpdir(), 'outrigger-frozen-'));
  /** Calls by their idempotency key. The first call of each is answered when the worker is no longer frozen. */
  const calls = new Map<string, number>();
  const late: (() => void)[] = [];
  let answersAll = false;
  const receiver = createServer((request, response) => {
    const key = String(request.headers['idempotency-key']);
    const count = (calls.get(key) ?? 0) + 1;
    calls.set(key, count);
    const answer = () =>
      response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ call: count }));
    if (count === 1 && !answersAll) late.push(answer);
    else answer();
  });
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    receiver.closeAllConnections();
    receiver.close();
  });
  const target = `127.0.0.1:${(receiver.address() as AddressInfo).port}`;
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ef'.repeat(32),
    RATE_LIMIT_PER_MINUTE: '1000000',
    EGRESS_ALLOW_HOSTS: target,
    DATABASE_POOL_SIZE: '8',
  };
  const frozen = await startHubProcess(env);
  const key = await cli(env, 'token', 'create', '--product', 'automations');
  const apiOf = ({ url }: HubProcess) => createClient({ baseUrl: url, fetch: fetch as unknown as Fetch, token: key });
  const { id } = await apiOf(frozen).call('createAutomationWorkflow', {
    body: {
      name: 'frozen',
      stepsJson: [
        { type: 'skill', skillId: 'webhook.deliver', input: { url: `http://${target}/` } },
        { type: 'log', message: 'delivered' },
      ],
    },
  });
  const start = async (hub: HubProcess) =>
    startedRun(await apiOf(hub).call('runAutomationWorkflow', { params: { id } })).runId;
  const runIds = await Promise.all(Array.from({ length: runCount }, () => start(frozen)));
  await until(
    () => late.length === runCount,
    () => `the worker began ${late.length} steps`,
  );

  frozen.child.kill('SIGSTOP');
  const thawed = delay(frozenMs);
  const other = await startHubProcess(env);
  for (const runId of runIds) expect(await settledRun(apiOf(other), runId)).toMatchObject({ status: 'succeeded' });
  await thawed;
  answersAll = true;
  frozen.child.kill('SIGCONT');
  for (const answer of late) answer();

  // The thawed worker renews its lease, and executes new runs.
  await other.stop();
  const nextIds = await Promise.all(Array.from({ length: runCount }, () => start(frozen)));
  for (const runId of nextIds) expect(await settledRun(apiOf(frozen), runId)).toMatchObject({ status: 'succeeded' });
  const rows = await database.query<{ id: string; lines: number; calls: number }>(
    `SELECT r.id, (SELECT count(*)::int FROM run_logs l WHERE l.run_id = r.id) AS lines,
       (SELECT (s.output->'body'->>'call')::int FROM run_steps s WHERE s.run_id = r.id AND s.index = 0) AS calls FROM runs r`,
  );
  // Each run has one log line and the result of its second call. Both calls have the same key.
  expect(rows.filter(({ lines }) => lines !== 1)).toEqual([]);
  expect(rows.filter(({ id: runId }) => runIds.includes(runId)).map(({ calls: call }) => call)).toEqual(
    runIds.map(() => 2),
  );
  expect(calls.size).toBe(2 * runCount);
  expect(await frozen.stop()).toBe(0);
  await rm(home, { recursive: true, force: true });
});
