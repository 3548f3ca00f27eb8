import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let live: TestWorkspace['api'];
let testing: TestWorkspace['api'];
let testKey: string;

beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
  live = hub.client(workspace.keys.chat);
  ({ key: testKey } = await workspace.createKey({ product: 'chat', environment: 'test' }));
  testing = hub.client(testKey);
});
afterAll(() => hub[Symbol.asyncDispose]());

const notFound = { status: 404, code: 'not_found' };

test('one external id is a live visitor for live keys and a separate test visitor for test keys', async () => {
  const real = await live.call('createChatSession', {
    body: { externalId: 'ann', displayName: 'Ann', email: 'ann@example.org', attributes: { plan: 'pro' } },
  });
  const tried = await testing.call('createChatSession', {
    body: { externalId: 'ann', displayName: 'Mallory', attributes: { plan: null, spoofed: true } },
  });
  expect(tried.conversationId).not.toBe(real.conversationId);
  const ann = (await live.call('listChatVisitors', { query: { externalId: 'ann' } })).data;
  expect(ann).toMatchObject([{ display_name: 'Ann', email: 'ann@example.org', attributes: { plan: 'pro' } }]);
  const double = (await testing.call('listChatVisitors', { query: { externalId: 'ann' } })).data;
  expect(double).toMatchObject([{ display_name: 'Mallory', email: null, attributes: { spoofed: true } }]);
  expect(double[0]?.id).not.toBe(ann[0]?.id);
});

test('each list shows only the conversations and visitors of the environment of the key', async () => {
  await live.call('createChatConversation', { body: { name: 'real', visitor: { externalId: 'real' } } });
  await testing.call('createChatConversation', { body: { name: 'tried', visitor: { externalId: 'tried' } } });
  for (const [api, own, foreign] of [
    [live, 'real', 'tried'],
    [testing, 'tried', 'real'],
  ] as const) {
    const names = (await api.call('listChatConversations', { query: {} })).data.map(({ name }) => name);
    expect(names).toContain(own);
    expect(names).not.toContain(foreign);
    const ids = (await api.call('listChatVisitors', { query: {} })).data.map((visitor) => visitor.external_id);
    expect(ids).toContain(own);
    expect(ids).not.toContain(foreign);
  }
});

test('a conversation of the other environment can be neither read nor changed', async () => {
  const real = await live.call('createChatConversation', { body: { name: 'real' } });
  const tried = await testing.call('createChatConversation', { body: { name: 'tried' } });
  for (const [api, { id }] of [
    [testing, real],
    [live, tried],
  ] as const) {
    await expect(api.call('listChatMessages', { params: { id }, query: {} })).rejects.toMatchObject(notFound);
    await expect(api.call('sendChatMessage', { params: { id }, body: { content: 'x' } })).rejects.toMatchObject(
      notFound,
    );
  }
  expect((await live.call('listChatMessages', { params: { id: real.id }, query: {} })).data).toEqual([]);
});

test('a test run neither writes into nor assigns a live conversation', async () => {
  const { key } = await workspace.createKey({ environment: 'test' });
  const api = hub.client(key);
  const { id } = await live.call('createChatConversation', { body: { name: 'real' } });
  for (const [skillId, input] of [
    ['chat.post_message', { channelId: id, content: 'from a test' }],
    ['chat.assign', { channelId: id, assigneeId: null }],
  ] as const) {
    const { runId } = await api.call('runAutomationSkill', { params: { skillId }, body: { input } });
    const run = await settledRun(api, runId);
    expect(run).toMatchObject({ status: 'failed', environment: 'test', error: { code: 'not_found' } });
  }
  expect((await live.call('listChatMessages', { params: { id }, query: {} })).data).toEqual([]);
});

test('the inbox of agents marks test conversations', async () => {
  const { id } = await testing.call('createChatConversation', { body: { name: 'marked' } });
  const { data } = await workspace.session.call('listInboxConversations', {
    params: { tenantId: workspace.tenantId },
    query: {},
  });
  expect(data.find((conversation) => conversation.id === id)).toMatchObject({ environment: 'test' });
});

test('a test key neither sees nor changes a live webhook', async () => {
  const { tenantId } = workspace;
  const webhook = await live.call('createWebhook', {
    params: { tenantId },
    body: { url: 'https://example.org/', events: ['message.created'] },
  });
  expect(await live.call('getWebhook', { params: { tenantId, id: webhook.id } })).toMatchObject({ id: webhook.id });
  expect((await testing.call('listWebhooks', { params: { tenantId }, query: {} })).data).toEqual([]);
  const path = `/tenants/${tenantId}/webhooks/${webhook.id}`;
  for (const [method, at, body] of [
    ['GET', path],
    ['PATCH', path, { url: 'https://elsewhere.example.org/' }],
    ['DELETE', path],
    ['POST', `${path}/rotate-secret`, {}],
    ['POST', `${path}/test`, {}],
    ['POST', `${path}/replay`, { since: new Date(0).toISOString() }],
    ['GET', `${path}/deliveries`],
    ['GET', `${path}/deliveries/${webhook.id}`],
    ['POST', `${path}/deliveries/${webhook.id}/redeliver`],
  ] as const)
    expect(
      (await send(hub.url, method, at, { headers: { 'x-api-key': testKey }, ...(body && { body }) })).status,
      at,
    ).toBe(404);
  expect(await live.call('getWebhook', { params: { tenantId, id: webhook.id } })).toMatchObject({
    url: 'https://example.org/',
  });
});
