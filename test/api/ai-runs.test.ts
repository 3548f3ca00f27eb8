import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Writable } from 'node:stream';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../hub/platform/observability/logger.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { keptConnections } from '../fixtures/kept-connections.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { ageAiRun } from '../fixtures/stage/ai.ts';
import { expireIdempotencyKey, expireToken } from '../fixtures/stage/core.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let model: ModelServer;
let hub: TestHub;
let workspace: TestWorkspace;
let log = '';

beforeAll(async () => {
  model = await startModelServer();
  const lines = new Writable({
    write(chunk: Buffer, _encoding, done) {
      log += chunk.toString();
      done();
    },
  });
  hub = await startHub({ EGRESS_ALLOW_HOSTS: '127.0.0.1', RATE_LIMIT_PER_MINUTE: '100000' }, undefined, {
    logger: createLogger({ level: 'trace', format: 'json', color: false }, lines),
  });
  workspace = await withModel();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(() => {
  model.requests.length = 0;
  model.reply = () => 'We open at nine.';
});

async function withModel(baseUrl = model.baseUrl): Promise<TestWorkspace> {
  const made = await hub.workspace();
  await made.api.call('putAutomationModels', {
    body: {
      models: [{ id: 'main', provider: 'openai-compatible', baseUrl, model: 'alpha', apiKey: 'the-key-of-the-model' }],
      order: ['main'],
    },
  });
  return made;
}

const ask = (body: unknown, { key = workspace.keys.ai as string, headers = {} } = {}) =>
  send(hub.url, 'POST', '/v1/ai/runs', { headers: { 'x-api-key': key, ...headers }, body });
const read = (id: unknown, key = workspace.keys.ai as string) =>
  send(hub.url, 'GET', `/v1/ai/runs/${String(id)}`, { headers: { 'x-api-key': key } });
const runsOf = ({ tenantId }: TestWorkspace) =>
  hub.database.query<{ id: string; status: string }>('select id, status from ai_runs where tenant_id = $1', [tenantId]);

/** A server that never answers and counts the waiting requests. */
async function startSilentModel() {
  let open = 0;
  const server = createServer(keptConnections, (request, response) => {
    open += 1;
    request.resume();
    response.on('close', () => (open -= 1));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise<void>((done) => server.close(() => done()));
  });
  return { baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`, open: () => open };
}

describe('a run', () => {
  test('returns its result, and reading it again returns the same', async () => {
    const body = { input: 'When do you open?', context: 'A shop.', metadata: { ticket: '4711' }, locale: 'de' };
    const answer = await ask({ ...body, mode: 'text' });
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      ...body,
      status: 'succeeded',
      outputText: 'We open at nine.',
      environment: 'live',
      model: 'alpha',
      attempts: [{ model: 'alpha', ms: expect.any(Number) as number, outcome: expect.any(String) as string }],
      usage: { inputTokens: 10, outputTokens: 5 },
      truncated: false,
      truncation: null,
      sources: [],
      error: null,
    });
    const { id } = answer.body;
    expect((await read(id)).body).toEqual(answer.body);
    const prompt = model.requests[0]?.messages.map(({ content }) => content).join('\n') ?? '';
    expect(prompt).toContain('| A shop.');
    expect(prompt).toContain('German');
    expect(prompt).not.toContain('4711');
    expect(await hub.database.query('select kind, environment from usage_events where subject_id = $1', [id])).toEqual([
      { kind: 'ai.run', environment: 'live' },
    ]);
  });

  test('belongs to the environment of its API key', async () => {
    const { key } = await workspace.createKey({ product: 'ai', environment: 'test' });
    expect((await ask({ input: 'x' }, { key })).body).toMatchObject({ environment: 'test', status: 'succeeded' });
  });

  test('counts its limits in Unicode characters, and its errors name the field', async () => {
    const boat = '🚣';
    expect((await ask({ input: boat.repeat(4_000), context: boat.repeat(24_000) })).status).toBe(200);
    const most = Object.fromEntries(Array.from({ length: 50 }, (_, index) => [`k${index}`, boat.repeat(500)]));
    expect((await ask({ input: 'x', metadata: most })).status).toBe(200);
    for (const [body, path] of [
      [{}, 'body.input'],
      [{ input: '' }, 'body.input'],
      [{ input: boat.repeat(4_001) }, 'body.input'],
      [{ input: 'x', context: boat.repeat(24_001) }, 'body.context'],
      [{ input: 'x', metadata: { a: 1 } }, 'body.metadata.a'],
      [{ input: 'x', metadata: { a: null } }, 'body.metadata.a'],
      [{ input: 'x', metadata: { a: boat.repeat(501) } }, 'body.metadata.a'],
      [{ input: 'x', metadata: { ['k'.repeat(41)]: 'x' } }, `body.metadata.${'k'.repeat(41)}`],
      [{ input: 'x', metadata: { ...most, more: 'x' } }, 'body.metadata'],
      [{ input: 'x', mode: 'voice' }, 'body.mode'],
      [{ input: 'x', locale: 'not a language' }, 'body.locale'],
      [{ input: 'x', temperature: 1 }, 'body.temperature'],
    ] as const) {
      const answer = await ask(body);
      expect([path, answer.status, answer.body.details?.[0]?.path]).toEqual([path, 400, path]);
    }
  });

  test('is not visible to another workspace, and requires an API key and the entitlement of its product', async () => {
    const { id } = (await ask({ input: 'x' })).body;
    const other = await hub.workspace();
    const foreign = await read(id, other.keys.ai);
    expect(foreign.status).toBe(404);
    expect(foreign.body.message?.replace(String(id), 'ID')).toBe(
      (await read(missingId, other.keys.ai)).body.message?.replace(missingId, 'ID'),
    );
    expect((await ask({ input: 'x' }, { key: workspace.keys.chat as string })).body.code).toBe('wrong_product');
    expect((await send(hub.url, 'POST', '/v1/ai/runs', { body: { input: 'x' } })).status).toBe(401);
    await hub
      .client(adminKey)
      .call('putEntitlements', { params: { tenantId: other.tenantId }, body: { ai_agent: false } });
    expect((await ask({ input: 'x' }, { key: other.keys.ai as string })).body.code).toBe('product_not_entitled');
  });

  test('is rejected if no model is configured', async () => {
    const bare = await hub.workspace();
    const answer = await ask({ input: 'x' }, { key: bare.keys.ai as string });
    expect([answer.status, answer.body.code, answer.body['runId']]).toEqual([
      503,
      'ai_binding_not_configured',
      undefined,
    ]);
    expect(await runsOf(bare)).toEqual([]);
  });

  test('without a configured model is logged as one line without a stack', async () => {
    const bare = await hub.workspace();
    const { body } = await ask({ input: 'x' }, { key: bare.keys.ai as string });
    const failures = log
      .split('\n')
      .filter((line) => line.includes(body.requestId as string))
      .map((line) => JSON.parse(line) as { level: number; msg: string; err?: unknown })
      .filter(({ level }) => level >= 50);
    expect(failures).toHaveLength(1);
    expect(failures[0]?.msg).toBe(`a request failed: ${body.message}`);
    expect(failures[0]).not.toHaveProperty('err');
    expect(JSON.stringify(failures[0])).not.toContain('stack');
  });

  test('is stored when it fails, and the error contains its id', async () => {
    model.reply = () => ({ status: 400 });
    const answer = await ask({ input: 'x' });
    expect([answer.status, answer.body.code]).toEqual([503, 'inference_failed']);
    expect((await read(answer.body['runId'])).body).toMatchObject({
      id: answer.body['runId'],
      status: 'failed',
      outputText: null,
      model: null,
      attempts: [{ model: 'alpha' }],
      error: { code: 'inference_failed', message: expect.stringContaining('alpha') as string },
    });
    expect(
      await hub.database.query('select 1 from usage_events where subject_id = $1', [answer.body['runId']]),
    ).toEqual([]);
  });

  test('returns no answer after its key was revoked or its workspace lost the entitlement, and is stored as failed', async () => {
    const { tenantId } = workspace;
    const endings = {
      token_revoked: (tokenId: string) =>
        workspace.session.call('deleteApiToken', { params: { tenantId, id: tokenId } }),
      token_expired: (tokenId: string) => expireToken(hub.database, tokenId),
      product_not_entitled: () =>
        hub.client(adminKey).call('putEntitlements', { params: { tenantId }, body: { ai_agent: false } }),
    };
    for (const [code, end] of Object.entries(endings)) {
      const { key, id } = await workspace.createKey({ product: 'ai' });
      model.reply = async () => {
        await end(id);
        return 'A secret of the business.';
      };
      const { status, body } = await ask({ input: 'What is it?' }, { key, headers: { 'idempotency-key': code } });
      expect([status, body['code']]).toEqual([code === 'product_not_entitled' ? 403 : 401, code]);
      await hub.client(adminKey).call('putEntitlements', { params: { tenantId }, body: { ai_agent: true } });
      const run = await read(body['runId']);
      expect(run.body).toMatchObject({
        status: 'failed',
        outputText: null,
        model: 'alpha',
        error: { code },
        usage: { inputTokens: expect.any(Number) },
      });
      expect(JSON.stringify([body, run.body])).not.toContain('secret');
    }
    expect(
      await hub.database.query("SELECT FROM idempotency_keys WHERE tenant_id = $1 AND key = 'token_revoked'", [
        tenantId,
      ]),
    ).toEqual([]);
  });

  test('cannot be cancelled yet', async () => {
    const answer = await send(hub.url, 'POST', `/v1/ai/runs/${missingId}/cancel`, {
      headers: { 'x-api-key': workspace.keys.ai as string },
    });
    expect([answer.status, answer.body.code]).toEqual([501, 'not_available']);
  });

  test('aborts the model call when its caller disconnects, and is stored as failed', async () => {
    const silent = await startSilentModel();
    const own = await withModel(silent.baseUrl);
    const caller = new AbortController();
    const response = fetch(`${hub.url}/v1/ai/runs`, {
      method: 'POST',
      headers: { 'x-api-key': own.keys.ai as string, 'content-type': 'application/json' },
      body: '{"input":"x"}',
      signal: caller.signal,
    }).catch(() => 'gone');
    await expect.poll(silent.open).toBe(1);
    caller.abort();
    expect(await response).toBe('gone');
    await expect.poll(silent.open).toBe(0);
    await expect.poll(async () => (await runsOf(own)).map(({ status }) => status)).toEqual(['failed']);
    const [run] = await runsOf(own);
    expect((await read(run?.id, own.keys.ai)).body['error']).toEqual({
      code: 'unavailable',
      message: 'The client disconnected before the answer was complete.',
    });
  });

  test('waits for a slot of its workspace without delaying other workspaces', async () => {
    const silent = await startSilentModel();
    const busy = await withModel(silent.baseUrl);
    const callers = new AbortController();
    const start = () =>
      fetch(`${hub.url}/v1/ai/runs`, {
        method: 'POST',
        headers: { 'x-api-key': busy.keys.ai as string, 'content-type': 'application/json' },
        body: '{"input":"x"}',
        signal: callers.signal,
      }).then(
        async (response) => ({ status: response.status, after: response.headers.get('retry-after') }),
        () => ({ status: 0, after: null }),
      );
    const answers = Array.from({ length: 30 }, start);
    await expect.poll(silent.open).toBe(8);
    expect((await ask({ input: 'x' })).status).toBe(200);
    // First the runs above the queue capacity are refused, then those that waited in the queue.
    const refused = answers.map((answer) => answer.then(({ status }) => status === 429));
    await expect
      .poll(
        async () =>
          (await Promise.all(refused.map((one) => Promise.race([one, Promise.resolve(false)])))).filter(Boolean).length,
      )
      .toBe(22);
    expect(silent.open()).toBe(8);
    callers.abort();
    const all = await Promise.all(answers);
    expect(all.filter(({ status }) => status === 429).every(({ after }) => after === '2')).toBe(true);
    await expect.poll(async () => (await runsOf(busy)).length).toBe(8);
  });

  test('is removed when its retention ends', async () => {
    const { id } = (await ask({ input: 'an old question' })).body;
    const old = await ageAiRun(hub.database, id as string);
    expect((await read(old)).status).toBe(200);
    await hub.app.sweep();
    expect((await read(old)).status).toBe(404);
  });

  test('uses no database connection while it waits for its model', async () => {
    const silent = await startSilentModel();
    const own = await withModel(silent.baseUrl);
    const caller = new AbortController();
    const headers = {
      'x-api-key': own.keys.ai as string,
      'content-type': 'application/json',
      'idempotency-key': 'outside',
    };
    const response = fetch(`${hub.url}/v1/ai/runs`, {
      method: 'POST',
      headers,
      body: '{"input":"x"}',
      signal: caller.signal,
    }).catch(() => null);
    await expect.poll(silent.open).toBe(1);
    const transactions = async () =>
      (
        await hub.database.query<{ key: string }>(
          "select concat(pid, ' ', xact_start) as key from pg_stat_activity where datname = current_database() and state like 'idle in transaction%'",
        )
      ).map(({ key }) => key);
    // Transactions of other work of the hub end meanwhile.
    const first = await transactions();
    await expect.poll(async () => (await transactions()).filter((key) => first.includes(key))).toEqual([]);
    expect(silent.open()).toBe(1);
    caller.abort();
    await response;
    await expect.poll(async () => (await runsOf(own)).length).toBe(1);
  });

  test('costs one read of the models, one check of the API key, and one write', async () => {
    await ask({ input: 'x' });
    using recorder = new StatementRecorder(1);
    await ask({ input: 'x' });
    const names = recorder.statements.map(({ name }) => name).filter((name) => name !== null);
    // Without statements of periodic tasks.
    expect(names.filter((name) => /model|ai_run/.test(name) && !/mail|^prune_/.test(name)).toSorted()).toEqual([
      'insert_ai_run',
      'read_key_of_ai_run',
      'read_models',
    ]);
  });
});

describe('an Idempotency-Key of a run', () => {
  const once = (key: string, body: unknown = { input: 'x' }, own = workspace) =>
    ask(body, { key: own.keys.ai as string, headers: { 'idempotency-key': key } });

  test('returns the first run for a repeat, and calls the model once', async () => {
    const first = await once('one');
    const second = await once('one');
    expect([second.body, second.headers.get('idempotency-replayed')]).toEqual([first.body, 'true']);
    expect(model.requests).toHaveLength(1);
    expect((await once('one', { input: 'y' })).status).toBe(422);
  });

  test('replays neither a failure nor a rejection', async () => {
    model.reply = () => ({ status: 400 });
    const failed = await once('failed');
    expect(failed.status).toBe(503);
    model.reply = () => 'better';
    const second = await once('failed');
    expect([second.status, second.body['outputText'], second.headers.get('idempotency-replayed')]).toEqual([
      200,
      'better',
      null,
    ]);
    expect((await read(failed.body['runId'])).body['status']).toBe('failed');

    const bare = await hub.workspace();
    expect((await once('none', { input: 'x' }, bare)).body.code).toBe('ai_binding_not_configured');
    await bare.api.call('putAutomationModels', {
      body: {
        models: [{ id: 'a', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'alpha' }],
        order: ['a'],
      },
    });
    expect((await once('none', { input: 'x' }, bare)).status).toBe(200);
  });

  test('is locked while the first run is in progress, and unlocked when its process has ended', async () => {
    const silent = await startSilentModel();
    const own = await withModel(silent.baseUrl);
    const caller = new AbortController();
    onTestFinished(() => caller.abort());
    const first = fetch(`${hub.url}/v1/ai/runs`, {
      method: 'POST',
      headers: { 'x-api-key': own.keys.ai as string, 'content-type': 'application/json', 'idempotency-key': 'held' },
      body: '{"input":"x"}',
      signal: caller.signal,
    }).catch(() => null);
    await expect.poll(silent.open).toBe(1);
    const second = await once('held', { input: 'x' }, own);
    expect([second.status, second.body.code]).toEqual([409, 'idempotency_in_progress']);
    // The state after the process has not renewed the key for longer than a run can take.
    await expireIdempotencyKey(hub.database, 'held');
    await own.api.call('putAutomationModels', {
      body: {
        models: [{ id: 'a', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'alpha' }],
        order: ['a'],
      },
    });
    const third = await once('held', { input: 'x' }, own);
    expect(third.status).toBe(200);
    caller.abort();
    await first;
    await expect.poll(silent.open).toBe(0);
    expect((await once('held', { input: 'x' }, own)).body).toEqual(third.body);
  });
});

test('the log contains no questions, no answers, and no provider messages about them', async () => {
  const words = ['amaranthine', 'boustrophedon', 'callipygian', 'defenestration', 'ephemeral-metadata'];
  const [input, context, output, echo, metadata] = words as [string, string, string, string, string];
  model.reply = () => output;
  const body = { input, context, metadata: { a: metadata } };
  expect((await ask(body)).body['outputText']).toBe(output);
  const server = createServer(keptConnections, (request, response) => {
    request.resume();
    response.writeHead(400, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error: { message: `refused: ${input} ${echo}` } }));
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  onTestFinished(() => void server.close());
  const own = await withModel(`http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`);
  const failed = await ask(body, { key: own.keys.ai as string });
  expect(failed.status).toBe(503);
  expect((await ask({ ...body, mode: 'voice' })).status).toBe(400);
  expect(log).toContain('a request failed');
  for (const word of words) expect(log).not.toContain(word);
  expect(failed.text).not.toContain(echo);
});

describe('a spoken question on the phone', () => {
  const speak = (path: string, body: unknown, own = workspace, token = own.jwt) =>
    fetch(`${hub.url}/tenants/${own.tenantId}/ai/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });

  test('is answered as text, and as a stream of one event', async () => {
    const answer = await speak('speak', {
      text: 'When do you open?',
      context: 'A shop.',
      sessionId: 'x',
      locale: 'de',
    });
    expect([answer.status, await answer.json()]).toEqual([200, { text: 'We open at nine.', done: true }]);
    const stream = await speak('speak/stream', { text: 'When?', automaticAgent: true });
    expect(stream.headers.get('content-type')).toContain('text/event-stream');
    const events = (await stream.text()).split('\n').filter((line) => line.startsWith('data: '));
    expect(events).toEqual(['data: {"text":"We open at nine.","done":true}']);
    expect(model.requests[0]?.messages.map(({ content }) => content).join('\n')).toMatch(
      /German[^]*\| A shop\.[^]*When do you open\?$/,
    );
  });

  test('is answered with a greeting if it is empty', async () => {
    expect((await speak('speak', {})).status).toBe(200);
    expect((await speak('speak/stream', { text: '  ' })).status).toBe(200);
    for (const { messages } of model.requests) expect(messages.at(-1)?.content).toContain('Greet the person');
  });

  test('is not answered after the session of the caller ended', async () => {
    const { email, password } = workspace;
    for (const path of ['speak', 'speak/stream']) {
      const { token } = await hub.client().call('logIn', { body: { email, password } });
      model.reply = async () => {
        await hub.client(token).call('logOut', {});
        return 'A secret of the business.';
      };
      const answer = await speak(path, { text: 'What is it?' }, workspace, token);
      expect(answer.status).toBe(401);
      expect(await answer.text()).not.toContain('secret');
    }
  });

  test('requires the phone, the AI agent, a model and a member', async () => {
    const own = await withModel();
    const entitle = (entitlements: Record<string, boolean>) =>
      hub.client(adminKey).call('putEntitlements', { params: { tenantId: own.tenantId }, body: entitlements });
    for (const path of ['speak', 'speak/stream']) {
      await entitle({ business_phone: false, ai_agent: true });
      expect((await speak(path, {}, own)).status).toBe(403);
      await entitle({ business_phone: true, ai_agent: false });
      expect((await speak(path, {}, own)).status).toBe(403);
      await entitle({ business_phone: true, ai_agent: true });
      expect((await speak(path, {}, own)).status).toBe(200);
      expect((await speak(path, {}, own, workspace.jwt)).status).toBe(404);
      expect((await speak(path, {}, own, own.key)).status).toBe(403);
      expect((await speak(path, { text: 'x'.repeat(4_001) }, own)).status).toBe(400);
    }
    const bare = await hub.workspace();
    for (const path of ['speak', 'speak/stream']) {
      const answer = await speak(path, {}, bare);
      expect([answer.status, ((await answer.json()) as { code: string }).code]).toEqual([
        503,
        'ai_binding_not_configured',
      ]);
    }
  });
});
