import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let other: TestWorkspace;
const ids: Record<string, string> = {};
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  [workspace, other] = [await hub.workspace(), await hub.workspace()];
  for (const name of ['Zebra report', 'apple 100%', 'Banana REPORT']) {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: { name, active: name !== 'apple 100%', stepsJson: [{ type: 'log', message: 'x' }] },
    });
    ids[name] = id;
  }
});
afterAll(() => hub[Symbol.asyncDispose]());

type Query = Record<string, string | number>;
const list = (query: Query) => workspace.api.call('listAutomationWorkflowSummaries', { query: query as never });
const namesOf = async (query: Query) => (await list(query)).data.map(({ name }) => name);

/** The names of all workflows, read in pages of one. */
async function pagesOf(query: Query): Promise<string[]> {
  const names: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { data, meta } = await list({ ...query, limit: 1, ...(cursor === undefined ? {} : { cursor }) });
    names.push(...data.map(({ name }) => name));
    if (meta.nextCursor === null) return names;
    cursor = meta.nextCursor;
  }
}

const search = async (q: string, as = workspace) =>
  (await as.api.call('searchWorkspace', { params: { tenantId: as.tenantId }, query: { q } })).data;

test('workflow summaries are searched by name and sorted, page by page', async () => {
  expect(await pagesOf({})).toEqual(['Banana REPORT', 'apple 100%', 'Zebra report']);
  expect(await pagesOf({ sort: 'name' })).toEqual(['apple 100%', 'Banana REPORT', 'Zebra report']);
  await workspace.api.call('updateAutomationWorkflow', {
    params: { id: ids['Zebra report'] as string },
    body: { inputs: null, active: false },
  });
  expect(await pagesOf({ sort: 'updatedAt' })).toEqual(['Zebra report', 'Banana REPORT', 'apple 100%']);
  expect(await namesOf({ q: 'report', sort: 'name' })).toEqual(['Banana REPORT', 'Zebra report']);
  expect(await namesOf({ q: '%' })).toEqual(['apple 100%']);
  expect(await namesOf({ q: '_' })).toEqual([]);
  expect(await namesOf({ active: 'false', sort: 'name' })).toEqual(['apple 100%', 'Zebra report']);
});

test('a workflow summary has the newest run and no definition', async () => {
  const id = ids['Banana REPORT'] as string;
  expect((await list({ q: 'banana' })).data).toMatchObject([{ lastRun: null }]);
  const start = async () => {
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    return settledRun(workspace.api, runId);
  };
  await start();
  const run = await start();
  const [summary] = (await list({ q: 'banana' })).data;
  expect(summary).toMatchObject({ id, triggerType: 'manual', stepCount: 1, version: 1, environment: 'live' });
  expect(summary?.lastRun).toEqual({
    id: run.id,
    status: 'succeeded',
    environment: 'live',
    queuedAt: run.queuedAt,
    finishedAt: run.finishedAt,
  });
  expect(Object.keys(summary ?? {})).not.toContain('stepsJson');
});

test('a page of workflow summaries is one statement', async () => {
  using recorder = new StatementRecorder(16);
  await list({ limit: 3 });
  // The schedules of the hub read workflows too, outside the workspace.
  const statements = recorder.statements.filter(
    ({ text, tenantId }) => text.includes('FROM workflows') && tenantId === workspace.tenantId,
  );
  expect(statements).toHaveLength(1);
});

test('a search finds what a workspace contains by name, and runs and approvals by the start of their ids', async () => {
  const { id: agent } = await workspace.api.call('createAutomationAgent', { body: { name: 'Report writer' } });
  const { nodeId } = await workspace.api.call('createAutomationNode', { body: { name: 'report desk' } });
  const { id: sequence } = await workspace.api.call('createAutomationSequence', {
    body: { name: 'All reports', steps: [{ type: 'log', message: 'x' }] },
  });
  const { id: channel } = await workspace.api.call('putAutomationChannel', {
    body: { provider: 'webhook', name: 'reports in', config: { inboundSecret: 'a secret of sixteen' } },
  });
  const found = await search('RePort');
  expect(found.filter(({ type }) => type !== 'workflow')).toEqual([
    { type: 'sequence', id: sequence, title: 'All reports', detail: null },
    { type: 'agent', id: agent, title: 'Report writer', detail: null },
    { type: 'node', id: nodeId, title: 'report desk', detail: null },
    { type: 'channel', id: channel, title: 'reports in', detail: 'webhook' },
  ]);
  expect(found.filter(({ type }) => type === 'workflow').map(({ title }) => title)).toEqual(
    expect.arrayContaining(['Banana REPORT', 'Zebra report']),
  );
  expect((await search('banana')).map(({ id }) => id)).toEqual([ids['Banana REPORT']]);
  expect(await search('nothing of this name')).toEqual([]);
  // No id starts with a hyphen.
  expect(await search('--------')).toEqual([]);

  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'Asks', stepsJson: [{ type: 'approval', title: 'Ship?' }] },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  await settledRun(workspace.api, runId);
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId } });
  const approvalId = data[0]?.id as string;
  expect(await search(runId.toUpperCase())).toEqual([
    { type: 'run', id: runId, title: 'Asks', detail: 'waiting_approval' },
  ]);
  expect(await search(approvalId.slice(0, 35))).toEqual([
    { type: 'approval', id: approvalId, title: 'Ship?', detail: 'pending' },
  ]);
  expect(await search(id)).toEqual([{ type: 'workflow', id, title: 'Asks', detail: null }]);
  for (const foreign of [runId, id, 'report']) expect(await search(foreign, other)).toEqual([]);
});

test('search and summaries are refused without permission, for another workspace, and with invalid input', async () => {
  const get = (path: string, key: string | undefined) =>
    send(hub.url, 'GET', path, { headers: key === undefined ? {} : { 'x-api-key': key } });
  const summaries = '/v1/automations/workflow-summaries';
  const searched = `/tenants/${workspace.tenantId}/search`;
  for (const path of [summaries, `${searched}?q=x`]) {
    expect((await get(path, undefined)).status).toBe(401);
    expect((await get(path, workspace.keys.chat)).status).toBe(403);
    expect((await get(path, workspace.key)).status).toBe(200);
  }
  expect((await get(`${searched}?q=x`, other.key)).status).toBe(404);
  expect((await get(summaries, other.key)).body).toMatchObject({ data: [] });
  const { meta } = await list({ limit: 1, sort: 'name' });
  for (const query of ['sort=size', 'active=maybe', 'q=', `cursor=${meta.nextCursor}`])
    expect([query, (await get(`${summaries}?${query}`, workspace.key)).status]).toEqual([query, 400]);
  for (const query of ['', 'q=', 'q=x&limit=21', `q=${'x'.repeat(201)}`])
    expect([query, (await get(`${searched}?${query}`, workspace.key)).status]).toEqual([query, 400]);
});
