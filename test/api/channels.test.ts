import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { JsonObject } from '../../shared/json.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { keptConnections } from '../fixtures/kept-connections.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { storeSteps } from '../fixtures/stage/automations.ts';

interface Call {
  path: string;
  headers: Record<string, unknown>;
  body: JsonObject;
  raw: string;
}

/** Replaces the servers of the providers and responds as they do. */
const calls: Call[] = [];
let respond: (call: Call) => { status: number; headers?: Record<string, string>; body: unknown };
const provider = createServer(keptConnections, (request, response) => {
  let raw = '';
  request.on('data', (chunk: Buffer) => {
    raw += chunk.toString();
  });
  request.on('end', () => {
    const call = { path: request.url ?? '', headers: request.headers, raw, body: JSON.parse(raw) as JsonObject };
    calls.push(call);
    const { status, headers = {}, body } = respond(call);
    response.writeHead(status, { 'content-type': 'application/json', ...headers }).end(JSON.stringify(body));
  });
});

let base: string;
let model: ModelServer;
let hub: TestHub;
let workspace: TestWorkspace;
const secret = 'an-inbound-secret-of-length';

beforeAll(async () => {
  await new Promise<void>((done) => provider.listen(0, '127.0.0.1', done));
  const host = `127.0.0.1:${(provider.address() as AddressInfo).port}`;
  base = `http://${host}`;
  model = await startModelServer();
  hub = await startHub({ EGRESS_ALLOW_HOSTS: `${host},${model.host}` });
  workspace = await hub.workspace();
  await workspace.api.call('putAutomationModels', {
    body: { models: [{ id: 'm', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'x' }], order: ['m'] },
  });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
  provider.closeAllConnections();
  provider.close();
});
beforeEach(() => {
  calls.length = 0;
  respond = () => ({
    status: 200,
    body: { ok: true, result: { message_id: 77 }, ts: '1.2', messages: [{ id: 'wamid.1' }], id: 'w1' },
  });
});

async function channel(kind: 'telegram' | 'slack' | 'whatsapp' | 'webhook', name: string, on = workspace) {
  const configs = {
    telegram: { botToken: '12:abc', inboundSecret: secret, apiBaseUrl: base },
    slack: { botToken: 'xoxb-1', signingSecret: 'sign-me', apiBaseUrl: base },
    whatsapp: {
      accessToken: 'wa-token',
      phoneNumberId: '555',
      appSecret: 'app-secret',
      verifyToken: 'verify-me',
      apiBaseUrl: base,
    },
    webhook: { inboundSecret: secret, url: `${base}/out`, signingSecret: 'whook' },
  };
  return on.api.call('putAutomationChannel', { body: { provider: kind, name, config: configs[kind] } });
}

const inbound = (id: string, headers: Record<string, string>, raw: string) =>
  send(hub.url, 'POST', `/v1/automations/channels/${id}/inbound`, {
    headers: { 'content-type': 'application/json', ...headers },
    raw,
  });
const hmac = (key: string, content: string) => createHmac('sha256', key).update(content).digest('hex');
const ended = (id: string) => settledRun(workspace.api, id);

async function deliver(input: Record<string, unknown>, extra: Record<string, unknown> = {}, api = workspace.api) {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'out', stepsJson: [{ type: 'skill', skillId: 'channel.deliver', input, ...extra }] as never },
  });
  return ended(startedRun(await api.call('runAutomationWorkflow', { params: { id } })).runId);
}

async function workflowFor(channelId: string) {
  return workspace.api.call('createAutomationWorkflow', {
    body: {
      name: `on ${channelId}`,
      triggerJson: { type: 'channel', channel: { channelId } },
      stepsJson: [{ type: 'log', message: '{{payload.from}}: {{payload.text}}' }],
    },
  });
}

const telegramUpdate = (id: number, text: string, chat = { id: 42, type: 'private', first_name: 'Ann' }) =>
  JSON.stringify({
    update_id: id,
    message: { message_id: 1, from: { id: 7, is_bot: false, first_name: 'Ann' }, chat, text },
  });

test('the request example of the OpenAPI document creates a channel', async () => {
  const answer = await fetch(`${hub.url}/openapi.json`);
  const { paths } = (await answer.json()) as {
    paths: Record<string, { post: { requestBody: { content: Record<string, { example: object }> } } }>;
  };
  const path = '/v1/automations/channels';
  const body = paths[path]?.post.requestBody.content['application/json']?.example ?? {};
  const made = await send(hub.url, 'POST', path, { headers: { 'x-api-key': workspace.key }, body });
  expect(made).toMatchObject({ status: 200, body: { provider: 'webhook', secretsSet: ['inboundSecret'] } });
});

describe('an inbound call', () => {
  test('from Telegram is authenticated by the secret token; the same update twice starts one run', async () => {
    const { id } = await channel('telegram', 'Bot');
    const { id: workflowId } = await workflowFor(id);
    const headers = { 'x-telegram-bot-api-secret-token': secret };
    expect(
      (await inbound(id, { 'x-telegram-bot-api-secret-token': `${secret}x` }, telegramUpdate(1, 'hi'))).body,
    ).toMatchObject({ statusCode: 401, code: 'channel_secret_invalid' });
    const both = await Promise.all([
      inbound(id, headers, telegramUpdate(1, 'hi')),
      inbound(id, headers, telegramUpdate(1, 'hi')),
    ]);
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    const again = await inbound(id, headers, telegramUpdate(1, 'hi'));
    expect(again.body).toMatchObject({ received: true, duplicate: true });
    const { data } = await workspace.api.call('listAutomationRuns', { query: { workflowId } });
    expect(data.length).toBe(1);
    expect(again.body['runIds']).toEqual([data[0]?.id]);
    const run = await ended(data[0]?.id as string);
    expect(run).toMatchObject({
      status: 'succeeded',
      trigger: { type: 'channel', provider: 'telegram' },
      stepsResultJson: [{ output: { message: '7: hi' } }],
    });
    const session = await workspace.api.call('getAutomationSession', {
      params: { id: run.trigger['sessionId'] as string },
    });
    expect(session).toMatchObject({
      scope: 'dm',
      title: 'Ann',
      transcript: { data: [{ role: 'user', content: 'hi' }] },
    });
    // An update without a message of a user is accepted and starts nothing.
    expect((await inbound(id, headers, JSON.stringify({ update_id: 2, edited_message: {} }))).body).toMatchObject({
      received: true,
      runIds: [],
    });
  });

  test('from Slack is authenticated by its signature; an old signature, a changed body and its own messages are ignored', async () => {
    const { id } = await channel('slack', 'Team');
    const { id: workflowId } = await workflowFor(id);
    const sign = (raw: string, at = Math.floor(Date.now() / 1000)) => ({
      'x-slack-request-timestamp': String(at),
      'x-slack-signature': `v0=${hmac('sign-me', `v0:${at}:${raw}`)}`,
    });
    const challenge = JSON.stringify({ type: 'url_verification', challenge: 'abc' });
    expect((await inbound(id, sign(challenge), challenge)).body).toEqual({ challenge: 'abc' });
    const event = (type: string, extra = {}) =>
      JSON.stringify({
        type: 'event_callback',
        event_id: `E-${type}`,
        event: { type, channel: 'C1', user: 'U1', text: 'hello', ts: '17.1', ...extra },
      });
    const message = event('message');
    expect((await inbound(id, sign(message, Math.floor(Date.now() / 1000) - 600), message)).status).toBe(401);
    expect((await inbound(id, sign(message), `${message} `)).status).toBe(401);
    expect((await inbound(id, {}, message)).status).toBe(401);
    expect((await inbound(id, sign(message), message)).body).toMatchObject({ received: true });
    // A message that is also sent as a mention counts once.
    const mention = event('app_mention');
    expect((await inbound(id, sign(mention), mention)).body).toMatchObject({ duplicate: true });
    const own = event('message', { bot_id: 'B1', ts: '18' });
    expect((await inbound(id, sign(own), own)).body).toMatchObject({ runIds: [] });
    expect((await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data.length).toBe(1);
  });

  test('from WhatsApp is authenticated by the app secret, answers the webhook verification, and can contain several messages', async () => {
    const { id } = await channel('whatsapp', 'Phone');
    const { id: workflowId } = await workflowFor(id);
    const query = (token: string) =>
      `/v1/automations/channels/${id}/inbound?hub.mode=subscribe&hub.verify_token=${token}&hub.challenge=12345`;
    expect((await send(hub.url, 'GET', query('verify-me'))).text).toBe('12345');
    expect((await send(hub.url, 'GET', query('wrong'))).status).toBe(401);
    const raw = JSON.stringify({
      object: 'whatsapp_business_account',
      entry: [
        {
          changes: [
            {
              field: 'messages',
              value: {
                contacts: [{ wa_id: '49', profile: { name: 'Bo' } }],
                messages: [
                  { from: '49', id: 'm1', type: 'text', text: { body: 'one' } },
                  { from: '49', id: 'm2', type: 'text', text: { body: 'two' } },
                ],
              },
            },
          ],
        },
      ],
    });
    expect((await inbound(id, { 'x-hub-signature-256': `sha256=${hmac('other', raw)}` }, raw)).status).toBe(401);
    const answer = await inbound(id, { 'x-hub-signature-256': `sha256=${hmac('app-secret', raw)}` }, raw);
    expect((answer.body['runIds'] as string[]).length).toBe(2);
    expect((await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data.length).toBe(2);
    const { data } = await workspace.api.call('listAutomationSessions', { query: { scope: 'dm' } });
    expect(data.find(({ title }) => title === 'Bo')).toBeDefined();
  });

  test('to a generic channel is authenticated by its secret or an API key of its workspace only', async () => {
    const { id } = await channel('webhook', 'Any');
    const raw = JSON.stringify({ text: 'hi', from: 'ann' });
    expect((await inbound(id, { 'x-service-automation-token': secret }, raw)).status).toBe(200);
    expect((await inbound(id, { 'x-api-key': workspace.key }, raw)).status).toBe(200);
    const otherWorkspace = await hub.workspace();
    expect((await inbound(id, { 'x-api-key': otherWorkspace.key }, raw)).status).toBe(404);
    expect((await inbound(id, { 'x-service-automation-token': 'something-else-altogether' }, raw)).status).toBe(401);
    expect(
      (await inbound('01890000-0000-7000-8000-000000000000', { 'x-service-automation-token': secret }, raw)).body,
    ).toMatchObject({ code: 'channel_secret_invalid' });
    await workspace.api.call('putAutomationChannel', { body: { id, provider: 'webhook', name: 'Any', active: false } });
    expect((await inbound(id, { 'x-service-automation-token': secret }, raw)).body).toMatchObject({
      statusCode: 400,
      code: 'channel_inactive',
    });
  });

  test('is processed although one workflow of its channel can no longer run', async () => {
    const own = await hub.workspace();
    const { id } = await channel('webhook', 'Shared', own);
    const make = (name: string) =>
      own.api.call('createAutomationWorkflow', {
        body: {
          name,
          triggerJson: { type: 'channel', channel: { channelId: id } },
          stepsJson: [{ type: 'log', message: name }],
        },
      });
    const [broken, whole] = [await make('broken'), await make('whole')];
    await storeSteps(hub.database, broken.id, [{ type: 'skill', skillId: 'skill.of-another-time', input: {} }]);
    const answer = await inbound(
      id,
      { 'x-service-automation-token': secret },
      JSON.stringify({ text: 'hi', from: 'ann' }),
    );
    expect(answer).toMatchObject({ status: 200, body: { received: true, runIds: [expect.any(String)] } });
    expect(await hub.database.query('select workflow_id from runs where tenant_id = $1', [own.tenantId])).toEqual([
      { workflow_id: whole.id },
    ]);
  });

  test('distinguishes long sender names and message ids that share a prefix', async () => {
    const { id } = await channel('webhook', 'Long');
    const { id: workflowId } = await workflowFor(id);
    const sendInbound = async (end: string) =>
      (
        await inbound(
          id,
          { 'x-service-automation-token': secret },
          JSON.stringify({ text: end, from: `${'x'.repeat(600)}${end}`, messageId: `${'m'.repeat(600)}${end}` }),
        )
      ).body['sessionId'];
    const sessions = [await sendInbound('a'), await sendInbound('b')];
    expect(new Set(sessions).size).toBe(2);
    expect((await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data.length).toBe(2);
  });

  test('selects the agent by the most specific route key, and the agent answers with its memory', async () => {
    const own = await hub.workspace();
    await own.api.call('putAutomationModels', {
      body: { models: [{ id: 'm', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'x' }], order: ['m'] },
    });
    const { id } = await channel('telegram', 'Bot', own);
    for (const [name, routeKey] of [
      ['Any', '*'],
      ['Provider', 'telegram'],
      ['Helper', '/help'],
    ] as const)
      await own.api.call('createAutomationAgent', {
        body: { name, systemPrompt: `You are ${name}.`, routeKeys: [routeKey] },
      });
    model.requests.length = 0;
    model.reply = ({ messages }) =>
      `FINAL: ${messages[0]?.content.split('\n')[0]} ${messages.filter(({ role }) => role === 'user').length}`;
    const headers = { 'x-telegram-bot-api-secret-token': secret };
    const sendInbound = async (update: number, text: string) => {
      const { body } = await inbound(id, headers, telegramUpdate(update, text));
      return settledRun(own.api, (body['runIds'] as string[])[0] as string);
    };
    expect(await sendInbound(1, 'hello')).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ outputText: 'You are Provider. 1' }, { status: 'succeeded' }],
    });
    expect(await sendInbound(2, '/help me')).toMatchObject({
      stepsResultJson: [{ outputText: 'You are Helper. 2' }, {}],
    });
    expect(calls.map(({ path, body }) => [path, body['chat_id'], body['text']])).toEqual([
      ['/bot12:abc/sendMessage', '42', 'You are Provider. 1'],
      ['/bot12:abc/sendMessage', '42', 'You are Helper. 2'],
    ]);
    // The workflow of a channel with an agent is created once.
    expect(
      (await own.api.call('listAutomationWorkflows', {})).data.map(({ name, version }) => [name, version]).toSorted(),
    ).toEqual([
      ['Helper on Bot', 1],
      ['Provider on Bot', 1],
    ]);
  });
});

describe('an outbound message', () => {
  test.each([
    ['telegram', { path: '/bot12:abc/sendMessage', body: { chat_id: 'you', text: 'hi' } }],
    [
      'slack',
      { path: '/chat.postMessage', headers: { authorization: 'Bearer xoxb-1' }, body: { channel: 'you', text: 'hi' } },
    ],
    [
      'whatsapp',
      {
        path: '/555/messages',
        headers: { authorization: 'Bearer wa-token' },
        body: { messaging_product: 'whatsapp', to: 'you', text: { body: 'hi' } },
      },
    ],
    ['webhook', { path: '/out', body: { to: 'you', text: 'hi' } }],
  ] as const)('to %s uses the API of the provider', async (kind, expected) => {
    const { id } = await channel(kind, 'out');
    const run = await deliver({ channelId: id, to: 'you', text: 'hi' });
    expect(run.status).toBe('succeeded');
    expect(calls).toMatchObject([expected]);
    expect(await workspace.api.call('listAutomationMessages', { query: { runId: run.id } })).toMatchObject({
      data: [{ channel: kind, recipient: 'you', status: 'delivered' }],
    });
    if (kind === 'webhook') {
      const { headers, raw } = calls[0] as Call;
      expect(headers['x-service-signature']).toBe(hmac('whook', `${String(headers['x-service-timestamp'])}.${raw}`));
    }
  });

  test('is delayed by the pause that a provider requests, and retried when a provider fails', async () => {
    const { id } = await channel('telegram', 'busy');
    const answers = [
      { status: 429, body: { ok: false, parameters: { retry_after: 1 } } },
      { status: 502, body: {} },
    ];
    respond = () => answers.shift() ?? { status: 200, body: { ok: true, result: { message_id: 1 } } };
    const run = await deliver(
      { channelId: id, to: 'you', text: 'hi' },
      { retry: { maxAttempts: 4, backoffSeconds: 0 } },
    );
    expect(run).toMatchObject({ status: 'succeeded', stepsResultJson: [{ attempts: 3 }] });
    expect(
      (await workspace.api.call('listAutomationMessages', { query: { runId: run.id } })).data.map(
        ({ status }) => status,
      ),
    ).toEqual(['delivered', 'failed', 'failed']);
  });

  test('waits for the requested pause when it is longer than the back-off', async () => {
    const { id } = await channel('slack', 'long pause');
    respond = () => ({ status: 429, headers: { 'retry-after': '900' }, body: {} });
    const { id: workflowId } = await workspace.api.call('createAutomationWorkflow', {
      body: {
        name: 'out',
        stepsJson: [{ type: 'skill', skillId: 'channel.deliver', input: { channelId: id, to: 'you', text: 'hi' } }],
      },
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId } }));
    await expect
      .poll(
        async () =>
          (
            await hub.database.query<{ waits: boolean }>(
              "select wake_at > now() + interval '800 seconds' as waits from runs where id = $1",
              [runId],
            )
          )[0]?.waits,
      )
      .toBe(true);
    await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
  });

  test('that the provider rejects fails finally, and the error contains no secret', async () => {
    const { id } = await channel('telegram', 'refusing');
    respond = () => ({ status: 403, body: { ok: false, description: 'bot was blocked' } });
    const run = await deliver({ channelId: id, to: 'you', text: 'hi' });
    expect(run).toMatchObject({
      status: 'failed',
      error: { code: 'delivery_refused', message: expect.stringContaining('bot was blocked') as string },
      stepsResultJson: [{ attempts: 1 }],
    });
    expect(JSON.stringify(run)).not.toContain('12:abc');
    const slack = await channel('slack', 'refusing');
    respond = () => ({ status: 200, body: { ok: false, error: 'channel_not_found' } });
    expect(await deliver({ channelId: slack.id, to: 'you', text: 'hi' })).toMatchObject({
      error: { code: 'delivery_refused' },
    });
  });

  test('is not sent in the test environment', async () => {
    const { id } = await channel('slack', 'test');
    const { key } = await workspace.createKey({ environment: 'test' });
    expect(await deliver({ channelId: id, to: 'you', text: 'hi' }, {}, hub.client(key))).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ output: { simulated: true } }],
    });
    expect(calls).toEqual([]);
  });

  test('needs only a provider that has one active channel; with two channels it needs a name', async () => {
    const own = await hub.workspace();
    const sendInbound = async () => {
      const { id } = await own.api.call('createAutomationWorkflow', {
        body: { name: 'out', stepsJson: [{ type: 'deliver', provider: 'slack', to: 'you', text: '{{payload}}' }] },
      });
      const { runId } = startedRun(await own.api.call('runAutomationWorkflow', { params: { id } }));
      return settledRun(own.api, runId);
    };
    expect(await sendInbound()).toMatchObject({ status: 'failed', error: { code: 'not_found' } });
    await channel('slack', 'one', own);
    expect(await sendInbound()).toMatchObject({ status: 'succeeded' });
    await channel('slack', 'two', own);
    expect(await sendInbound()).toMatchObject({ status: 'failed', error: { code: 'validation_failed' } });
  });
});

describe('a secret is only sent to the address for which it was set', () => {
  const elsewhere = 'https://elsewhere.example/api';

  test.each([
    ['telegram', { apiBaseUrl: elsewhere }, 'botToken', { botToken: 'new:token' }],
    ['slack', { apiBaseUrl: `${elsewhere}/` }, 'botToken', { botToken: 'xoxb-2' }],
    ['whatsapp', { apiBaseUrl: elsewhere, phoneNumberId: '555' }, 'accessToken', { accessToken: 'wa-2' }],
  ] as const)('%s: a new address requires the token again', async (kind, config, name, anew) => {
    const made = await channel(kind, 'moved');
    const put = (more: JsonObject) =>
      send(hub.url, 'POST', '/v1/automations/channels', {
        headers: { 'x-api-key': workspace.key },
        body: { id: made.id, provider: kind, name: 'moved', config: { ...config, ...more } },
      });
    const patch = await send(hub.url, 'PATCH', `/growth/automations/channels/${made.id}`, {
      headers: { authorization: `Bearer ${workspace.jwt}` },
      body: { config },
    });
    for (const { status, body } of [await put({}), patch]) {
      expect(status).toBe(400);
      expect(body.details).toEqual([
        { path: `body.config.${name}`, message: expect.stringContaining('apiBaseUrl') as string },
      ]);
    }
    const run = await deliver({ channelId: made.id, to: 'you', text: 'hi' });
    expect(run.status).toBe('succeeded');
    expect((await put(anew)).body).toMatchObject({ config: { apiBaseUrl: config.apiBaseUrl } });
  });

  test('webhook: a secret for one address does not sign for another address, also after an update that removes the address', async () => {
    const made = await channel('webhook', 'moved');
    expect(made.secretsSet).toEqual(['signingSecret', 'inboundSecret']);
    const put = (config: JsonObject) =>
      workspace.api.call('putAutomationChannel', { body: { id: made.id, provider: 'webhook', name: 'moved', config } });
    expect((await put({ url: `${base}/out` })).secretsSet).toEqual(['signingSecret', 'inboundSecret']);
    expect((await put({})).secretsSet).toEqual(['inboundSecret']);
    expect((await put({ url: `${base}/other` })).secretsSet).toEqual(['inboundSecret']);
    expect((await put({ url: `${base}/third`, signingSecret: 'another' })).secretsSet).toEqual([
      'signingSecret',
      'inboundSecret',
    ]);
    expect((await put({ url: `${base}/fourth` })).secretsSet).toEqual(['inboundSecret']);
  });

  test('models: a key is not kept for another provider', async () => {
    const put = (more: JsonObject) =>
      workspace.api.call('putAutomationModels', {
        body: { models: [{ id: 'm', model: 'x', ...more }] as never, order: ['m'] },
      });
    await put({ provider: 'openai', apiKey: 'sk-1' });
    expect((await put({ provider: 'openai' })).models).toMatchObject([{ apiKeySet: true }]);
    expect((await put({ provider: 'anthropic' })).models).toMatchObject([{ apiKeySet: false }]);
    await put({ provider: 'openai', apiKey: 'sk-1' });
    expect((await put({ provider: 'openai', baseUrl: elsewhere })).models).toMatchObject([{ apiKeySet: false }]);
  });
});

describe('a channel', () => {
  test('never shows its secrets, keeps them when an update omits them, and rejects invalid fields with the problem', async () => {
    const made = await channel('whatsapp', 'Shown');
    expect(made).toMatchObject({
      config: { phoneNumberId: '555' },
      secretsSet: ['accessToken', 'appSecret', 'verifyToken'],
      inboundPath: `/v1/automations/channels/${made.id}/inbound`,
    });
    expect(
      JSON.stringify(await workspace.api.call('listAutomationChannels', { query: { provider: 'whatsapp' } })),
    ).not.toContain('app-secret');
    const [row] = await hub.database.query<{ all: string }>('select c::text as all from channels c where id = $1', [
      made.id,
    ]);
    expect(row?.all).not.toContain('app-secret');
    expect(
      await workspace.api.call('putAutomationChannel', {
        body: { id: made.id, provider: 'whatsapp', name: 'Renamed', config: { phoneNumberId: '556' } },
      }),
    ).toMatchObject({
      name: 'Renamed',
      config: { phoneNumberId: '556' },
      secretsSet: ['accessToken', 'appSecret', 'verifyToken'],
    });
    const rename = (name: string, active?: boolean) =>
      workspace.api.call('putAutomationChannel', {
        body: { id: made.id, provider: 'whatsapp', name, ...(active === undefined ? {} : { active }) },
      });
    expect(await rename('off', false)).toMatchObject({ active: false });
    expect(await rename('still off')).toMatchObject({ active: false, config: { phoneNumberId: '556' } });
    const headers = { 'x-api-key': workspace.key };
    const put = (body: unknown) => send(hub.url, 'POST', '/v1/automations/channels', { headers, body });
    expect(
      (
        await put({ provider: 'telegram', name: 'x', config: { botToken: 'a', inboundSecret: 'short', other: 1 } })
      ).body.details?.map(({ path }) => path),
    ).toEqual(expect.arrayContaining(['body.config.inboundSecret', 'body.config']));
    expect((await put({ provider: 'telegram', name: 'x' })).body.details).toContainEqual({
      path: 'body.config.botToken',
      message: 'is required',
    });
    expect((await put({ id: made.id, provider: 'slack', name: 'x' })).body).toMatchObject({
      details: [{ path: 'body.provider' }],
    });
    expect((await put({ id: '01890000-0000-7000-8000-000000000000', provider: 'slack', name: 'x' })).status).toBe(404);
  });

  test('is created with config_json or config, but not with both, and problems name the field that was sent', async () => {
    const other = await hub.workspace();
    const put = (body: object) =>
      send(hub.url, 'POST', '/v1/automations/channels', {
        headers: { 'x-api-key': other.key },
        body: { provider: 'webhook', name: 'in', ...body },
      });
    const made = await put({ config_json: { inboundSecret: 'a secret of sixteen' } });
    expect(made).toMatchObject({ status: 200, body: { secretsSet: ['inboundSecret'] } });
    const { status } = await send(hub.url, 'POST', `/v1/automations/channels/${String(made.body['id'])}/inbound`, {
      headers: { 'x-service-automation-token': 'a secret of sixteen' },
      body: { text: 'hello' },
    });
    expect(status).toBe(200);
    expect((await put({ config_json: { inboundSecret: 'short' } })).body.details).toMatchObject([
      { path: 'body.config_json.inboundSecret' },
    ]);
    expect((await put({ config: {}, config_json: {} })).body.details).toMatchObject([{ path: 'body.config_json' }]);
  });
});
