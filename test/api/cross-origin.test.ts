import { afterAll, beforeAll, expect, test } from 'vitest';
import { WebSocket } from 'ws';
import { agentProtocol } from '../../shared/contract/chat/live.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';

const inbox = 'https://inbox.example.com';
const ofOperator = 'https://desk.example.net:8443';
let hub: TestHub;
let workspace: TestWorkspace;
let other: TestWorkspace;

beforeAll(async () => {
  hub = await startHub({ ALLOWED_ORIGINS: ofOperator, RATE_LIMIT_PER_MINUTE: '100000' });
  [workspace, other] = [await hub.workspace(), await hub.workspace()];
  await allow(workspace, [inbox]);
});
afterAll(() => hub[Symbol.asyncDispose]());

const allow = (of: TestWorkspace, origins: string[]) =>
  of.session.call('putAllowedOrigins', { params: { tenantId: of.tenantId }, body: { origins } });
const get = (path: string, headers: Record<string, string>) => fetch(`${hub.url}${path}`, { headers });
const preflight = (path: string, origin: string, method = 'GET') =>
  fetch(`${hub.url}${path}`, {
    method: 'OPTIONS',
    headers: { origin, 'access-control-request-method': method, 'access-control-request-headers': 'authorization' },
  });
const corsOf = ({ headers }: Response) => headers.get('access-control-allow-origin');
const paths = () => [
  `/tenants/${workspace.tenantId}/members`,
  `/tenants/${workspace.tenantId}/chat/conversations`,
  '/calls',
  '/auth/login',
  '/auth/me',
  '/growth/entitlements',
  '/v1/automations/workflows',
];

/** Origins that look like the allowed one, and what else a page can send. */
const lookAlikes = [
  'null',
  'https://inbox.example.com.evil.com',
  'https://evilinbox.example.com',
  'https://inbox.example.com:8443',
  'https://inbox.example.com:443',
  'http://inbox.example.com',
  'HTTPS://INBOX.EXAMPLE.COM',
  'https://Inbox.example.com',
  'https://inbox.example.com/',
  'https://inbox.example.com.',
  'https://example.com',
  '*',
  'file://',
];

test.each([inbox, ofOperator])('a browser may call the operations of signed-in users from %s', async (origin) => {
  for (const path of paths()) {
    const asked = await preflight(path, origin);
    expect([path, asked.status, corsOf(asked)]).toEqual([path, 204, origin]);
    expect(asked.headers.get('access-control-allow-headers')).toContain('Authorization');
    expect(asked.headers.get('access-control-allow-credentials')).toBeNull();
    expect(asked.headers.get('vary')).toContain('Origin');
  }
  const answer = await get(`/tenants/${workspace.tenantId}/members`, {
    origin,
    authorization: `Bearer ${workspace.jwt}`,
  });
  expect([answer.status, corsOf(answer)]).toEqual([200, origin]);
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
  expect(answer.headers.get('access-control-expose-headers')).toContain('X-Request-ID');
  expect(answer.headers.get('vary')).toContain('Origin');
});

test('a page may read the reason of a rejection, and sign in', async () => {
  const refused = await get('/auth/me', { origin: inbox, authorization: 'Bearer a.b.c' });
  expect([refused.status, corsOf(refused)]).toEqual([401, inbox]);
  const { email, password } = workspace;
  const signedIn = await fetch(`${hub.url}/auth/login`, {
    method: 'POST',
    headers: { origin: inbox, 'content-type': 'application/json' },
    body: JSON.stringify({ email, password }),
  });
  expect([signedIn.status, corsOf(signedIn)]).toEqual([200, inbox]);
  expect(signedIn.headers.get('set-cookie')).toBeNull();
});

test.each(lookAlikes)('%s may not, and gets no CORS header', async (origin) => {
  for (const path of paths()) {
    const asked = await preflight(path, origin);
    expect([path, asked.status, corsOf(asked)]).toEqual([path, 405, null]);
  }
  const answer = await get('/auth/me', { origin, authorization: `Bearer ${workspace.jwt}` });
  expect(corsOf(answer)).toBeNull();
});

test('an origin that only another workspace allows is rejected, and a removed origin is rejected immediately', async () => {
  const origin = 'https://only-there.example.com';
  await allow(other, [origin]);
  const ask = (of: TestWorkspace) => get('/auth/me', { origin, authorization: `Bearer ${of.jwt}` });
  expect((await ask(other)).status).toBe(200);
  const refused = await ask(workspace);
  expect([refused.status, corsOf(refused), ((await refused.json()) as { code: string }).code]).toEqual([
    403,
    null,
    'origin_not_allowed',
  ]);
  await allow(other, []);
  expect((await preflight('/auth/me', origin)).status).toBe(405);
  expect(corsOf(await ask(other))).toBeNull();
});

test('API keys get no CORS headers, whatever origin is allowed', async () => {
  for (const path of ['/v1/me', '/v1/chat/conversations', '/v1/ai/runs', '/v1/voice/calls'])
    expect([path, (await preflight(path, inbox)).status]).toEqual([path, 405]);
  const answer = await get('/v1/automations/workflows', { origin: inbox, 'x-api-key': workspace.key });
  expect([answer.status, corsOf(answer)]).toEqual([200, null]);
});

test('a change from an allowed origin does not accept a cookie', async () => {
  const answer = await fetch(`${hub.url}/auth/logout`, {
    method: 'POST',
    headers: { origin: inbox, cookie: `outrigger_session=${workspace.jwt}` },
  });
  expect(answer.status).toBe(403);
  expect(answer.headers.get('access-control-allow-credentials')).toBeNull();
});

test.each(['*', 'null', 'https://*.example.com', 'http://inbox.example.com', 'https://Inbox.example.com', `${inbox}/`])(
  '%s cannot be allowed',
  async (origin) => {
    await expect(allow(other, [origin])).rejects.toMatchObject({ status: 400, details: [{ path: 'body.origins[0]' }] });
  },
);

test('only admins read and update the list, and each change is in the audit log', async () => {
  const params = { tenantId: workspace.tenantId };
  const [email, password] = ['agent-of-origins@example.org', 'correct horse battery'];
  await workspace.session.call('addMember', { params, body: { email, password, role: 'agent' } });
  const agent = hub.client((await hub.client().call('logIn', { body: { email, password } })).token);
  await expect(agent.call('getAllowedOrigins', { params })).rejects.toMatchObject({ status: 403 });
  expect(await workspace.session.call('getAllowedOrigins', { params })).toEqual({ origins: [inbox] });
  const { data } = await workspace.session.call('listAuditLog', { params, query: { targetType: 'workspace' } });
  expect(data).toContainEqual(
    expect.objectContaining({ action: 'allowed_origins.changed', details: { origins: [inbox] } }),
  );
});

/** The result of a WebSocket upgrade: `open` or the HTTP status. */
function answerTo(path: string, headers: Record<string, string>, protocols: string[] = []): Promise<string> {
  return new Promise((done) => {
    const socket = new WebSocket(`${hub.url.replace('http', 'ws')}${path}`, protocols, { headers });
    socket.on('open', () => {
      socket.close();
      done('open');
    });
    socket.on('unexpected-response', (_request, response) => {
      response.resume();
      done(String(response.statusCode));
    });
    socket.on('error', () => undefined);
  });
}

test('WebSockets open for an allowed origin with a token, but not for another origin or with a cookie', async () => {
  const { tenantId, jwt } = workspace;
  const sockets = [
    [`/tenants/${tenantId}/chat/live`, [agentProtocol, `bearer.${jwt}`]],
    [`/ai/voice/ws?token=${jwt}`, []],
  ] as const;
  for (const [path, protocols] of sockets) {
    for (const origin of [inbox, ofOperator, hub.url])
      expect([path, origin, await answerTo(path, { origin }, [...protocols])]).toEqual([path, origin, 'open']);
    for (const origin of lookAlikes)
      expect([path, origin, await answerTo(path, { origin }, [...protocols])]).toEqual([path, origin, '403']);
  }
  // Hosted SIP is not configured here, so an allowed page gets this error instead.
  const sip = `/sip/ws?token=${jwt}`;
  expect(await answerTo(sip, { origin: 'https://evil.example.com' }, ['sip'])).toBe('403');
  expect(await answerTo(sip, { origin: inbox }, ['sip'])).not.toBe('403');
  const cookie = `outrigger_session=${jwt}`;
  expect(await answerTo('/ai/voice/ws', { origin: hub.url, cookie })).toBe('open');
  expect(await answerTo('/ai/voice/ws', { origin: inbox, cookie })).toBe('401');
  expect(await answerTo(`/ai/voice/ws?token=${other.jwt}`, { origin: inbox })).toBe('403');
});
