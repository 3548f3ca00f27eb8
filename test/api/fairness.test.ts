import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Client } from 'pg';
import { expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addQueuedRuns, addWorkflows } from '../fixtures/stage/automations.ts';

/** A server that accepts requests and never responds. */
async function silentAddress(): Promise<{ host: string; calls: () => number }> {
  let calls = 0;
  const server = createServer(() => {
    calls += 1;
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { host: `127.0.0.1:${(server.address() as AddressInfo).port}`, calls: () => calls };
}

const statuses = async (workspace: TestWorkspace, workflowId: string) =>
  (await workspace.api.call('listAutomationRuns', { query: { workflowId, limit: 100 } })).data.map(
    ({ status }) => status,
  );

test('200 runs of a workspace with a hanging address do not delay the runs of another workspace', async () => {
  const address = await silentAddress();
  await using hub = await startHub({
    RATE_LIMIT_PER_MINUTE: '100000',
    EGRESS_ALLOW_HOSTS: address.host,
    SHUTDOWN_SECONDS: '2',
  });
  const [slow, quick] = [await hub.workspace(), await hub.workspace()];
  const calling = await slow.api.call('createAutomationWorkflow', {
    body: {
      name: 'slow',
      stepsJson: [
        {
          type: 'skill',
          skillId: 'webhook.deliver',
          input: { url: `http://${address.host}/` },
          // A call ends after 15 seconds, which can pass before the last check on a busy machine.
          retry: { maxAttempts: 10, backoffSeconds: 1, factor: 1 },
        },
      ],
    },
  });
  const logging = await quick.api.call('createAutomationWorkflow', {
    body: { name: 'quick', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  await addQueuedRuns(hub.database, slow.tenantId, calling.id, 200);
  // More than the worker slots.
  await expect.poll(address.calls).toBeGreaterThan(40);
  const ids = await Promise.all(
    Array.from(
      { length: 6 },
      async () => startedRun(await quick.api.call('runAutomationWorkflow', { params: { id: logging.id } })).runId,
    ),
  );
  for (const id of ids)
    expect(await settledRun(quick.api, id)).toMatchObject({
      status: 'succeeded',
    });
  expect(
    await hub.database.query(
      `select count(*)::int as ended from runs where workflow_id = $1 and finished_at is not null`,
      [calling.id],
    ),
  ).toEqual([{ ended: 0 }]);
});

test('a backlog of one workspace does not delay another: its later runs do not end last', async () => {
  await using hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', WORKER_CONCURRENCY: '2' });
  const [flooding, quick] = [await hub.workspace(), await hub.workspace()];
  const make = (workspace: TestWorkspace) =>
    workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: [{ type: 'log', message: 'x' }] } });
  const [many, few] = [await make(flooding), await make(quick)];
  const count = 5_000;
  await addQueuedRuns(hub.database, flooding.tenantId, many.id, count);
  await expect.poll(async () => (await statuses(flooding, many.id)).includes('succeeded')).toBe(true);
  for (let index = 0; index < 6; index += 1) {
    const { runId } = startedRun(await quick.api.call('runAutomationWorkflow', { params: { id: few.id } }));
    await settledRun(quick.api, runId);
  }
  expect(await statuses(quick, few.id)).toEqual(Array.from({ length: 6 }, () => 'succeeded'));
  const open = async () =>
    (
      await hub.database.query<{ n: number }>(
        'select count(*)::int as n from runs where workflow_id = $1 and finished_at is null',
        [many.id],
      )
    )[0]?.n;
  expect(await open()).toBeGreaterThan(count / 10);
  // All runs are found once, without any notification.
  await expect.poll(open).toBe(0);
  expect(
    await hub.database.query('select count(*)::int as lines from run_logs where workflow_id = $1', [many.id]),
  ).toEqual([{ lines: count }]);
});

test('schedules of one workspace that are due at the same time do not delay a hook call of another workspace', async () => {
  await using hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', WORKER_CONCURRENCY: '2' });
  const [flooding, quick] = [await hub.workspace(), await hub.workspace()];
  const { id } = await quick.api.call('createAutomationWorkflow', {
    body: { name: 'quick', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  // More than one batch of schedules, and many times the runs that the worker executes meanwhile.
  const count = 1_500;
  const trigger = {
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
  };
  const steps = [{ type: 'log', message: 'x' }];
  await addWorkflows(hub.database, flooding.tenantId, { count, trigger, steps });
  const ended = async () =>
    (
      await hub.database.query<{ n: number }>(
        'select count(*)::int as n from runs where tenant_id = $1 and finished_at is not null',
        [flooding.tenantId],
      )
    )[0]?.n ?? 0;
  await expect.poll(ended).toBeGreaterThan(0);
  for (let index = 0; index < 3; index += 1) {
    const { runId } = startedRun(await quick.api.call('runAutomationWorkflow', { params: { id } }));
    await settledRun(quick.api, runId);
  }
  expect(await statuses(quick, id)).toEqual(['succeeded', 'succeeded', 'succeeded']);
  expect(await ended()).toBeLessThan(count);
  await expect.poll(ended).toBe(count);
});

test('inbound hook calls with an Idempotency-Key that wait for a lock leave connections to other workspaces', async () => {
  await using hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', HOOK_RATE_LIMIT_PER_MINUTE: '100000' });
  const [blocked, other] = [await hub.workspace(), await hub.workspace()];
  const token = 'webhook-token-of-the-blocked-workspace';
  const { id } = await blocked.api.call('createAutomationWorkflow', {
    body: {
      name: 'hook',
      // A start counts the running runs under a lock of the workflow.
      limits: { maxConcurrentRuns: 5, onLimit: 'drop' },
      triggerJson: { type: 'webhook', webhook: { token } },
      stepsJson: [{ type: 'log', message: 'started' }],
    },
  });
  const holder = new Client({ connectionString: hub.database.url });
  holder.on('error', () => undefined);
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM workflows WHERE id = $1 FOR UPDATE', [id]);
  let accepted = 0;
  const calls = Array.from({ length: 20 }, async (_, n) => {
    const { ok } = await fetch(`${hub.url}/v1/automations/hooks/inbound`, {
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'x-service-automation-token': token,
        'idempotency-key': `call-${n}`,
      },
      body: '{"event":"ordered"}',
    });
    // On a busy machine, a call can be refused because it waited for too long.
    if (ok) accepted += 1;
  });
  const blockedBackends = async () =>
    (
      await hub.database.query<{ n: number }>(
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
    )[0]?.n;
  await expect.poll(blockedBackends).toBeGreaterThan(3);
  for (let n = 0; n < 3; n += 1) await other.api.call('listAutomationRuns', { query: {} });
  expect(accepted).toBe(0);
  await holder.end();
  await Promise.all(calls);
});
