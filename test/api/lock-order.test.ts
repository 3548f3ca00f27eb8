import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from 'pg';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const headers = () => ({ 'x-api-key': workspace.key, 'content-type': 'application/json' });
const post = async (path: string, body: unknown = {}, own: Record<string, string> = headers()) => {
  const response = await fetch(hub.url + path, { method: 'POST', headers: own, body: JSON.stringify(body) });
  await response.arrayBuffer();
  return response.status;
};
const start = async (workflowId: string) =>
  startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId }, body: {} })).runId;
const cancel = (runId: string) => post(`/v1/automations/runs/${runId}/cancel`);
const deadlocks = async () =>
  (
    await hub.database.query<{ n: number }>(
      'SELECT deadlocks::int AS n FROM pg_stat_database WHERE datname = current_database()',
    )
  )[0]?.n as number;
const makeWorkflow = async (stepsJson: unknown[]) =>
  (await workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } as never })).id;
/** A random pause, so that the other side can be in any state. */
const aMoment = (longestMs: number) => sleep(Math.random() * longestMs);

/** Expects no deadlock since `before`, only documented statuses, and that every run has ended. */
async function expectOrder(before: number, statuses: number[]): Promise<void> {
  expect(statuses.filter((status) => status >= 500)).toEqual([]);
  await expect.poll(() => hub.database.query('SELECT id, status FROM runs WHERE finished_at IS NULL')).toEqual([]);
  // PostgreSQL updates its deadlock counter when the sessions become idle.
  await sleep(1_100);
  expect(await deadlocks()).toBe(before);
}

test('cancelling a run while its device reports the result never deadlocks', async () => {
  const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
  const device = {
    name: 'd',
    platform: 'linux' as const,
    arch: 'x64',
    osVersion: '',
    appVersion: '1',
    capabilities: [],
  };
  const { deviceSecret } = await hub.client().call('claimAutomationNode', { body: { pairingCode, device } as never });
  const own = { authorization: `Bearer ${deviceSecret}`, 'content-type': 'application/json' };
  const workflowId = await makeWorkflow([{ type: 'skill', skillId: 'node.ping', input: { nodeId } }]);
  const before = await deadlocks();
  const statuses: number[] = [];
  for (let round = 0; round < 25; round += 1) {
    const runId = await start(workflowId);
    const polled = await fetch(`${hub.url}/v1/automations/nodes/${nodeId}/commands?wait=30&max=1`, { headers: own });
    const { commands } = (await polled.json()) as { commands: { id: string }[] };
    const report = async () => {
      await aMoment(3);
      return post(
        `/v1/automations/nodes/${nodeId}/commands/${commands[0]?.id}/result`,
        { status: 'succeeded', output: { pong: true, latencyMs: 0, appVersion: '1' } },
        own,
      );
    };
    statuses.push(...(await Promise.all([cancel(runId), report()])));
  }
  await expectOrder(before, statuses);
});

test('cancelling a run while the run that it waits for ends never deadlocks', async () => {
  const child = await makeWorkflow([
    { type: 'log', message: 'x' },
    { type: 'log', message: 'y' },
    { type: 'log', message: 'z' },
  ]);
  const parent = await makeWorkflow([{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child } }]);
  const before = await deadlocks();
  const statuses: number[] = [];
  for (let round = 0; round < 12; round += 1) {
    const six = Array.from({ length: 6 }, async () => {
      const runId = await start(parent);
      await aMoment(25);
      return cancel(runId);
    });
    statuses.push(...(await Promise.all(six)));
  }
  await expectOrder(before, statuses);
  // A cancelled run leaves no child run in progress.
  expect(
    await hub.database.query(
      `SELECT c.id FROM runs c JOIN runs p ON p.id = c.parent_run_id WHERE p.status = 'cancelled' AND c.finished_at > p.finished_at`,
    ),
  ).toEqual([]);
});

test('cancelling a run while its approval is decided never deadlocks', async () => {
  const workflowId = await makeWorkflow([
    { type: 'approval', title: 't' },
    { type: 'log', message: 'x' },
  ]);
  const before = await deadlocks();
  const statuses: number[] = [];
  for (let round = 0; round < 25; round += 1) {
    const runId = await start(workflowId);
    await settledRun(workspace.api, runId);
    const [approval] = await hub.database.query<{ id: string }>('SELECT id FROM approvals WHERE run_id = $1', [runId]);
    const decide = async () => {
      await aMoment(2);
      return post(`/v1/automations/approvals/${approval?.id}/decide`, { decision: 'approved' });
    };
    statuses.push(...(await Promise.all([cancel(runId), decide()])));
  }
  await expectOrder(before, statuses);
});

test('a list of sequences does not wait for a locked workflow of a sequence', async () => {
  const sequence = await workspace.api.call('createAutomationSequence', {
    body: { name: 's', steps: [{ type: 'log', message: 'x' }] } as never,
  });
  const { workflowId } = (await workspace.api.call('runAutomationSequence', {
    params: { id: sequence.id },
    body: {},
  } as never)) as { workflowId: string };
  const holder = new Client({ connectionString: hub.database.url });
  await holder.connect();
  await holder.query('BEGIN');
  await holder.query('SELECT 1 FROM workflows WHERE id = $1 FOR UPDATE', [workflowId]);
  try {
    const page = await workspace.api.call('listAutomationSequences', {});
    expect(page.data).toEqual([expect.objectContaining({ id: sequence.id, workflowId })]);
  } finally {
    await holder.end();
  }
});

test('removing a member while the member adds members, creates keys, signs in and changes the password never deadlocks', async () => {
  const { tenantId, jwt } = workspace;
  const before = await deadlocks();
  const statuses: number[] = [];
  const status = (work: Promise<unknown>) =>
    work.then(
      () => 200,
      (error: { status: number }) => error.status,
    );
  for (let round = 0; round < 8; round += 1) {
    const body = { email: `round${round}.${tenantId}@example.org`, password: 'a password of a member' };
    const { id } = await workspace.session.call('addMember', {
      params: { tenantId },
      body: { ...body, role: 'admin' },
    });
    const { token } = await hub.client().call('logIn', { body });
    const own = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
    const key = { name: 'k', product: 'automations', permissions: ['automations:read'] };
    const creations = Array.from({ length: 3 }, async () => {
      await aMoment(20);
      return post(`/tenants/${tenantId}/tokens`, key, own);
    });
    const passwords = { currentPassword: body.password, newPassword: 'another password of a member' };
    const remove = async () => {
      await aMoment(60);
      const params = { tenantId, userId: id };
      return status(hub.client(jwt).call('removeMember', { params, query: { revokeKeys: 'true' } }));
    };
    statuses.push(
      ...(await Promise.all([
        ...creations,
        post(`/tenants/${tenantId}/members`, { ...body, email: `added.${body.email}`, role: 'admin' }, own),
        status(hub.client().call('logIn', { body })),
        post('/auth/password', passwords, own),
        remove(),
      ])),
    );
  }
  await expectOrder(before, statuses);
});
