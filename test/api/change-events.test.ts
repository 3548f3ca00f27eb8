import { afterAll, beforeAll, beforeEach, expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { workspaceEvent } from '../../shared/contract/core/events.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { openStream } from '../fixtures/server-sent-events.ts';
import { settledRun } from '../fixtures/settled-run.ts';

/** Workspace events about what members and keys change. */

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

const password = 'correct horse battery';

async function follow({ tenantId } = workspace, jwt = workspace.jwt) {
  const stream = await openStream(`${hub.url}/tenants/${tenantId}/events`, jwt);
  onTestFinished(() => stream.end());
  await expect.poll(() => stream.received[0]?.event).toBe('ready');
  /** The events so far, without their times, checked against the contract. */
  const changes = () =>
    stream.received.flatMap(({ data }) => {
      const event = workspaceEvent.parse(data);
      if (event.type === 'ready' || event.type === 'end') return [];
      const { at: _at, ...change } = event;
      return [change];
    });
  return { stream, changes };
}

async function join(role: 'admin' | 'agent') {
  const { session, tenantId } = workspace;
  const email = `member.${process.hrtime.bigint()}@example.org`;
  const { id } = await session.call('addMember', { params: { tenantId }, body: { email, password, role } });
  const { token } = await hub.client().call('logIn', { body: { email, password } });
  return { id, jwt: token };
}

const stepsJson = [{ type: 'log' as const, message: 'a secret text' }];
const settingsOf = (events: readonly object[]) =>
  events.flatMap((event) => ('setting' in event ? [event.setting] : []));

test('members see who created, changed, deleted and restored which workflow, and no content', async () => {
  const { api, session, tenantId } = workspace;
  const { changes, stream } = await follow();
  const foreign = await follow(...(await hub.workspace().then((other) => [other, other.jwt] as const)));
  const me = (await session.call('readMe', {})).user.id;
  const { id } = await api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } });
  await session.call('growthUpdateResource', { params: { resource: 'workflows', id }, body: { active: false } });
  await session.call('growthDeleteResource', { params: { resource: 'workflows', id } });
  await api.call('restoreAutomationWorkflow', { params: { id } });
  await expect.poll(() => changes().length).toBe(4);
  const [{ id: tokenId } = { id: '' }] = (
    await session.call('listApiTokens', { params: { tenantId }, query: {} })
  ).data.filter(({ product }) => product === 'automations');
  const token = `token:${tokenId}`;
  expect(changes()).toEqual([
    { type: 'workflow', id, change: 'created', version: 1, by: token },
    { type: 'workflow', id, change: 'updated', version: 2, by: `user:${me}` },
    { type: 'workflow', id, change: 'deleted', version: null, by: `user:${me}` },
    { type: 'workflow', id, change: 'restored', version: 2, by: token },
  ]);
  expect(JSON.stringify(stream.received)).not.toContain('a secret text');
  expect(foreign.changes()).toEqual([]);
});

test('a refused change has no event, and a run has only its own', async () => {
  const { api } = workspace;
  const { id } = await api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } });
  const { changes } = await follow();
  await expect(
    api.call('updateAutomationWorkflow', { params: { id }, body: { name: 'x' } }, { headers: { 'if-match': '"7"' } }),
  ).rejects.toMatchObject({ code: 'version_conflict' });
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
  await settledRun(api, runId);
  // The events of a step and of its run have no order among each other.
  await expect
    .poll(() => changes().flatMap((event) => (event.type === 'run' ? [event.status] : [])))
    .toContain('succeeded');
  expect(new Set(changes().map(({ type }) => type))).toEqual(new Set(['run', 'step']));
});

test('members see changes of agents, sequences and channels', async () => {
  const { api } = workspace;
  const agentMember = await join('agent');
  const { changes } = await follow(workspace, agentMember.jwt);
  const agent = await api.call('createAutomationAgent', { body: { name: 'a' } });
  await api.call('updateAutomationAgent', { params: { id: agent.id }, body: { name: 'b' } });
  await api.call('deleteAutomationAgent', { params: { id: agent.id } });
  const sequence = await api.call('createAutomationSequence', { body: { name: 's', steps: stepsJson } });
  const channel = await api.call('putAutomationChannel', {
    body: { provider: 'webhook', name: 'c', config: { inboundSecret: 'a-secret-of-a-channel' } },
  });
  await expect.poll(() => changes().length).toBe(5);
  expect(changes()).toMatchObject([
    { type: 'agent', id: agent.id, change: 'created' },
    { type: 'agent', id: agent.id, change: 'updated' },
    { type: 'agent', id: agent.id, change: 'deleted' },
    { type: 'sequence', id: sequence.id, change: 'created' },
    { type: 'channel', id: channel.id, change: 'created' },
  ]);
});

test('only admins see changes of what only admins can read, from their change of role on', async () => {
  const { api, session, tenantId } = workspace;
  const member = await join('agent');
  const admin = await follow();
  const other = await follow(workspace, member.jwt);
  const change = async () => {
    await session.call('putAllowedOrigins', { params: { tenantId }, body: { origins: [] } });
    await session.call('createWebhook', {
      params: { tenantId },
      body: { url: 'https://example.org/hook', events: ['message.created'] },
    });
    await workspace.createKey();
    // Everyone reads the policy, so that its event ends the wait.
    await api.call('putAutomationPolicy', { body: {} });
  };
  await change();
  await expect.poll(() => settingsOf(admin.changes())).toEqual(['origins', 'tokens', 'policy']);
  expect(admin.changes().filter(({ type }) => type === 'webhook')).toMatchObject([{ change: 'created' }]);
  await expect.poll(() => other.changes()).toMatchObject([{ type: 'settings', setting: 'policy' }]);

  await session.call('changeMember', { params: { tenantId, userId: member.id }, body: { role: 'admin' } });
  await change();
  await expect
    .poll(() => settingsOf(other.changes()))
    .toEqual(['policy', 'members', 'invitations', 'origins', 'tokens', 'policy']);
  await session.call('changeMember', { params: { tenantId, userId: member.id }, body: { role: 'agent' } });
  await change();
  await expect.poll(() => settingsOf(other.changes()).slice(6)).toEqual(['members', 'policy']);
});

test('settings are announced by their names, to workspaces with their product', async () => {
  const { api, session, tenantId } = workspace;
  const { changes } = await follow();
  await session.call('putAutomationModels', { body: { models: [], order: [] } });
  await session.call('putKnowledge', { params: { tenantId }, body: { entries: [], terms: 'fees' } });
  await session.call('putAiBudget', { params: { tenantId }, body: { dailyTokens: 5, dailyCost: null } });
  await session.call('putChatSettings', { params: { tenantId }, body: {} });
  await api.call('putAutomationToolProfile', { body: { name: 'p', allow: [] } });
  // Events are sent only while the workspace has their product.
  await expect.poll(() => settingsOf(changes())).toContain('tool_profiles');
  await hub.client(adminKey).call('putEntitlements', { params: { tenantId }, body: { ai_agent: false } });
  await session.call('putAutomationModels', { body: { models: [], order: [] } });
  await expect.poll(() => settingsOf(changes()).slice(-1)).toEqual(['models']);
  expect(settingsOf(changes())).toEqual([
    'models',
    'knowledge',
    'ai_budget',
    'chat',
    'tool_profiles',
    'entitlements',
    'models',
  ]);
});
