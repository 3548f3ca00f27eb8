import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import type { HubProcess } from '../fixtures/processes.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

test('a hub that is killed between the attempts of a step loses no attempt', async () => {
  await using database = await acquireDatabase();
  await using receiver = await startReceiver();
  const home = await mkdtemp(join(tmpdir(), 'outrigger-attempts-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const env = {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    DATABASE_POOL_SIZE: '6',
    EGRESS_ALLOW_HOSTS: '127.0.0.1',
  };
  receiver.answer = (_received, response) =>
    void response.writeHead([503, 500][receiver.received.length - 1] ?? 200).end();
  let hub = await startHubProcess(env);
  const token = await cli(env, 'token', 'create', '--product', 'automations');
  const clientOf = ({ url }: HubProcess) => createClient({ baseUrl: url, fetch, token });
  const { id } = await clientOf(hub).call('createAutomationWorkflow', {
    body: {
      name: 'w',
      stepsJson: [
        {
          type: 'skill',
          skillId: 'webhook.deliver',
          input: { url: receiver.url, body: 1 },
          retry: { maxAttempts: 3, backoffSeconds: 5, factor: 1 },
        },
      ] as never,
    },
  });
  const { runId } = startedRun(await clientOf(hub).call('runAutomationWorkflow', { params: { id }, body: {} }));
  const historyOf = async () => {
    const run = await clientOf(hub).call('getAutomationRun', { params: { id: runId } });
    return run.stepsResultJson[0]?.attemptHistory ?? [];
  };
  const seen: unknown[] = [];
  for (const failed of [1, 2]) {
    await until(
      async () => typeof (await historyOf())[failed - 1]?.finishedAt === 'string',
      () => `attempt ${failed} has not ended`,
    );
    seen.push((await historyOf())[failed - 1]);
    await hub.kill();
    hub = await startHubProcess(env);
  }
  const run = await settledRun(clientOf(hub), runId);
  expect(run).toMatchObject({ status: 'succeeded', stepsResultJson: [{ attempts: 3 }] });
  const history = await historyOf();
  expect(history.slice(0, 2)).toEqual(seen);
  expect(history.map(({ error }) => error?.code)).toEqual(['skill_failed', 'skill_failed', undefined]);
  const times = history.flatMap(({ startedAt, finishedAt }) => [startedAt, finishedAt]);
  expect(times.toSorted()).toEqual(times);
  expect(receiver.received).toHaveLength(3);
});
