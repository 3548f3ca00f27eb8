import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({}, undefined, { workspaceLimits: { workflow: 3, schedule: 1 } });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

const stepsJson = [{ type: 'log' as const, message: 'x' }];
const create = (name: string, more: object = {}, { api } = workspace) =>
  api.call('createAutomationWorkflow', { body: { name, stepsJson, ...more } as never });
const remove = (id: string, { api } = workspace) => api.call('deleteAutomationWorkflow', { params: { id } });
const restore = (id: string, { api } = workspace) => api.call('restoreAutomationWorkflow', { params: { id } });
const listed = async () => (await workspace.api.call('listDeletedAutomationWorkflows', {})).data;

test('a deleted workflow is listed and restored inactive, with its versions and runs', async () => {
  const { api, session, tenantId } = workspace;
  const { id } = await create('first');
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
  await settledRun(api, runId);
  await api.call('updateAutomationWorkflow', { params: { id }, body: { name: 'renamed' } });
  const { id: other } = await create('other');
  expect(await listed()).toEqual([]);
  await remove(id);
  await remove(other);
  expect((await listed()).map(({ name, version }) => [name, version])).toEqual([
    ['other', 1],
    ['renamed', 2],
  ]);
  await expect(api.call('getAutomationWorkflow', { params: { id } })).rejects.toMatchObject({ code: 'not_found' });

  expect(await restore(id)).toMatchObject({ id, name: 'renamed', version: 2, active: false });
  expect((await listed()).map((each) => each.id)).toEqual([other]);
  const versions = await api.call('listAutomationWorkflowVersions', { params: { id } });
  expect(versions.data.map(({ version }) => version)).toEqual([2, 1]);
  expect(await api.call('getAutomationRun', { params: { id: runId } })).toMatchObject({ workflowId: id });
  await expect(api.call('runAutomationWorkflow', { params: { id } })).rejects.toMatchObject({
    code: 'workflow_inactive',
  });
  await api.call('updateAutomationWorkflow', { params: { id }, body: { active: true } });
  const again = startedRun(await api.call('runAutomationWorkflow', { params: { id } })).runId;
  expect(await settledRun(api, again)).toMatchObject({ status: 'succeeded' });
  const audit = await session.call('listAuditLog', { params: { tenantId }, query: { action: 'workflow.restored' } });
  expect(audit.data).toMatchObject([{ targetId: id, details: { name: 'renamed', version: 2 } }]);
  await expect(restore(id)).rejects.toMatchObject({ code: 'not_found' });
});

test('the list of deleted workflows has pages, the last deleted one first', async () => {
  const { api } = workspace;
  const ids: string[] = [];
  for (const name of ['a', 'b', 'c']) ids.push((await create(name)).id);
  for (const id of ids.toReversed()) await remove(id);
  const first = await api.call('listDeletedAutomationWorkflows', { query: { limit: 2 } });
  expect(first.data.map(({ name }) => name)).toEqual(['a', 'b']);
  const second = await api.call('listDeletedAutomationWorkflows', {
    query: { limit: 2, cursor: first.meta.nextCursor as string },
  });
  expect([second.data.map(({ name }) => name), second.meta.nextCursor]).toEqual([['c'], null]);
  await expect(
    api.call('listDeletedAutomationWorkflows', { query: { cursor: first.meta.nextCursor?.slice(1) as string } }),
  ).rejects.toMatchObject({ code: 'invalid_cursor' });
});

test('a restored workflow counts towards the limits of the workspace', async () => {
  const triggerJson = { schemaVersion: 1, type: 'schedule', schedule: { kind: 'interval', everySeconds: 3600 } };
  const { id: scheduled } = await create('scheduled', { triggerJson });
  await remove(scheduled);
  const { id: another } = await create('another', { triggerJson });
  await expect(restore(scheduled)).rejects.toMatchObject({ code: 'workspace_limit_reached' });
  await remove(another);
  expect(await restore(scheduled)).toMatchObject({ nextRunAt: null });
  const { id } = await create('deleted');
  await remove(id);
  for (const name of ['two', 'three']) await create(name);
  await expect(restore(id)).rejects.toMatchObject({ code: 'workspace_limit_reached' });
  expect((await listed()).map((each) => each.id)).toContain(id);
});

test('a restored webhook does not take its token from the workspace that has it now', async () => {
  const token = 'a-token-of-16-or-more';
  const triggerJson = { schemaVersion: 1, type: 'webhook', webhook: { token } };
  const { id } = await create('hook', { triggerJson });
  await remove(id);
  const other = await hub.workspace();
  const theirs = await create('theirs', { triggerJson }, other);
  await restore(id);
  await workspace.api.call('updateAutomationWorkflow', { params: { id }, body: { active: true } });
  const answer = await send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
    headers: { 'x-service-automation-token': token },
    body: { event: 'x', payload: {} },
  });
  expect(answer.status).toBe(200);
  const { data } = await other.api.call('listAutomationRuns', { query: { workflowId: theirs.id } });
  expect(data).toHaveLength(1);
  expect((await workspace.api.call('listAutomationRuns', { query: { workflowId: id } })).data).toEqual([]);
});

test('neither another workspace, nor a read-only key, nor a test key restores a live workflow', async () => {
  const { id } = await create('mine');
  await remove(id);
  const other = await hub.workspace();
  await expect(restore(id, other)).rejects.toMatchObject({ code: 'not_found' });
  expect((await other.api.call('listDeletedAutomationWorkflows', {})).data).toEqual([]);
  const reader = hub.client((await workspace.createKey({ permissions: ['automations:read'] })).key);
  await expect(reader.call('restoreAutomationWorkflow', { params: { id } })).rejects.toMatchObject({ status: 403 });
  const tester = hub.client((await workspace.createKey({ environment: 'test' })).key);
  await expect(tester.call('restoreAutomationWorkflow', { params: { id } })).rejects.toMatchObject({
    code: 'test_key_not_allowed',
  });
});

test('the workflow of a deleted sequence is neither listed nor restored', async () => {
  const { api } = workspace;
  const { id } = await api.call('createAutomationSequence', { body: { name: 's', steps: stepsJson } });
  const { workflowId, runId } = await api.call('runAutomationSequence', { params: { id } });
  await settledRun(api, runId);
  await api.call('deleteAutomationSequence', { params: { id } });
  expect(await listed()).toEqual([]);
  await expect(restore(workflowId)).rejects.toMatchObject({ code: 'not_found' });
});
