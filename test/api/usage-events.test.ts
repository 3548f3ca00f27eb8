import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { send } from '../fixtures/requests.ts';

let model: ModelServer;
let hub: TestHub;
let workspace: TestWorkspace;
let params: { tenantId: string };
/** Ids of the subjects of the events that the tests expect, oldest first. */
const subjects: string[] = [];
let between: string;
beforeAll(async () => {
  model = await startModelServer();
  hub = await startHub({ EGRESS_ALLOW_HOSTS: '127.0.0.1' });
  workspace = await hub.workspace();
  params = { tenantId: workspace.tenantId };
  await workspace.api.call('putAutomationModels', {
    body: {
      models: [{ id: 'main', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'alpha', apiKey: 'key' }],
      order: ['main'],
    },
  });
  const live = hub.client(workspace.keys.chat as string);
  const testing = hub.client((await workspace.createKey({ product: 'chat', environment: 'test' })).key);
  const ai = hub.client(workspace.keys.ai as string);
  subjects.push((await live.call('createChatSession', { body: { externalId: 'one' } })).conversationId);
  subjects.push((await testing.call('createChatSession', { body: { externalId: 'two' } })).conversationId);
  await new Promise((resolve) => setTimeout(resolve, 2));
  between = new Date().toISOString();
  subjects.push((await ai.call('createAiRun', { body: { input: 'Hello' } })).id);
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

const list = (query: Record<string, unknown> = {}) =>
  workspace.session.call('listUsageEvents', { params, query: query as never });
const subjectsOf = async (query: Record<string, unknown>) =>
  (await list(query)).data.map(({ subjectId }) => subjects.indexOf(subjectId));

test('usage events list the use, newest first, with its kind and environment', async () => {
  expect((await list()).data).toMatchObject([
    { kind: 'ai.run', subjectId: subjects[2], environment: 'live' },
    { kind: 'chat.session', subjectId: subjects[1], environment: 'test' },
    { kind: 'chat.session', subjectId: subjects[0], environment: 'live' },
  ]);
});

test('usage events are filtered by kind and time', async () => {
  expect(await subjectsOf({ kind: 'chat.session' })).toEqual([1, 0]);
  expect(await subjectsOf({ from: between })).toEqual([2]);
  expect(await subjectsOf({ to: between })).toEqual([1, 0]);
  expect(await subjectsOf({ from: between, kind: 'chat.session' })).toEqual([]);
});

test('pages of usage events neither omit nor repeat an event', async () => {
  const found: number[] = [];
  let cursor: string | undefined;
  do {
    const page = await list({ limit: 1, ...(cursor === undefined ? {} : { cursor }) });
    found.push(...page.data.map(({ subjectId }) => subjects.indexOf(subjectId)));
    cursor = page.meta.nextCursor ?? undefined;
  } while (cursor !== undefined);
  expect(found).toEqual([2, 1, 0]);
});

test('usage events are read by admins and keys with usage:read of their own workspace only', async () => {
  const path = `/tenants/${workspace.tenantId}/usage-events`;
  const get = async (key: string) =>
    (await send(hub.url, 'GET', path, { headers: { authorization: `Bearer ${key}` } })).body;
  const reader = await workspace.createKey({ product: 'ai', permissions: ['usage:read'] });
  expect(await get(reader.key)).toMatchObject({ data: [{}, {}, {}] });
  const invoker = await workspace.createKey({ product: 'ai', permissions: ['ai:invoke'] });
  expect(await get(invoker.key)).toMatchObject({ statusCode: 403, code: 'missing_permission' });
  expect(await get(workspace.keys.chat as string)).toMatchObject({ statusCode: 403 });
  const other = await hub.workspace();
  expect(await get(other.jwt)).toMatchObject({ statusCode: 404 });
  expect(await get(other.keys.ai as string)).toMatchObject({ statusCode: 404 });
  expect((await other.session.call('listUsageEvents', { params: { tenantId: other.tenantId } })).data).toEqual([]);
  const { data } = await list({ limit: 1 });
  expect(data).toHaveLength(1);
});

test('a wrong filter of usage events names the field', async () => {
  await expect(list({ kind: 'chat' })).rejects.toMatchObject({ details: [{ path: 'query.kind' }] });
  await expect(list({ from: 'yesterday' })).rejects.toMatchObject({ details: [{ path: 'query.from' }] });
  await expect(list({ from: between, to: between })).rejects.toMatchObject({
    code: 'validation_failed',
    details: [{ path: 'query.from' }],
  });
  await expect(list({ cursor: 'none' })).rejects.toMatchObject({ code: 'invalid_cursor' });
});
