import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(() => hub[Symbol.asyncDispose]());

interface Paired {
  nodeId: string;
  device: Client;
}

async function pair({ api }: TestWorkspace, name: string | undefined, deviceName: string): Promise<Paired> {
  const { nodeId, pairingCode } = await api.call('createAutomationNode', {
    body: { allowSystem: true, ...(name === undefined ? {} : { name }) },
  });
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode,
      device: { name: deviceName, platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1', capabilities: [] },
    },
  });
  return { nodeId, device: hub.client(deviceSecret) };
}

const listed = async ({ api }: TestWorkspace, nodeId: string) =>
  (await api.call('listAutomationNodes', {})).data.find(({ id }) => id === nodeId);
const nameOf = async (workspace: TestWorkspace, nodeId: string) => (await listed(workspace, nodeId))?.name;

async function begin({ api }: TestWorkspace, stepsJson: object[], payload: object = {}): Promise<string> {
  const { id } = await api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: stepsJson as never } });
  return startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: { payload: payload as never } }))
    .runId;
}
const settled = ({ api }: TestWorkspace, id: string) => settledRun(api, id);
const ping = (input: object) => ({ type: 'skill', skillId: 'node.ping', input });

/** Reports a result for the next command. */
async function answer({ nodeId, device }: Paired, output: object): Promise<Record<string, unknown>> {
  const { commands } = await device.call('pollAutomationNodeCommands', { params: { id: nodeId }, query: { wait: 20 } });
  const [command] = commands;
  await device.call('completeAutomationNodeCommand', {
    params: { id: nodeId, commandId: command?.id as string },
    body: { status: 'succeeded', output: output as never },
  });
  return command?.input as Record<string, unknown>;
}

test('paired nodes of a workspace have unique names, and machines with the same name get a number', async () => {
  const [workspace, other] = [await hub.workspace(), await hub.workspace()];
  const [first, second, third] = await Promise.all(
    [1, 2, 3].map(async () => nameOf(workspace, (await pair(workspace, undefined, 'laptop')).nodeId)),
  );
  expect([first, second, third].toSorted()).toEqual(['laptop', 'laptop 2', 'laptop 3']);
  expect(await nameOf(other, (await pair(other, undefined, 'laptop')).nodeId)).toBe('laptop');

  const { nodeId } = await pair(workspace, 'front desk', 'laptop');
  expect(await nameOf(workspace, nodeId)).toBe('front desk');
  const headers = { 'x-api-key': workspace.key };
  const create = () => send(hub.url, 'POST', '/v1/automations/nodes', { headers, body: { name: 'front desk' } });
  const rename = (name: string) =>
    send(hub.url, 'PATCH', `/v1/automations/nodes/${nodeId}`, { headers, body: { name } });
  expect(await create()).toMatchObject({ status: 409, body: { code: 'node_name_taken' } });
  expect(await rename('laptop 2')).toMatchObject({ status: 409, body: { code: 'node_name_taken' } });
  expect(await rename('front desk')).toMatchObject({ status: 200 });
  expect(await rename('back office')).toMatchObject({ status: 200, body: { name: 'back office' } });
  expect(await create()).toMatchObject({ status: 200 });
  await workspace.api.call('deleteAutomationNode', { params: { id: nodeId } });
  expect(await nameOf(workspace, (await pair(workspace, 'back office', 'x')).nodeId)).toBe('back office');
});

test('a step selects a node by its name, which may be a template, and follows a rename', async () => {
  const workspace = await hub.workspace();
  const node = await pair(workspace, 'office-pc', 'x');
  const run = await begin(workspace, [ping({ node: '{{payload.where}}' })], { where: 'office-pc' });
  await answer(node, { pong: true, latencyMs: 0, appVersion: '1' });
  expect(await settled(workspace, run)).toMatchObject({ status: 'succeeded' });

  await workspace.api.call('updateAutomationNode', { params: { id: node.nodeId }, body: { name: 'lab' } });
  const steps = [ping({ node: 'office-pc', waitMs: 0 })];
  expect(await settled(workspace, await begin(workspace, steps))).toMatchObject({
    status: 'failed',
    error: {
      code: 'not_found',
      message: 'There is no node with the name "office-pc" in this workspace; its nodes are "lab".',
    },
  });
  const elsewhere = await hub.workspace();
  expect(await settled(elsewhere, await begin(elsewhere, [ping({ node: 'lab' })]))).toMatchObject({
    error: { code: 'not_found', message: expect.stringContaining('it has no paired nodes') as string },
  });
  await elsewhere.api.call('createAutomationNode', { body: { name: 'soon' } });
  expect(await settled(elsewhere, await begin(elsewhere, [ping({ node: 'soon' })]))).toMatchObject({
    error: { message: expect.stringContaining('is not paired yet') as string },
  });
});

test('saving a step that selects a node twice or not at all fails, even if other inputs are templates', async () => {
  const workspace = await hub.workspace();
  const headers = { 'x-api-key': workspace.key };
  const save = (input: object) =>
    send(hub.url, 'POST', '/v1/automations/workflows', { headers, body: { name: 'w', stepsJson: [ping(input)] } });
  const nodeId = '01890000-0000-7000-8000-000000000001';
  for (const rest of [{}, { waitMs: '{{payload.wait}}' }]) {
    expect(await save(rest)).toMatchObject({
      status: 400,
      body: {
        details: [{ path: 'stepsJson[0].input.nodeId', message: 'is required, or node with the name of a node' }],
      },
    });
    expect(await save({ nodeId, node: 'x', ...rest })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'stepsJson[0].input.node', message: 'must not be given together with nodeId' }] },
    });
    expect(await save({ nodeId, ...rest })).toMatchObject({ status: 200 });
    expect(await save({ node: '{{payload.where}}', ...rest })).toMatchObject({ status: 200 });
  }
});

test('an approval is bound to the node that had the name when it was requested', async () => {
  const workspace = await hub.workspace();
  const node = await pair(workspace, 'office-pc', 'x');
  const run = await begin(workspace, [
    { type: 'skill', skillId: 'system.run', input: { node: 'office-pc', argv: ['id'] } },
  ]);
  expect(await settled(workspace, run)).toMatchObject({ status: 'waiting_approval' });
  const [approval] = (await workspace.api.call('listAutomationApprovals', { query: { runId: run } })).data;
  expect(approval?.request).toMatchObject({ nodeId: node.nodeId, argv: ['id'] });
  await workspace.api.call('updateAutomationNode', { params: { id: node.nodeId }, body: { name: 'old' } });
  await pair(workspace, 'office-pc', 'y');
  await workspace.session.call('growthDecideApproval', {
    params: { id: approval?.id as string },
    body: { decision: 'approved' },
  });
  const output = { exitCode: 0, signal: null, stdout: 'me', stderr: '', truncated: false, durationMs: 1 };
  expect(await answer(node, output)).toEqual({ argv: ['id'] });
  expect(await settled(workspace, run)).toMatchObject({ status: 'succeeded' });
});

test('a node is pending until its companion connects for the first time', async () => {
  const workspace = await hub.workspace();
  const { nodeId, device } = await pair(workspace, undefined, 'laptop');
  expect(await listed(workspace, nodeId)).toMatchObject({
    status: 'pending',
    lastSeenAt: null,
    pairedAt: expect.any(String) as string,
  });
  await device.call('heartbeatAutomationNode', { params: { id: nodeId }, body: {} });
  expect(await listed(workspace, nodeId)).toMatchObject({ status: 'online' });
});
