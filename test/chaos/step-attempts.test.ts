import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { StepResult } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import type { TestDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import type { HubProcess } from '../fixtures/processes.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

/** The environment of a hub process with a data folder of its own. */
async function environmentOf(database: TestDatabase): Promise<Record<string, string>> {
  const home = await mkdtemp(join(tmpdir(), 'outrigger-attempts-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  return {
    OUTRIGGER_HOME: home,
    PORT: '0',
    DATABASE_URL: database.url,
    SECRET_KEY: 'ab'.repeat(32),
    DATABASE_POOL_SIZE: '6',
    EGRESS_ALLOW_HOSTS: '127.0.0.1',
  };
}

/** Starts a run with one step that sends a webhook. */
async function startWebhook(api: Client, url: string, backoffSeconds: number): Promise<string> {
  const retry = { maxAttempts: 3, backoffSeconds, factor: 1 };
  const { id } = await api.call('createAutomationWorkflow', {
    body: {
      name: 'w',
      stepsJson: [{ type: 'skill', skillId: 'webhook.deliver', input: { url, body: 1 }, retry }] as never,
    },
  });
  return startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} })).runId;
}

async function attemptsOf(api: Client, runId: string): Promise<StepResult['attemptHistory']> {
  const run = await api.call('getAutomationRun', { params: { id: runId } });
  return run.stepsResultJson[0]?.attemptHistory ?? [];
}

test('a hub that is killed during an attempt repeats it, and its history has the first start of it', async () => {
  await using database = await acquireDatabase();
  await using receiver = await startReceiver();
  const env = await environmentOf(database);
  // The second request is never answered.
  receiver.answer = (_received, response) => {
    const status = [503, undefined, 200][receiver.received.length - 1];
    if (status !== undefined) response.writeHead(status).end();
  };
  let hub = await startHubProcess(env);
  const token = await cli(env, 'token', 'create', '--product', 'automations');
  const clientOf = ({ url }: HubProcess) => createClient({ baseUrl: url, fetch, token });
  const runId = await startWebhook(clientOf(hub), receiver.url, 0);
  await until(
    () => receiver.received.length === 2,
    () => 'the second attempt has not begun',
  );
  const before = await attemptsOf(clientOf(hub), runId);
  expect(before).toMatchObject([{ error: { code: 'skill_failed' } }, { finishedAt: null, error: null }]);
  await hub.kill();
  hub = await startHubProcess(env);
  const run = await settledRun(clientOf(hub), runId);
  expect(run).toMatchObject({ status: 'succeeded', stepsResultJson: [{ attempts: 2 }] });
  const after = await attemptsOf(clientOf(hub), runId);
  expect(after).toEqual([before[0], { ...before[1], finishedAt: run.stepsResultJson[0]?.finishedAt }]);
  const times = after.flatMap(({ startedAt, finishedAt }) => [startedAt, finishedAt]);
  expect(times.toSorted()).toEqual(times);
  expect(receiver.received).toHaveLength(3);
});

test('a hub that is killed between the attempts of a step loses no attempt', async () => {
  await using database = await acquireDatabase();
  await using receiver = await startReceiver();
  const env = await environmentOf(database);
  receiver.answer = (_received, response) =>
    void response.writeHead([503, 500][receiver.received.length - 1] ?? 200).end();
  let hub = await startHubProcess(env);
  const token = await cli(env, 'token', 'create', '--product', 'automations');
  const clientOf = ({ url }: HubProcess) => createClient({ baseUrl: url, fetch, token });
  const runId = await startWebhook(clientOf(hub), receiver.url, 600);
  const historyOf = () => attemptsOf(clientOf(hub), runId);
  const seen: unknown[] = [];
  for (const failed of [1, 2]) {
    await until(
      async () => typeof (await historyOf())[failed - 1]?.finishedAt === 'string',
      () => `attempt ${failed} has not ended`,
    );
    seen.push((await historyOf())[failed - 1]);
    await hub.kill();
    hub = await startHubProcess(env);
    await database.query('update runs set wake_at = now() where id = $1', [runId]);
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
