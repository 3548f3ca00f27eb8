import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { z } from 'zod';
import type { step } from '../../shared/contract/automations/steps.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { createClient } from '../fixtures/contract-client.ts';
import type { Fetch } from '../fixtures/contract-client.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { cli, startHubProcess } from '../fixtures/processes.ts';
import type { HubProcess } from '../fixtures/processes.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';
import { holdElsewhere } from '../fixtures/worker-leases.ts';

type StepInput = z.input<typeof step>;

test('a run that crashes the hub crashes it at most twice and then fails, and another run in progress succeeds', async () => {
  await using database = await acquireDatabase();
  const home = await mkdtemp(join(tmpdir(), 'outrigger-deadly-'));
  const pendingResponses: ServerResponse[] = [];
  let calls = 0;
  let isOpen = false;
  const receiver = createServer((_request, response) => {
    calls += 1;
    if (isOpen) response.end();
    else pendingResponses.push(response);
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
    SECRET_KEY: 'ab'.repeat(32),
    EGRESS_ALLOW_HOSTS: target,
    DATABASE_POOL_SIZE: '8',
    NODE_OPTIONS: `--import=${new URL('../fixtures/die-in-render.ts', import.meta.url).href}`,
  };
  /** Frees the run of a killed process, as at the end of its lease, without waiting. */
  const endLease = (runId: string) =>
    database.query('update runs set holder_id = null, wake_at = now(), lost_leases = lost_leases + 1 where id = $1', [
      runId,
    ]);
  /** Keeps the sweep of the next process from claiming the run on a busy machine. */
  const keepLease = (runId: string) => holdElsewhere(database, runId);
  const expectCrash = async (hub: HubProcess) => {
    if (hub.child.exitCode === null && hub.child.signalCode === null) await once(hub.child, 'exit');
    expect(hub.child.signalCode).toBe('SIGKILL');
  };

  let hub = await startHubProcess(env);
  const key = await cli(env, 'token', 'create', '--product', 'automations');
  const api = () => createClient({ baseUrl: hub.url, fetch: fetch as unknown as Fetch, token: key });
  const start = async (stepsJson: StepInput[], payload: Record<string, string>) => {
    const { id } = await api().call('createAutomationWorkflow', { body: { name: 'w', stepsJson } });
    return startedRun(await api().call('runAutomationWorkflow', { params: { id }, body: { payload } })).runId;
  };
  const otherRun = await start(
    [
      { type: 'log', message: 'one' },
      { type: 'skill', skillId: 'webhook.deliver', input: { url: `http://${target}/`, body: '{{payload.a}}' } },
      { type: 'log', message: 'three' },
    ],
    { a: 'x' },
  );
  await until(
    () => calls === 1,
    () => 'the other run did not start',
  );
  const crashingRun = await start(
    [
      { type: 'log', message: 'one' },
      { type: 'log', message: '{{payload.a}}{{payload.b}}' },
    ],
    { a: 'end of ', b: 'this process' },
  );
  await expectCrash(hub);

  await endLease(otherRun);
  await keepLease(crashingRun);
  hub = await startHubProcess(env);
  await until(
    () => calls === 2,
    () => 'the other run was not claimed again',
  );
  await endLease(crashingRun);
  await expectCrash(hub);

  await endLease(otherRun);
  await endLease(crashingRun);
  hub = await startHubProcess(env);
  const failed = await settledRun(api(), crashingRun);
  expect(failed).toMatchObject({
    status: 'failed',
    error: {
      code: 'worker_lost',
      stepIndex: 1,
      message: expect.stringMatching(/process of the hub ended twice while it worked on this step/) as string,
    },
  });
  await until(
    () => calls === 3,
    () => 'the other run was not claimed again',
  );
  isOpen = true;
  for (const response of pendingResponses) response.end();
  expect(await settledRun(api(), otherRun)).toMatchObject({ status: 'succeeded' });
  expect(await database.query('select process_deaths from runs where id = $1', [otherRun])).toEqual([
    { process_deaths: null },
  ]);
  expect(await hub.stop()).toBe(0);
  await rm(home, { recursive: true, force: true });
});
