import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { addNodeFacts } from '../fixtures/stage/nodes.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let nodeId: string;
let device: Client;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
  const pairing = await workspace.api.call('createAutomationNode', { body: {} });
  ({ nodeId } = pairing);
  const { deviceSecret } = await hub
    .client()
    .call('claimAutomationNode', { body: { pairingCode: pairing.pairingCode, device: info } });
  device = hub.client(deviceSecret);
});

const info = {
  name: 'front desk',
  platform: 'linux',
  arch: 'x64',
  osVersion: '12',
  appVersion: '1.0.0',
  capabilities: ['node.ping', 'node.capture_screen'],
};
const facts = {
  cpu: { model: 'a cpu', cores: 4, loadPercent: 10 },
  memory: { totalBytes: 1_000_000, availableBytes: 500_000 },
  disks: [{ mount: '/', totalBytes: 1_000, usedBytes: 500 }],
  battery: { percent: 80, charging: false },
  displays: [{ index: 0, name: 'main', width: 800, height: 600 }],
  uptimeSeconds: 10,
};
const beat = (body: object = {}) =>
  device.call('heartbeatAutomationNode', { params: { id: nodeId }, body: { device: info, facts, ...body } });
const entries = async (query: { limit?: number; cursor?: string } = {}) =>
  workspace.api.call('listAutomationNodeFacts', { params: { id: nodeId }, query });
const get = (path: string, headers: Record<string, string>) =>
  send(hub.url, 'GET', `/v1/automations/nodes/${path}`, { headers });

describe('the facts of a node', () => {
  test('are recorded on each change, newest first, except for values that change constantly', async () => {
    await beat();
    await beat({
      facts: {
        ...facts,
        cpu: { ...facts.cpu, loadPercent: 99 },
        memory: { ...facts.memory, availableBytes: 1 },
        disks: [{ mount: '/', totalBytes: 1_000, usedBytes: 590 }],
        battery: { percent: 71, charging: false },
        uptimeSeconds: 25,
      },
      device: { ...info, capabilities: info.capabilities.toReversed() },
    });
    // A heartbeat without facts changes nothing.
    await device.call('heartbeatAutomationNode', { params: { id: nodeId }, body: {} });
    expect((await entries()).data).toMatchObject([
      {
        facts: {
          device: { name: 'front desk', platform: 'linux', appVersion: '1.0.0' },
          paused: false,
          allowSystem: false,
          cpu: { model: 'a cpu', cores: 4 },
          memory: { totalBytes: 1_000_000 },
          disks: [{ mount: '/', totalBytes: 1_000, usedPercent: 50 }],
          battery: { percent: 80, charging: false },
          displays: facts.displays,
        },
      },
    ]);
    await beat({ facts: { ...facts, battery: { percent: 70, charging: false } } });
    await beat({ facts: { ...facts, battery: { percent: 70, charging: true } } });
    await beat({ device: { ...info, appVersion: '1.1.0' }, paused: true });
    await workspace.api.call('updateAutomationNode', { params: { id: nodeId }, body: { allowSystem: true } });
    await device.call('heartbeatAutomationNode', { params: { id: nodeId }, body: { paused: true } });
    const { data } = await entries();
    expect(
      data.map(({ facts: { battery, device: said, paused, allowSystem } }) => [
        battery?.percent,
        battery?.charging,
        said?.appVersion,
        paused,
        allowSystem,
      ]),
    ).toEqual([
      [80, false, '1.1.0', true, true],
      [80, false, '1.1.0', true, false],
      [70, true, '1.0.0', false, false],
      [70, false, '1.0.0', false, false],
      [80, false, '1.0.0', false, false],
    ]);
    const first = await entries({ limit: 3 });
    const rest = await entries({ limit: 3, cursor: first.meta.nextCursor as string });
    expect([...first.data, ...rest.data]).toEqual(data);
    expect(rest.meta.nextCursor).toBeNull();
  });

  test('cost no extra statement for an unchanged heartbeat, and one statement for a changed one', async () => {
    await beat();
    const count = async (body: object) => {
      using recorder = new StatementRecorder(50);
      await beat(body);
      return recorder.statements
        .filter(({ text, tenantId }) => tenantId === workspace.tenantId && /"?node/.test(text))
        .map(({ text, name }) => name ?? text);
    };
    expect(await count({})).toEqual(['record_heartbeat']);
    expect(await count({ paused: true })).toEqual(['record_heartbeat', 'record_node_facts']);
  });

  test('are recorded once by concurrent heartbeats, and the newest 200 rows are kept', async () => {
    await Promise.all(Array.from({ length: 6 }, () => beat()));
    expect((await entries()).data).toHaveLength(1);
    await addNodeFacts(hub.database, workspace.tenantId, nodeId, 250);
    await beat({ paused: true });
    const [row] = await hub.database.query<{ count: string; oldest: string }>(
      'select count(*), min(id::text) as oldest from node_facts where node_id = $1',
      [nodeId],
    );
    expect(row).toEqual({ count: '200', oldest: '00000035-0000-7000-8000-000000000000' });
    expect((await entries({ limit: 1 })).data[0]?.facts.paused).toBe(true);
  });
});

describe('the commands of a node', () => {
  const list = (query: object = {}) =>
    workspace.api.call('listAutomationNodeCommands', { params: { id: nodeId }, query: query as never });

  async function run(): Promise<string> {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'w',
        stepsJson: [{ type: 'skill', skillId: 'node.ping', input: { nodeId } }],
      },
    });
    return startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } })).runId;
  }
  const leaseCommand = async () =>
    (
      await device.call('pollAutomationNodeCommands', {
        params: { id: nodeId },
        query: { wait: 20, max: 1 } as never,
      })
    ).commands[0]?.id as string;

  test('are listed newest first with their status, without inputs and outputs', async () => {
    const failed = { run: await run(), id: await leaseCommand() };
    await device.call('completeAutomationNodeCommand', {
      params: { id: nodeId, commandId: failed.id },
      body: { status: 'failed', error: { code: 'tool_missing', message: 'no such tool' } },
    });
    const succeeded = { run: await run(), id: await leaseCommand() };
    await device.call('completeAutomationNodeCommand', {
      params: { id: nodeId, commandId: succeeded.id },
      body: { status: 'succeeded', output: { pong: true, latencyMs: 4711, appVersion: '1' } },
    });
    const leased = { run: await run(), id: await leaseCommand() };
    const { data } = await list();
    expect(data).toMatchObject([
      { ...of(leased), status: 'leased', finishedAt: null, error: null },
      { ...of(succeeded), status: 'succeeded', error: null },
      { ...of(failed), status: 'failed', error: { code: 'tool_missing', message: 'no such tool' } },
    ]);
    expect(data[0]).toMatchObject({ type: 'node.ping', stepIndex: 0, attempt: 1 });
    expect(Date.parse(data[1]?.finishedAt as string)).toBeGreaterThanOrEqual(Date.parse(data[1]?.createdAt as string));
    expect(JSON.stringify(data)).not.toContain('4711');
    for (const row of data) expect(Object.keys(row)).not.toEqual(expect.arrayContaining(['input']));
    expect((await list({ status: 'failed' })).data.map(({ id }) => id)).toEqual([failed.id]);
    expect((await list({ type: 'node.ping', status: 'leased' })).data.map(({ id }) => id)).toEqual([leased.id]);
    expect((await list({ type: 'system.run' })).data).toEqual([]);
    const first = await list({ limit: 2 });
    const rest = await list({ limit: 2, cursor: first.meta.nextCursor });
    expect([...first.data, ...rest.data]).toEqual(data);
    // The commands of a revoked node can still be read.
    await workspace.api.call('deleteAutomationNode', { params: { id: nodeId } });
    expect((await list()).data).toHaveLength(3);
    function of({ id, run: runId }: { id: string; run: string }) {
      return { id, runId };
    }
  });
});

test('reading a revoked node returns the same data as the list', async () => {
  await workspace.api.call('deleteAutomationNode', { params: { id: nodeId } });
  const { data } = await workspace.api.call('listAutomationNodes', { query: { status: 'revoked' } });
  const node = await workspace.api.call('getAutomationNode', { params: { id: nodeId } });
  expect(node.status).toBe('revoked');
  expect(node).toEqual(data.find(({ id }) => id === nodeId));
  const change = workspace.api.call('updateAutomationNode', { params: { id: nodeId }, body: { name: 'again' } });
  await expect(change).rejects.toMatchObject({ status: 404 });
});

test.each(['facts', 'command-history'])('only the workspace of a node can read its %s', async (part) => {
  const other = await hub.workspace();
  const chat = await workspace.createKey({ product: 'chat' });
  const mine = { 'x-api-key': workspace.key };
  expect((await get(`${nodeId}/${part}`, mine)).status).toBe(200);
  expect((await get(`${nodeId}/${part}`, { authorization: `Bearer ${workspace.jwt}` })).status).toBe(200);
  expect((await get(`${nodeId}/${part}`, {})).status).toBe(401);
  expect((await get(`${nodeId}/${part}`, { 'x-api-key': chat.key })).status).toBe(403);
  expect((await get(`${nodeId}/${part}`, { 'x-api-key': other.key })).status).toBe(404);
  expect((await get(`${missingId}/${part}`, mine)).status).toBe(404);
  expect((await get(`none/${part}`, mine)).body).toMatchObject({ statusCode: 400, details: [{ path: 'params.id' }] });
  expect((await get(`${nodeId}/${part}?limit=101`, mine)).body.details).toMatchObject([{ path: 'query.limit' }]);
  expect((await get(`${nodeId}/${part}?cursor=x`, mine)).body.code).toBe('invalid_cursor');
  if (part === 'command-history')
    expect((await get(`${nodeId}/${part}?status=lost`, mine)).body.details).toMatchObject([{ path: 'query.status' }]);
});
