import { once } from 'node:events';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { WebSocket } from 'ws';
import type { Permission, Product } from '../../shared/contract/define.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { send } from '../fixtures/requests.ts';
import { startSpeechServer } from '../fixtures/speech-server.ts';
import type { SpeechServer } from '../fixtures/speech-server.ts';

let model: ModelServer;
let speech: SpeechServer;
let hub: TestHub;
let workspace: TestWorkspace;
let other: TestWorkspace;
beforeAll(async () => {
  [model, speech] = [await startModelServer(), await startSpeechServer()];
  model.reply = () => 'At nine.';
  hub = await startHub({
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'alpha',
    STT_BASE_URL: speech.baseUrl,
    STT_MODEL: 'ears',
    TTS_BASE_URL: speech.baseUrl,
    TTS_MODEL: 'voice',
    RATE_LIMIT_PER_MINUTE: '100000',
  });
  [workspace, other] = [await hub.workspace(), await hub.workspace()];
});
afterAll(async () => {
  for (const ended of [hub, model, speech]) await ended[Symbol.asyncDispose]();
});

const tenant = (of = workspace) => `/tenants/${of.tenantId}`;
const operations: [Product, Permission, string, (of: TestWorkspace) => string, unknown?][] = [
  ['ai', 'ai:speak', 'POST', (of) => `${tenant(of)}/ai/speak`, { text: 'When?' }],
  ['ai', 'ai:speak', 'POST', (of) => `${tenant(of)}/ai/speak/stream`, { text: 'When?' }],
  ['ai', 'ai:voice', 'POST', (of) => `${tenant(of)}/ai/voice`, { text: 'When?' }],
  ['ai', 'knowledge:manage', 'PUT', (of) => `${tenant(of)}/ai/knowledge`, { entries: [], terms: 'None.' }],
  ['ai', 'knowledge:manage', 'GET', (of) => `${tenant(of)}/ai/knowledge`],
  ['ai', 'knowledge:manage', 'POST', (of) => `${tenant(of)}/ai/knowledge/search`, { question: 'When?' }],
  ['ai', 'usage:read', 'GET', (of) => `${tenant(of)}/ai/usage`],
  ['voice', 'voice:read', 'GET', () => '/calls/summary'],
  ['voice', 'voice:read', 'GET', () => '/calls'],
  ['voice', 'voice:export', 'GET', () => '/calls/export'],
  ['voice', 'connections:manage', 'GET', () => '/calls/connections'],
  ['voice', 'connections:manage', 'POST', () => '/calls/connections', { provider: 'kamailio', name: 'ours' }],
];
const call = (key: string, method: string, path: string, body?: unknown) =>
  send(hub.url, method, path, { headers: { authorization: `Bearer ${key}` }, ...(body === undefined ? {} : { body }) });

test.each(operations)(
  'a key of %s with %s may call %s %o, and no other key may',
  async (product, permission, method, path, body) => {
    const { key } = await workspace.createKey({ product, permissions: [permission] });
    expect(await call(key, method, path(workspace), body)).toMatchObject({ status: 200 });
    const another: Permission =
      product === 'ai' ? 'ai:invoke' : permission === 'voice:read' ? 'voice:export' : 'voice:read';
    const { key: lacking } = await workspace.createKey({ product, permissions: [another] });
    expect(await call(lacking, method, path(workspace), body)).toMatchObject({
      status: 403,
      body: { code: 'missing_permission' },
    });
    expect(await call(workspace.key, method, path(workspace), body)).toMatchObject({
      status: 403,
      body: { code: 'wrong_product' },
    });
    if (path(other) !== path(workspace))
      expect(await call(key, method, path(other), body)).toMatchObject({ status: 404 });
  },
);

/** Opens the voice WebSocket. Returns the status if the upgrade is refused. */
async function connect(
  query: string,
  headers: Record<string, string>,
  protocols: string[] = [],
): Promise<WebSocket | number> {
  const socket = new WebSocket(`${hub.url.replace('http', 'ws')}/ai/voice/ws${query}`, protocols, { headers });
  socket.on('error', () => undefined);
  onTestFinished(() => socket.terminate());
  return Promise.race([
    once(socket, 'open').then(() => socket),
    once(socket, 'unexpected-response').then(([, response]) => (response as { statusCode: number }).statusCode),
  ]);
}

test('the voice WebSocket accepts a key in the Authorization header, and neither in the query nor as a subprotocol', async () => {
  const { key } = await workspace.createKey({ product: 'ai', permissions: ['ai:voice'] });
  const { key: lacking } = await workspace.createKey({ product: 'ai', permissions: ['ai:speak'] });
  expect(await connect('', { authorization: `Bearer ${key}` })).toBeInstanceOf(WebSocket);
  expect(await connect('', { authorization: `Bearer ${lacking}` })).toBe(403);
  expect(await connect(`?token=${key}`, {})).toBe(401);
  expect(await connect('', {}, [`bearer.${key}`])).toBe(401);
  expect(await connect(`?token=${workspace.jwt}`, {})).toBeInstanceOf(WebSocket);
});

test('a voice WebSocket with a key answers a turn, and is closed when the key is revoked', async () => {
  const { id, key } = await workspace.createKey({ product: 'ai', permissions: ['ai:voice'] });
  const socket = (await connect('', { authorization: `Bearer ${key}` })) as WebSocket;
  const frames: string[] = [];
  socket.on('message', (data, isBinary) => {
    if (!isBinary) frames.push(String(data));
  });
  socket.send(JSON.stringify({ type: 'text', data: 'When?' }));
  await expect.poll(() => frames.join('\n')).toContain('At nine.');
  const closed = once(socket, 'close');
  await workspace.session.call('deleteApiToken', { params: { tenantId: workspace.tenantId, id } });
  const [code, reason] = (await closed) as [number, Buffer];
  expect([code, String(reason)]).toEqual([4401, 'token_revoked']);
});

test('a key of a workspace without the entitlement business_phone is rejected', async () => {
  const { key } = await other.createKey({ product: 'ai', permissions: ['ai:speak', 'ai:voice'] });
  await hub
    .client(adminKey)
    .call('putEntitlements', { params: { tenantId: other.tenantId }, body: { business_phone: false } });
  expect(await call(key, 'POST', `${tenant(other)}/ai/speak`, { text: 'When?' })).toMatchObject({
    status: 403,
    body: { code: 'product_not_entitled' },
  });
  expect(await connect('', { authorization: `Bearer ${key}` })).toBe(403);
});
