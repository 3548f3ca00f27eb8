import { get } from 'node:http';
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { chatSockets } from '../../shared/contract/chat/live.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import type { MailServer } from '../fixtures/mail-server.ts';
import { plainPng } from '../fixtures/pictures.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { chatScene } from '../fixtures/visitor.ts';

/** The limit of requests per minute of each key, session, visitor and device of the hub `strict`. */
const perMinute = 4;
const limits = { signIn: 5, hook: 6, newVisitors: 7, allNewVisitors: 8, streamsOfKey: 10, streams: 12, queuedRuns: 2 };

let mailServer: MailServer;
let hub: TestHub;
/** A hub with a low limit per caller. */
let strict: TestHub;
beforeAll(async () => {
  mailServer = await startMailServer();
  const env = { TRUSTED_PROXIES: '127.0.0.1', SMTP_URL: mailServer.url, MAIL_FROM: 'hub@example.com' };
  hub = await startHub({
    ...env,
    PUBLIC_URL: 'https://hub.example.com',
    RATE_LIMIT_PER_MINUTE: '100000',
    SIGN_IN_RATE_LIMIT_PER_MINUTE: String(limits.signIn),
    HOOK_RATE_LIMIT_PER_MINUTE: String(limits.hook),
    ANONYMOUS_VISITORS_PER_ADDRESS_PER_HOUR: String(limits.newVisitors),
    ANONYMOUS_VISITORS_PER_WORKSPACE_PER_HOUR: String(limits.allNewVisitors),
    STREAMS_PER_KEY: String(limits.streamsOfKey),
    STREAMS_PER_WORKSPACE: String(limits.streams),
    QUEUED_RUNS_PER_WORKSPACE: String(limits.queuedRuns),
  });
  strict = await startHub(
    {
      TRUSTED_PROXIES: '127.0.0.1',
      RATE_LIMIT_PER_MINUTE: String(perMinute),
      NODE_RATE_LIMIT_PER_MINUTE: String(perMinute),
    },
    hub.database,
  );
});
afterAll(async () => {
  await strict[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
  await mailServer[Symbol.asyncDispose]();
});

interface Response {
  status: number;
  headers: Headers;
}
/** Sends one request. `address` is the same in all requests of a test, `otherAddress` differs in each. */
type Attempt = (request: { address: string; otherAddress: string; index: number }) => Promise<Response>;

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });
const device = { name: 'd', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1', capabilities: [] };
async function pairedDevice({ api }: TestWorkspace) {
  const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: {} });
  const { deviceSecret } = await hub.client().call('claimAutomationNode', { body: { pairingCode, device } });
  return { path: `/v1/automations/nodes/${nodeId}`, headers: bearer(deviceSecret) };
}
const logIn = (address: string, email: string) =>
  send(hub.url, 'POST', '/auth/login', { headers: { 'x-forwarded-for': address }, body: { email, password: 'wrong' } });
/** Opens streams that stay open until the test ends. */
async function openStreams(count: number, key: string): Promise<void> {
  const stop = new AbortController();
  onTestFinished(() => stop.abort());
  for (let index = 0; index < count; index += 1) {
    const { status } = await fetch(`${hub.url}/v1/automations/logs/live`, {
      headers: { 'x-api-key': key },
      signal: stop.signal,
    });
    expect(status).toBe(200);
  }
}
const openStream = (key: string) =>
  send(hub.url, 'GET', '/v1/automations/logs/live', { headers: { 'x-api-key': key } });
/** Opens the inbox of an agent, which stays open until the test ends. */
const openInbox = ({ url }: TestHub, { tenantId, jwt }: TestWorkspace) =>
  new Promise<Response>((resolve, reject) => {
    const answered = ({ statusCode, headers }: { statusCode?: number; headers: NodeJS.Dict<string | string[]> }) =>
      resolve({ status: statusCode ?? 0, headers: new Headers(headers as Record<string, string>) });
    get(`${url}/tenants/${tenantId}/chat/live`, {
      headers: {
        ...bearer(jwt),
        connection: 'Upgrade',
        upgrade: 'websocket',
        'sec-websocket-version': '13',
        'sec-websocket-key': 'dGhlIHNhbXBsZSBub25jZQ==',
        'sec-websocket-protocol': chatSockets.connectAgent.socket.protocol,
      },
    })
      .on('error', reject)
      .on('response', (response) => (response.resume(), answered(response)))
      .on('upgrade', (response, socket) => {
        onTestFinished(() => void socket.destroy());
        answered(response);
      });
  });

const scenarios: [name: string, limit: number, prepare: (workspace: TestWorkspace) => Attempt | Promise<Attempt>][] = [
  [
    'requests of an API key',
    perMinute,
    ({ key }) =>
      () =>
        send(strict.url, 'GET', '/v1/automations/workflows', { headers: { 'x-api-key': key } }),
  ],
  [
    'requests of a session',
    perMinute,
    ({ jwt }) =>
      () =>
        send(strict.url, 'GET', '/auth/me', { headers: bearer(jwt) }),
  ],
  [
    'requests of a visitor',
    perMinute,
    async () => {
      const { token } = await (await chatScene(hub)).visitor();
      return () => send(strict.url, 'GET', '/widget/v1/conversation', { headers: bearer(token) });
    },
  ],
  [
    'requests of a device',
    perMinute,
    async (workspace) => {
      const { path, headers } = await pairedDevice(workspace);
      return () => send(strict.url, 'POST', `${path}/heartbeat`, { headers, body: {} });
    },
  ],
  [
    'polls of a device',
    perMinute,
    async (workspace) => {
      const { path, headers } = await pairedDevice(workspace);
      return () => send(strict.url, 'GET', `${path}/commands`, { headers });
    },
  ],
  ['WebSockets of a session in a minute', perMinute, (workspace) => () => openInbox(strict, workspace)],
  ['open WebSockets of a session', 20, (workspace) => () => openInbox(hub, workspace)],
  [
    'refused API keys of an address',
    perMinute,
    () =>
      ({ address }) =>
        send(strict.url, 'GET', '/v1/automations/workflows', {
          headers: { 'x-forwarded-for': address, 'x-api-key': 'wrong' },
        }),
  ],
  [
    'wrong platform admin keys of an address',
    30,
    ({ tenantId }) =>
      ({ address }) =>
        send(hub.url, 'PUT', `/tenants/${tenantId}/entitlements`, {
          headers: { 'x-forwarded-for': address, ...bearer(`not ${adminKey}`) },
          body: {},
        }),
  ],
  [
    'sign-ins from an address',
    limits.signIn,
    () =>
      ({ address, index }) =>
        logIn(address, `nobody${index}@example.org`),
  ],
  [
    'sign-ins to an account',
    10 * limits.signIn,
    ({ email }) =>
      ({ otherAddress }) =>
        logIn(otherAddress, email),
  ],
  [
    'submissions of the sign-in form from an address',
    limits.signIn,
    () =>
      ({ address }) =>
        send(hub.url, 'POST', '/sign-in', {
          headers: {
            'x-forwarded-for': address,
            'content-type': 'application/x-www-form-urlencoded',
            origin: 'https://hub.example.com',
          },
          raw: 'code=wrong',
        }),
  ],
  [
    'password links of an account',
    3,
    ({ email }) =>
      ({ otherAddress }) =>
        send(hub.url, 'POST', '/auth/password/reset-request', {
          headers: { 'x-forwarded-for': otherAddress },
          body: { email },
        }),
  ],
  [
    'hooks of an address',
    limits.hook,
    () =>
      ({ address }) =>
        send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
          headers: { 'x-forwarded-for': address, 'x-service-automation-token': 'a token of no workflow' },
          body: { event: 'paid' },
        }),
  ],
  [
    'messages of channels from an address',
    limits.hook,
    () =>
      ({ address }) =>
        send(hub.url, 'POST', `/v1/automations/channels/${missingId}/inbound`, {
          headers: { 'x-forwarded-for': address, 'x-service-automation-token': 'a secret of no channel' },
          body: { text: 'hello', from: 'me' },
        }),
  ],
  [
    'wrong pairing codes of an address',
    10,
    () =>
      ({ address }) =>
        send(hub.url, 'POST', '/v1/automations/nodes/claim', {
          headers: { 'x-forwarded-for': address },
          body: { pairingCode: 'ABCD-EFGH', device },
        }),
  ],
  [
    'proofs of the hub for an address',
    60,
    () =>
      ({ address }) =>
        send(hub.url, 'POST', `/v1/automations/nodes/${missingId}/hub-proof`, {
          headers: { 'x-forwarded-for': address },
          body: { hub: 'https://hub.example.com', nonce: '0123456789abcdef'.repeat(4) },
        }),
  ],
  [
    'requests for the settings of the chat page from an address',
    120,
    () =>
      ({ address }) =>
        send(hub.url, 'GET', '/widget/v1/page?siteKey=unknown', { headers: { 'x-forwarded-for': address } }),
  ],
  [
    'wrong chat tokens of an address',
    120,
    async () => {
      const { siteKey } = await chatScene(hub);
      return ({ address }) =>
        send(hub.url, 'POST', '/widget/v1/token', {
          headers: { 'x-forwarded-for': address },
          body: { siteKey, token: 'wrong' },
        });
    },
  ],
  [
    'chat sessions of a visitor',
    120,
    async () => {
      const { siteKey, mint } = await chatScene(hub);
      const { token } = await mint();
      return ({ otherAddress }) =>
        send(hub.url, 'POST', '/widget/v1/token', {
          headers: { 'x-forwarded-for': otherAddress },
          body: { siteKey, token },
        });
    },
  ],
  [
    'new anonymous visitors of an address',
    limits.newVisitors,
    async () => {
      const { siteKey, set } = await chatScene(hub);
      await set({ allowAnonymous: true });
      return ({ address }) =>
        send(hub.url, 'POST', '/widget/v1/token', { headers: { 'x-forwarded-for': address }, body: { siteKey } });
    },
  ],
  [
    'new anonymous visitors of a workspace',
    limits.allNewVisitors,
    async () => {
      const { siteKey, set } = await chatScene(hub);
      await set({ allowAnonymous: true });
      return ({ otherAddress }) =>
        send(hub.url, 'POST', '/widget/v1/token', { headers: { 'x-forwarded-for': otherAddress }, body: { siteKey } });
    },
  ],
  [
    'messages of a visitor',
    20,
    async () => {
      const { token } = await (await chatScene(hub)).visitor();
      return ({ index }) =>
        send(hub.url, 'POST', '/widget/v1/messages', {
          headers: bearer(token),
          body: { content: 'hello', clientId: `m${index}` },
        });
    },
  ],
  [
    'files of a visitor',
    30,
    async () => {
      const { token } = await (await chatScene(hub)).visitor();
      const headers = { ...bearer(token), 'content-type': 'application/octet-stream' };
      return () => send(hub.url, 'POST', '/widget/v1/files?name=a.txt', { headers, raw: 'hello' });
    },
  ],
  [
    'pictures of a member',
    10,
    ({ jwt }) =>
      () =>
        send(hub.url, 'PUT', '/auth/me/picture', {
          headers: { ...bearer(jwt), 'content-type': 'application/octet-stream' },
          raw: plainPng(),
        }),
  ],
  [
    'open streams of an API key',
    limits.streamsOfKey,
    async ({ key }) => {
      await openStreams(limits.streamsOfKey, key);
      return () => openStream(key);
    },
  ],
  [
    'open streams of a workspace',
    limits.streams,
    async ({ key, createKey }) => {
      await openStreams(limits.streamsOfKey, key);
      await openStreams(limits.streams - limits.streamsOfKey, (await createKey()).key);
      const { key: last } = await createKey();
      return () => openStream(last);
    },
  ],
  [
    'queued runs of a workspace',
    limits.queuedRuns,
    async ({ key, api }) => {
      const { id } = await api.call('createAutomationWorkflow', {
        body: {
          name: 'w',
          stepsJson: [{ type: 'approval', title: 'wait' }],
          limits: { maxConcurrentRuns: 1, onLimit: 'queue' },
        },
      });
      return () =>
        send(hub.url, 'POST', `/v1/automations/workflows/${id}/run`, { headers: { 'x-api-key': key }, body: {} });
    },
  ],
  [
    'tests of models',
    10,
    ({ key }) =>
      () =>
        send(hub.url, 'POST', '/v1/automations/models/main/test', { headers: { 'x-api-key': key }, body: {} }),
  ],
  [
    'voice requests of a member',
    60,
    ({ tenantId, jwt }) =>
      () =>
        send(hub.url, 'POST', `/tenants/${tenantId}/ai/voice`, { headers: bearer(jwt), body: { text: 'hello' } }),
  ],
  [
    'exports of calls',
    5,
    ({ jwt }) =>
      () =>
        send(hub.url, 'GET', '/calls/export', { headers: bearer(jwt) }),
  ],
  [
    'unsigned carrier events of an address',
    120,
    () =>
      ({ address }) =>
        send(hub.url, 'POST', `/carrier/twilio/${missingId}/voice-status`, {
          headers: { 'x-forwarded-for': address },
          raw: 'CallSid=x',
        }),
  ],
];

/** Fewer than the files that a visitor may send at the same time. */
const concurrent = 4;

test.each(scenarios.map((scenario, number) => [...scenario, number] as const))(
  'the 429 response to too many %s names this limit (%i), and when to try again',
  async (_name, limit, prepare, number) => {
    const attempt = await prepare(await hub.workspace());
    const block = (index: number) => `2001:db8:${number.toString(16)}:${index.toString(16)}::1`;
    let answer: Response | undefined;
    const from = Math.floor(Date.now() / 1000);
    // A window can end in between, so that as many requests are allowed again.
    for (let index = 0; index < 3 * (limit + 1) && answer === undefined; index += concurrent) {
      const indexes = Array.from({ length: concurrent }, (_value, offset) => index + offset);
      const answers = await Promise.all(
        indexes.map((each) => attempt({ address: block(0), otherAddress: block(each + 1), index: each })),
      );
      answer = answers.find(({ status }) => status === 429);
    }
    const header = (name: string) => answer?.headers.get(name);
    expect(answer).toMatchObject({ status: 429 });
    expect([header('x-ratelimit-limit'), header('x-ratelimit-remaining')]).toEqual([String(limit), '0']);
    expect(header('retry-after')).toMatch(/^[1-9]\d*$/);
    expect(header('x-ratelimit-reset')).toMatch(/^\d+$/);
    expect(Number(header('x-ratelimit-reset'))).toBeGreaterThanOrEqual(from);
  },
);
