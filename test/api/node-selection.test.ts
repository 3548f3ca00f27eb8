import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
beforeAll(async () => {
  // A node stays online for several heartbeats, longer than a test takes on a busy machine.
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', NODE_HEARTBEAT_SECONDS: '300' });
});
afterAll(() => hub[Symbol.asyncDispose]());

interface Paired {
  nodeId: string;
  device: Client;
}

interface PairOptions {
  tags?: string[];
  allowSystem?: boolean;
  capabilities?: string[];
}

async function pair(
  { api }: TestWorkspace,
  name: string | undefined,
  deviceName: string,
  { tags = [], allowSystem = true, capabilities = [] }: PairOptions = {},
): Promise<Paired> {
  const { nodeId, pairingCode } = await api.call('createAutomationNode', {
    body: { allowSystem, tags, ...(name === undefined ? {} : { name }) },
  });
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode,
      device: { name: deviceName, platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1', capabilities },
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
  for (;;) {
    // A command can take longer than one poll on a busy machine.
    const poll = { params: { id: nodeId }, query: { wait: 20 } };
    const [command] = (await device.call('pollAutomationNodeCommands', poll)).commands;
    if (command === undefined) continue;
    await device.call('completeAutomationNodeCommand', {
      params: { id: nodeId, commandId: command.id },
      body: { status: 'succeeded', output: output as never },
    });
    return command.input;
  }
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
        details: [
          {
            path: 'stepsJson[0].input.nodeId',
            message: 'is required, or node with the name of a node, or nodeTag with a tag',
          },
        ],
      },
    });
    expect(await save({ nodeId, node: 'x', ...rest })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'stepsJson[0].input.node', message: 'must not be given together with nodeId' }] },
    });
    expect(await save({ nodeTag: 'x', node: 'x', ...rest })).toMatchObject({
      status: 400,
      body: {
        details: [{ path: 'stepsJson[0].input.nodeTag', message: 'must not be given together with nodeId or node' }],
      },
    });
    expect(await save({ nodeTag: 'two words', ...rest })).toMatchObject({
      status: 400,
      body: { details: [{ path: 'stepsJson[0].input.nodeTag' }] },
    });
    expect(await save({ nodeTag: '{{payload.where}}', ...rest })).toMatchObject({ status: 200 });
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

const capabilities = ['node.ping', 'system.run'];
const pong = { pong: true, latencyMs: 0, appVersion: '1' };
const goOnline = ({ nodeId, device }: Paired, paused = false) =>
  device.call('heartbeatAutomationNode', { params: { id: nodeId }, body: { paused } });
const nodeOf = async ({ api }: TestWorkspace, runId: string) => {
  await expect
    .poll(async () => (await api.call('getAutomationRun', { params: { id: runId } })).waitsFor?.kind)
    .toBe('node_command');
  const { waitsFor } = await api.call('getAutomationRun', { params: { id: runId } });
  return waitsFor?.kind === 'node_command' ? waitsFor.nodeId : null;
};

test('a node has the tags that its workspace gives it, and the list can be limited to a tag', async () => {
  const [workspace, other] = [await hub.workspace(), await hub.workspace()];
  const first = await pair(workspace, 'first', 'x', { tags: ['office', 'büro'] });
  const second = await pair(workspace, 'second', 'x');
  await pair(other, 'third', 'x', { tags: ['office'] });
  const tagged = async (tag: string) =>
    (await workspace.api.call('listAutomationNodes', { query: { tag } })).data.map(({ name }) => name);
  expect(await tagged('office')).toEqual(['first']);
  expect(await tagged('bu\u0308ro')).toEqual(['first']);
  expect(await tagged('Office')).toEqual([]);
  expect(
    await send(hub.url, 'GET', '/v1/automations/nodes?tag=office&status=revoked', {
      headers: { 'x-api-key': workspace.key },
    }),
  ).toMatchObject({ status: 400, body: { details: [{ path: 'query.tag' }] } });

  const headers = { 'x-api-key': workspace.key };
  const update = (tags: unknown) =>
    send(hub.url, 'PATCH', `/v1/automations/nodes/${second.nodeId}`, { headers, body: { tags } });
  expect(await update(['office', 'lab'])).toMatchObject({ status: 200, body: { tags: ['office', 'lab'] } });
  expect(await tagged('office')).toEqual(['second', 'first']);
  expect(await update([])).toMatchObject({ status: 200, body: { tags: [] } });
  expect((await listed(workspace, first.nodeId))?.tags).toEqual(['office', 'büro']);
  const problem = (path: string) => ({ status: 400, body: { details: [{ path: `body.${path}` }] } });
  expect(await update(['two words'])).toMatchObject(problem('tags[0]'));
  expect(await update(['x'.repeat(51)])).toMatchObject(problem('tags[0]'));
  expect(await update(['a', 'a'])).toMatchObject(problem('tags'));
  expect(await update(Array.from({ length: 21 }, (_, index) => `t${index}`))).toMatchObject(problem('tags'));
});

test('a step with a tag runs on an online node that can run the command and has the fewest open commands', async () => {
  const workspace = await hub.workspace();
  const options = { tags: ['office'], capabilities };
  const offline = await pair(workspace, 'offline', 'x', options);
  const paused = await pair(workspace, 'paused', 'x', options);
  await goOnline(paused, true);
  const old = await pair(workspace, 'old', 'x', { ...options, capabilities: [] });
  await goOnline(old);
  const elsewhere = await pair(workspace, 'elsewhere', 'x', { ...options, tags: ['lab'] });
  await goOnline(elsewhere);
  const idle = [await pair(workspace, 'a', 'x', options), await pair(workspace, 'b', 'x', options)];
  for (const node of idle) await goOnline(node);
  const ids = idle.map(({ nodeId }) => nodeId).toSorted();

  const steps = [ping({ nodeTag: '{{payload.where}}' })];
  const next = async () => nodeOf(workspace, await begin(workspace, steps, { where: 'office' }));
  for (let round = 0; round < 3; round++) expect([await next(), await next()].toSorted()).toEqual(ids);

  await workspace.api.call('deleteAutomationNode', { params: { id: idle[0]?.nodeId as string } });
  await goOnline(paused, false);
  expect([await next(), await next()]).toEqual([paused.nodeId, paused.nodeId]);
  for (const { nodeId } of [paused, idle[1] as Paired])
    await workspace.api.call('deleteAutomationNode', { params: { id: nodeId } });
  expect(await next()).toBe(offline.nodeId);
  await workspace.api.call('deleteAutomationNode', { params: { id: offline.nodeId } });
  expect(await next()).toBe(old.nodeId);
});

test('a step with a tag prefers nodes whose workspace allows the command', async () => {
  const workspace = await hub.workspace();
  const options = { tags: ['office'], capabilities };
  await goOnline(await pair(workspace, 'off', 'x', { ...options, allowSystem: false }));
  const allowed = await pair(workspace, 'on', 'x', options);
  const run = () => ({ type: 'skill', skillId: 'system.run', input: { nodeTag: 'office', argv: ['id'] } });
  for (let round = 0; round < 4; round++) {
    const id = await begin(workspace, [run()]);
    expect(await settled(workspace, id)).toMatchObject({ status: 'waiting_approval' });
    const [approval] = (await workspace.api.call('listAutomationApprovals', { query: { runId: id } })).data;
    expect(approval?.request).toEqual({ nodeId: allowed.nodeId, argv: ['id'], failOnExitCode: true, waitMs: 30_000 });
  }
  await workspace.api.call('deleteAutomationNode', { params: { id: allowed.nodeId } });
  expect(await settled(workspace, await begin(workspace, [run()]))).toMatchObject({
    status: 'failed',
    error: { code: 'node_flag_off' },
  });
});

test('a run keeps the node that it got by a tag, until that node is offline', async () => {
  const workspace = await hub.workspace();
  const options = { tags: ['office'], capabilities };
  const nodes = [await pair(workspace, 'a', 'x', options), await pair(workspace, 'b', 'x', options)];
  for (const node of nodes) await goOnline(node);
  const server = await pair(workspace, 'server', 'x', { capabilities });
  await goOnline(server);
  const step = { ...ping({ nodeTag: 'office', waitMs: 5_000 }), retry: { maxAttempts: 2, backoffSeconds: 0 } };
  const run = await begin(workspace, [
    ping({ nodeTag: 'office' }),
    ping({ node: 'server' }),
    ping({ nodeTag: 'office' }),
    step,
  ]);
  const chosen = await nodeOf(workspace, run);
  const kept = nodes.find(({ nodeId }) => nodeId === chosen) as Paired;
  const other = nodes.find(({ nodeId }) => nodeId !== chosen) as Paired;
  // The other node of the tag has fewer open commands than the kept one.
  await begin(workspace, [ping({ nodeId: kept.nodeId, waitMs: 60_000 })]);
  const commands = () => workspace.api.call('listAutomationNodeCommands', { params: { id: kept.nodeId } });
  await expect.poll(async () => (await commands()).data.length).toBe(2);
  await answer(kept, pong);
  await answer(server, pong);
  await expect
    .poll(
      async () => (await workspace.api.call('getAutomationRun', { params: { id: run } })).stepsResultJson[1]?.status,
    )
    .toBe('succeeded');
  expect(await nodeOf(workspace, run)).toBe(chosen);
  // The companion of that node does not fetch the last command of the run.
  const elsewhere = answer(other, pong);
  for (const _ of ['of the other run', 'of the run']) await answer(kept, pong);
  expect(await elsewhere).toEqual({});
  expect(await settled(workspace, run)).toMatchObject({ status: 'succeeded' });
});

test('a tag that no paired node has fails the step with the existing tags, and the preview says so before', async () => {
  const workspace = await hub.workspace();
  await workspace.api.call('createAutomationNode', { body: { name: 'soon', tags: ['office'] } });
  const fail = async (api: TestWorkspace) => settled(api, await begin(api, [ping({ nodeTag: 'office' })]));
  expect(await fail(workspace)).toMatchObject({
    error: {
      code: 'not_found',
      message: 'There is no paired node with the tag "office" in this workspace; its nodes have no tags.',
    },
  });
  await pair(workspace, 'a', 'x', { tags: ['lab', 'attic'] });
  const message =
    'There is no paired node with the tag "office" in this workspace; the tags of its nodes are "attic", "lab".';
  expect(await fail(workspace)).toMatchObject({ error: { message } });
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'w', stepsJson: [ping({ nodeTag: 'office' })] as never },
  });
  expect(
    await workspace.api.call('runAutomationWorkflow', { params: { id }, query: { dryRun: 'true' }, body: {} }),
  ).toMatchObject({ runnable: false, steps: [{ problems: [message] }] });
  const elsewhere = await hub.workspace();
  expect(await fail(elsewhere)).toMatchObject({
    error: { message: expect.stringContaining('its nodes have no tags') as string },
  });
});
