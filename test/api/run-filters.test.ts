import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addFinishedRuns } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

type Filter = Record<string, string | undefined>;

const list = (filter: Filter, query: object = {}) =>
  workspace.api.call('listAutomationRuns', { query: { ...filter, ...query } as never });
const idsOf = async (filter: Filter) => (await list(filter)).data.map(({ id }) => id);
const estimate = (filter: Filter) => workspace.api.call('estimateAutomationRuns', { query: filter as never });

/** All runs of a list, read in pages of this size. */
async function allOf(filter: Filter, limit: number): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { data, meta } = await list(filter, { limit, ...(cursor === undefined ? {} : { cursor }) });
    ids.push(...data.map(({ id }) => id));
    if (meta.nextCursor === null) return ids;
    cursor = meta.nextCursor;
  }
}

async function run(stepsJson: object[], { body = {}, key }: { body?: object; key?: string } = {}) {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'w', stepsJson, ...body } as never,
  });
  const api = key === undefined ? workspace.api : hub.client(key);
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
  await settledRun(workspace.api, runId);
  return { id, runId };
}

test('runs are found by statuses, trigger, environment, node, parent, error code and start of the id', async () => {
  const log = { type: 'log', message: 'x' };
  const child = await run([log]);
  const parent = await run([{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child.id } }]);
  const [spawned] = await idsOf({ parentRunId: parent.runId });
  const failing = await run([{ type: 'log', message: '{{payload.x}}' }]);
  const { nodeId } = await workspace.api.call('createAutomationNode', { body: {} });
  const waiting = await run([{ type: 'approval', title: 'ok?' }]);
  const { key } = await workspace.createKey({ environment: 'test' });
  const tested = await run([log], { key });
  const all = [child, parent, failing, waiting, tested].map(({ runId }) => runId);

  expect(spawned).toBeDefined();
  expect(all).not.toContain(spawned);
  expect(await idsOf({ statuses: 'failed,waiting_approval' })).toEqual([waiting.runId, failing.runId]);
  expect(await idsOf({ statuses: 'failed,waiting_approval', status: 'failed' })).toEqual([failing.runId]);
  expect(await idsOf({ statuses: 'succeeded', status: 'failed' })).toEqual([]);
  expect(await idsOf({ environment: 'test' })).toEqual([tested.runId]);
  const { error, trigger } = await workspace.api.call('getAutomationRun', { params: { id: failing.runId } });
  expect(await idsOf({ errorCode: error?.code })).toEqual([failing.runId]);
  expect(await idsOf({ errorCode: 'nothing' })).toEqual([]);
  const { trigger: ofSpawned } = await workspace.api.call('getAutomationRun', { params: { id: spawned as string } });
  expect(ofSpawned.type).not.toBe(trigger.type);
  expect(await idsOf({ triggerType: ofSpawned.type })).toEqual([spawned]);
  expect(await idsOf({ triggerType: trigger.type, workflowId: child.id })).toEqual([child.runId]);
  for (const length of [36, 30])
    expect(await idsOf({ idPrefix: failing.runId.slice(0, length).toUpperCase() })).toEqual([failing.runId]);
  expect(await idsOf({ idPrefix: '0000' })).toEqual([]);
  expect(await idsOf({ nodeId })).toEqual([]);

  expect(await allOf({ statuses: 'succeeded,failed,waiting_approval' }, 2)).toEqual(await allOf({}, 100));
  for (const filter of [{}, { environment: 'live' }, { statuses: 'failed,waiting_approval' }, { errorCode: 'nothing' }])
    expect(await estimate(filter)).toEqual({ count: (await allOf(filter, 100)).length, isExact: true });
});

test('runs that sent a command to a node are found by the node', async () => {
  const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
  const device = { name: 'd', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] };
  await hub.client().call('claimAutomationNode', {
    body: { pairingCode, device: { ...device, capabilities: ['node.ping'] } },
  });
  const stepsJson = [{ type: 'skill', skillId: 'node.ping', input: { nodeId } }];
  const { id } = await workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } as never });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  await expect.poll(() => idsOf({ nodeId })).toEqual([runId]);
  expect(await idsOf({ nodeId, status: 'failed' })).toEqual([]);
});

test('a rare run among many is found by following the cursor, and the estimate for many runs says so', async () => {
  const { key } = await workspace.createKey({ environment: 'test' });
  const { id, runId } = await run([{ type: 'log', message: '{{payload.x}}' }], { key });
  const at = new Date();
  const done = { status: 'succeeded' as const, queuedAt: at, startedAt: at, finishedAt: at };
  // Their ids are random, and greater than those of runs that the hub starts.
  await addFinishedRuns(
    hub.database,
    workspace.tenantId,
    id,
    Array.from({ length: 25_000 }, () => done),
  );
  const first = await list({ workflowId: id, environment: 'test' });
  expect(first.data).toEqual([]);
  expect(first.meta.nextCursor).not.toBeNull();
  expect(await allOf({ workflowId: id, environment: 'test' }, 10)).toEqual([runId]);
  const many = await estimate({ workflowId: id });
  expect(many.isExact).toBe(false);
  expect(many.count).toBeGreaterThanOrEqual(10_000);
  expect(await estimate({ workflowId: id, statuses: 'failed' })).toEqual({ count: 1, isExact: true });
});

test('filters of runs are refused when they are invalid, without permission, and find no runs of other workspaces', async () => {
  const get = (query: string, key: string | undefined = workspace.key, path = 'runs') =>
    send(hub.url, 'GET', `/v1/automations/${path}?${query}`, { headers: key === '' ? {} : { 'x-api-key': key } });
  for (const query of [
    'statuses=done',
    'statuses=',
    'idPrefix=01',
    'idPrefix=xyzz',
    'idPrefix=----',
    'nodeId=1',
    'environment=both',
    'triggerType=',
  ])
    for (const path of ['runs', 'run-estimate'])
      expect([query, (await get(query, workspace.key, path)).status]).toEqual([query, 400]);
  expect((await get('statuses=failed&cursor=nothing')).body).toMatchObject({ code: 'invalid_cursor' });
  expect((await get('', '', 'run-estimate')).status).toBe(401);
  expect((await get('', workspace.keys.chat, 'run-estimate')).status).toBe(403);
  const other = await hub.workspace();
  const { runId } = await run([{ type: 'log', message: 'x' }]);
  expect((await get(`idPrefix=${runId}`)).body).toMatchObject({ data: [{ id: runId }] });
  expect((await get(`idPrefix=${runId}`, other.key)).body).toMatchObject({ data: [] });
  expect((await get('', other.key, 'run-estimate')).body).toEqual({ count: 0, isExact: true });
  expect((await get(`parentRunId=${missingId}`)).body).toMatchObject({ data: [] });
});
