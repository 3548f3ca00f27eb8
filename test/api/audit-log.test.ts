import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const list = (query: object, { session, tenantId } = workspace) =>
  session.call('listAuditLog', { params: { tenantId }, query });

test('the audit log is filtered by action and by time, together with the other filters and over pages', async () => {
  const { api } = workspace;
  const create = (name: string) => api.call('createAutomationAgent', { body: { name } });
  const { id } = await create('first');
  await api.call('updateAutomationAgent', { params: { id }, body: { name: 'x' } });
  const [last] = (await list({ targetId: id, action: 'agent.updated' })).data;
  expect(last).toMatchObject({ action: 'agent.updated', targetId: id });
  // The filters compare ids, whose time is that of the hub in milliseconds.
  const middle = new Date(Date.now() + 2).toISOString();
  await expect.poll(() => Date.now()).toBeGreaterThan(Date.parse(middle));
  const { id: later } = await create('second');

  const before = await list({ to: middle, targetType: 'agent' });
  expect(before.data.map(({ action }) => action)).toEqual(['agent.updated', 'agent.created']);
  expect((await list({ from: middle, targetType: 'agent' })).data.map(({ targetId }) => targetId)).toEqual([later]);
  expect((await list({ from: middle, to: middle })).data).toEqual([]);
  const first = await list({ action: 'agent.created', limit: 1 });
  const second = await list({ action: 'agent.created', limit: 1, cursor: first.meta.nextCursor });
  expect([...first.data, ...second.data].map(({ targetId }) => targetId)).toEqual([later, id]);
  expect((await list({ action: 'agent.created', actor: 'user:nobody' })).data).toEqual([]);
  expect((await list({ action: 'agent.created' }, await hub.workspace())).data).toEqual([]);
  await expect(list({ from: 'yesterday' })).rejects.toMatchObject({ code: 'validation_failed' });
});

test('changes of the policy, of a node, of models and of a role have the old and the new values', async () => {
  const { api, session, tenantId } = await hub.workspace();
  const { nodeId } = await api.call('createAutomationNode', { body: { name: 'Kiosk' } });
  await api.call('updateAutomationNode', { params: { id: nodeId }, body: { tags: ['a'], allowBrowser: false } });
  await session.call('putAutomationPolicy', { body: { maxRunsPerHour: 5 } });
  await session.call('putAutomationPolicy', { body: { maxRunsPerHour: 7 } });
  const put = (model: string, apiKey?: string) =>
    api.call('putAutomationModels', {
      body: { models: [{ id: 'main', provider: 'openai', model, ...(apiKey && { apiKey }) }], order: ['main'] },
    });
  await put('gpt-5', 'sk-secret');
  await put('gpt-6');
  await put('gpt-6', 'sk-secret-2');
  const detailsOf = async (action: string) =>
    (await list({ action }, { session, tenantId } as TestWorkspace)).data.map(({ details }) => details);
  expect((await detailsOf('node.updated'))[0]).toMatchObject({ changes: { tags: { from: [], to: ['a'] } } });
  expect((await detailsOf('node.updated'))[0]?.['changes']).not.toHaveProperty('allowBrowser');
  expect((await detailsOf('policy.updated'))[0]?.['changes']).toEqual({ maxRunsPerHour: { from: 5, to: 7 } });
  expect(await detailsOf('models.updated')).toMatchObject([
    { changes: {}, keysChanged: ['main'] },
    { changes: { 'main.model': { from: 'gpt-5', to: 'gpt-6' } }, keysChanged: [] },
    {
      changes: { order: { from: [], to: ['main'] }, 'main.model': { from: null, to: 'gpt-5' } },
      keysChanged: ['main'],
    },
  ]);
  expect(JSON.stringify(await detailsOf('models.updated'))).not.toContain('sk-secret');
});
