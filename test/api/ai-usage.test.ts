import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { dayMs, avoidPeriodEnd } from '../fixtures/avoid-period-end.ts';
import { scripted } from '../fixtures/chat-model.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import { chatProtocol } from '../fixtures/model-protocols.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addModelBreaker } from '../fixtures/stage/ai.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';
import { chatScene, expectRefused } from '../fixtures/visitor.ts';

/** Each call of this model reports 10 input tokens and 5 output tokens. */
const model = await startModelServer();
const mail = await startMailServer();
const database = await acquireDatabase();
/** Two processes on one database, with a model of the hub. */
let hubs: [TestHub, TestHub];
let workspace: TestWorkspace;

beforeAll(async () => {
  const env = {
    RATE_LIMIT_PER_MINUTE: '100000',
    SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000',
    EGRESS_ALLOW_HOSTS: model.host,
    SMTP_URL: mail.url,
    MAIL_FROM: 'hub@example.org',
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'of-the-hub',
    AI_INPUT_PRICE: '1.25',
    AI_OUTPUT_PRICE: '10',
    AI_PRICE_CURRENCY: 'EUR',
  };
  hubs = [await startHub(env, database), await startHub(env, database)];
});
afterAll(async () => {
  for (const hub of hubs) await hub[Symbol.asyncDispose]();
  for (const part of [database, model, mail]) await part[Symbol.asyncDispose]();
});
beforeEach(async () => {
  await avoidPeriodEnd(dayMs);
  model.requests.length = 0;
  mail.mails.length = 0;
  model.reply = () => 'We open at nine.';
  workspace = await hubs[0].workspace();
});

const inIt = () => ({ params: { tenantId: workspace.tenantId } });
const usage = () => workspace.session.call('getAiUsage', inIt());
const budget = () => workspace.session.call('getAiBudget', inIt());
const setBudget = (dailyTokens: number | null, micros: number | null = null, currency = 'EUR') =>
  workspace.session.call('putAiBudget', {
    ...inIt(),
    body: { dailyTokens, dailyCost: micros === null ? null : { currency, micros } },
  });
const ask = (hub = hubs[0], signal?: AbortSignal) =>
  fetch(`${hub.url}/v1/ai/runs`, {
    method: 'POST',
    headers: { 'x-api-key': workspace.keys.ai as string, 'content-type': 'application/json' },
    body: JSON.stringify({ input: 'When do you open?' }),
    ...(signal === undefined ? {} : { signal }),
  });
const workflowRun = async (step: object) => {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'ask', stepsJson: [step] as never },
  });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id }, body: {} }));
  return settledRun(workspace.api, runId);
};
const invoke = { type: 'skill', skillId: 'ai.invoke', input: { input: 'Why?' } };
const putModels = (prices?: { inputMicros: number; outputMicros: number; currency: string }) =>
  workspace.api.call('putAutomationModels', {
    body: {
      models: [
        {
          id: 'main',
          provider: 'openai-compatible',
          baseUrl: model.baseUrl,
          model: 'alpha',
          ...(prices === undefined ? {} : { prices }),
        },
      ],
      order: ['main'],
    },
  });

test('every model call of any kind is counted once, with its cost at the prices of that time', async () => {
  expect((await usage()).data).toEqual([]);
  expect((await ask()).status).toBe(200);
  await workspace.session.call('speak', { ...inIt(), body: { text: 'Hello' } });
  expect((await workflowRun(invoke)).status).toBe('succeeded');
  model.reply = () => 'FINAL: done';
  expect((await workflowRun({ type: 'agent', prompt: 'go' })).status).toBe('succeeded');
  const ofHub = { modelId: null, model: 'of-the-hub', failedCalls: 0, estimatedCalls: 0 };
  // 10 × 1.25 + 5 × 10 millionths, rounded per call.
  expect((await usage()).data).toMatchObject([
    { ...ofHub, calls: 4, inputTokens: 40, outputTokens: 20, cost: { currency: 'EUR', micros: 4 * 63 } },
  ]);
  await putModels({ inputMicros: 3_000_000, outputMicros: 15_000_000, currency: 'USD' });
  model.reply = (_request, turn) => (model.requests.length % 2 === 1 ? { status: 503 } : `an answer ${turn}`);
  model.requests.length = 0;
  expect((await ask(hubs[1])).status).toBe(200);
  await putModels();
  model.reply = () => 'We open at nine.';
  expect((await ask()).status).toBe(200);
  const { data, totals } = await usage();
  expect(data).toMatchObject([
    { ...ofHub, calls: 4 },
    { modelId: 'main', model: 'alpha', calls: 1, failedCalls: 0, inputTokens: 10, cost: null },
    {
      modelId: 'main',
      calls: 2,
      failedCalls: 1,
      inputTokens: 10,
      outputTokens: 5,
      cost: { currency: 'USD', micros: 105 },
    },
  ]);
  expect(totals).toEqual({
    calls: 7,
    failedCalls: 1,
    estimatedCalls: 0,
    inputTokens: 60,
    outputTokens: 30,
    costs: [
      { currency: 'EUR', micros: 252 },
      { currency: 'USD', micros: 105 },
    ],
  });
});

test('an aborted call, and a call whose server reports no usage, are counted with an estimate', async () => {
  model.reply = () => 'hang';
  const away = new AbortController();
  const broken = ask(hubs[0], away.signal);
  await expect.poll(() => model.requests.length).toBe(1);
  away.abort();
  await expect(broken).rejects.toThrow();
  await expect.poll(async () => (await usage()).totals).toMatchObject({ calls: 1, failedCalls: 1, estimatedCalls: 1 });
  const { inputTokens } = (await usage()).totals;
  expect(inputTokens).toBeGreaterThan(10);
  const choices = [{ index: 0, message: { role: 'assistant', content: 'Nine.' }, finish_reason: 'stop' }];
  model.reply = () => ({ raw: JSON.stringify({ id: 'x', choices }), contentType: 'application/json' });
  expect(await (await ask()).json()).toMatchObject({ outputText: 'Nine.' });
  expect((await usage()).totals).toMatchObject({ calls: 2, failedCalls: 1, estimatedCalls: 2 });
  // The prompts only differ in their random marks.
  expect((await usage()).totals.inputTokens / inputTokens).toBeCloseTo(2, 0);
});

test.each(['3e9', '1e308', '1.5'])(
  'runs, replies and sums are stored with whole token counts, regardless of what a provider reports (%s)',
  async (said) => {
    const scene = await chatScene(hubs[0]);
    workspace = scene.workspace;
    await workspace.session.call('putChatAiSettings', { ...inIt(), body: { enabled: true, debounceMs: 0 } });
    const text = scripted({ reply: 'At nine.' });
    const odd = (answer: string) => answer.replaceAll(/("(?:prompt|completion)_tokens":)\d+/g, `$1${said}`);
    const { begin, part, end, whole } = chatProtocol;
    model.reply = () => ({ raw: odd(begin('x') + part('x', text) + end('x', 'stop')) });
    const tokens = Math.min(100_000_000, Math.round(Number(said)));
    const sum = { inputTokens: tokens, outputTokens: tokens };
    expect(await (await ask()).json()).toMatchObject({ status: 'succeeded', usage: sum });
    const visitor = await scene.visitor();
    await visitor.api.call('sendVisitorMessage', { body: { content: 'When?', clientId: 'when' } });
    await expect
      .poll(async () => (await visitor.api.call('listVisitorMessages', { query: {} })).data)
      .toMatchObject([{ senderType: 'visitor' }, { senderType: 'ai', content: 'At nine.' }]);
    expect((await workspace.session.call('getChatAiSettings', inIt())).usage).toMatchObject(sum);
    model.reply = () => ({
      raw: odd(JSON.stringify(whole('x', text, 'stop'))),
      contentType: 'application/json',
    });
    expect(await (await ask()).json()).toMatchObject({ status: 'succeeded', usage: sum });
    expect((await usage()).totals).toMatchObject({ calls: 3, inputTokens: 3 * tokens, estimatedCalls: 0 });
    const metrics = await Promise.all(hubs.map(async ({ url }) => (await fetch(`${url}/metrics`)).text()));
    const counted = [...metrics.join('\n').matchAll(/^outrigger_model_tokens_total\{.*\} (.*)$/gm)].map(([, count]) =>
      Number(count),
    );
    expect(counted.length).toBeGreaterThan(0);
    for (const count of counted) expect(Number.isSafeInteger(count)).toBe(true);
  },
);

test('all processes together exceed a daily budget by at most one call', async () => {
  await setBudget(45);
  let underWay = 0;
  let most = 0;
  model.reply = async () => {
    most = Math.max(most, (underWay += 1));
    await new Promise((resolve) => setImmediate(resolve));
    underWay -= 1;
    return 'We open at nine.';
  };
  const answers = await Promise.all(Array.from({ length: 8 }, (_, index) => ask(hubs[(index % 2) as 0 | 1])));
  const statuses = answers.map(({ status }) => status);
  // The reservation of one call exceeds the budget, so calls run one after the other.
  expect(most).toBe(1);
  expect(model.requests).toHaveLength(statuses.filter((status) => status === 200).length);
  expect(statuses.filter((status) => status === 200).length).toBeLessThanOrEqual(3);
  while ((await budget()).used.tokens < 45) expect((await ask(hubs[1])).status).toBe(200);
  expect(await budget()).toMatchObject({ dailyTokens: 45, used: { tokens: 45, share: 1 }, isUsedUp: true });
  expect(await database.query('SELECT 1 FROM ai_reservations WHERE tenant_id = $1', [workspace.tenantId])).toEqual([]);
});

test('every operation that calls a model reports a used-up budget until the next day', async () => {
  await setBudget(null, 63);
  expect((await ask()).status).toBe(200);
  const { resetsAt, ...now } = await budget();
  expect(now).toMatchObject({ used: { costs: [{ currency: 'EUR', micros: 63 }] }, isUsedUp: true });
  model.requests.length = 0;
  const refused = await ask(hubs[1]);
  expect(refused.status).toBe(429);
  const left = (Date.parse(resetsAt) - Date.now()) / 1000;
  expect(Math.abs(Number(refused.headers.get('retry-after')) - left)).toBeLessThan(60);
  expect(await refused.json()).toMatchObject({ statusCode: 429, code: 'ai_budget_used_up' });
  expect(await database.query('SELECT status FROM ai_runs WHERE tenant_id = $1', [workspace.tenantId])).toEqual([
    { status: 'succeeded' },
  ]);
  await expectRefused(
    workspace.session.call('speak', { ...inIt(), body: { text: 'Hello' } }),
    429,
    'ai_budget_used_up',
  );
  for (const step of [invoke, { type: 'agent', prompt: 'go' }])
    expect((await workflowRun(step)).error).toMatchObject({
      code: 'ai_budget_used_up',
      message: expect.stringContaining('it resets at 00:00 UTC') as string,
    });
  expect(model.requests).toEqual([]);
  // A cost limit does not apply to costs in another currency.
  await setBudget(null, 63, 'USD');
  expect((await ask()).status).toBe(200);
  await setBudget(null);
  const lifted = await budget();
  expect(lifted).toMatchObject({ dailyTokens: null, dailyCost: null, used: { share: null }, isUsedUp: false });
  expect(lifted.updatedAt).not.toBeNull();
  expect((await ask()).status).toBe(200);
});

test('a budget lists the models without a cost limit, and the audit log records who set which prices', async () => {
  const unbound = async () => (await budget()).modelsWithoutCostLimit;
  await setBudget(5, null);
  expect(await unbound()).toEqual([]);
  expect((await setBudget(null, 63, 'USD')).modelsWithoutCostLimit).toEqual(['of-the-hub']);
  await setBudget(null, 63);
  expect(await unbound()).toEqual([]);
  for (const prices of [
    undefined,
    { inputMicros: 0, outputMicros: 0, currency: 'EUR' },
    { inputMicros: 3_000_000, outputMicros: 15_000_000, currency: 'USD' },
  ]) {
    await putModels(prices);
    expect(await unbound()).toEqual(['main']);
  }
  await putModels({ inputMicros: 3_000_000, outputMicros: 15_000_000, currency: 'EUR' });
  expect(await unbound()).toEqual([]);
  const [last] = await database.query(
    "SELECT actor, details FROM audit_log WHERE tenant_id = $1 AND action = 'models.updated' ORDER BY id DESC LIMIT 1",
    [workspace.tenantId],
  );
  expect(last).toMatchObject({
    actor: expect.stringMatching(/^token:/) as string,
    details: { models: ['main'], prices: { main: { inputMicros: 3_000_000, currency: 'EUR' } } },
  });
});

test('a used-up budget hands conversations over to an agent and rejects suggestions for agents', async () => {
  const scene = await chatScene(hubs[0]);
  workspace = scene.workspace;
  await workspace.session.call('putChatAiSettings', { ...inIt(), body: { enabled: true, debounceMs: 0 } });
  await setBudget(15);
  model.reply = () => scripted({ reply: 'We open at nine.' });
  const visitor = await scene.visitor();
  const sendQuestion = (content: string) =>
    visitor.api.call('sendVisitorMessage', { body: { content, clientId: content } });
  const senderTypes = async () =>
    (await visitor.api.call('listVisitorMessages', { query: {} })).data.map(({ senderType }) => senderType);
  await sendQuestion('When?');
  await expect.poll(senderTypes).toEqual(['visitor', 'ai']);
  await sendQuestion('And on Sundays?');
  await expect.poll(senderTypes).toEqual(['visitor', 'ai', 'visitor', 'ai']);
  const place = { tenantId: workspace.tenantId, id: visitor.conversationId };
  const notes = (
    await workspace.session.call('listInboxMessages', { params: place, query: { limit: 100 } })
  ).data.filter((message) => message.private);
  expect(notes[0]?.content).toContain("today's budget for models is used up");
  expect((await workspace.session.call('getInboxConversation', { params: place })).owner).toBe('person');
  expect(model.requests).toHaveLength(1);
  expect((await usage()).totals).toMatchObject({ calls: 1, inputTokens: 10 });
  await expectRefused(
    workspace.session.call('createAiSuggestion', {
      params: { tenantId: workspace.tenantId, channelId: visitor.conversationId },
    }),
    429,
    'ai_budget_used_up',
  );
});

test('admins receive one mail per day at 80 % and one at 100 % of the budget', async () => {
  await setBudget(18);
  await ask();
  for (const hub of hubs) await hub.app.sweep();
  const subjects = () =>
    mail.mails.filter(({ to }) => to.includes(workspace.email)).map(({ raw }) => /^Subject: (.*)$/m.exec(raw)?.[1]);
  await expect.poll(subjects).toEqual([expect.stringContaining("80 % of today's budget")]);
  await ask();
  for (const hub of [...hubs, ...hubs]) await hub.app.sweep();
  await expect.poll(subjects).toHaveLength(2);
  expect(subjects()[1]).toContain("Today's budget for models is used up");
  const auditEntries = await database.query<{ details: unknown }>(
    "SELECT details FROM audit_log WHERE tenant_id = $1 AND action = 'ai_budget.reached' ORDER BY id",
    [workspace.tenantId],
  );
  expect(auditEntries).toMatchObject([{ details: { percent: 80 } }, { details: { percent: 100 } }]);
});

test('the SLO shows the results of models and the metrics their cost, without names of workspaces or models', async () => {
  await putModels({ inputMicros: 3_000_000, outputMicros: 15_000_000, currency: 'USD' });
  await ask();
  model.reply = () => ({ status: 401 });
  await ask();
  const slo = () => workspace.api.call('getAutomationSlo', { query: { window: '1h' } });
  await expect.poll(async () => (await slo()).models[0]?.breaker).toBe('open');
  expect((await slo()).models).toMatchObject([
    {
      modelId: 'main',
      model: 'alpha',
      calls: 2,
      outcomes: { answered: 1, http_401: 1 },
      latencyMs: { p50: expect.any(Number) as number },
      inputTokens: 10,
      outputTokens: 5,
      costs: [{ currency: 'USD', micros: 105 }],
    },
  ]);
  const metrics = await (await fetch(`${hubs[0].url}/metrics`)).text();
  const labels = 'provider="openai-compatible",owner="workspace"';
  expect(metrics).toMatch(new RegExp(`outrigger_model_cost_micros_total\\{${labels},currency="USD"\\} [1-9]`));
  expect(metrics).toMatch(new RegExp(`outrigger_model_call_seconds_count\\{${labels}\\} [1-9]`));
  expect(metrics).not.toContain('alpha');
  expect(metrics).not.toContain(workspace.tenantId);
});

test('data of a removed model is cleaned up automatically', async () => {
  await addModelBreaker(database, workspace.tenantId, { modelId: 'removed', age: { days: 3 } });
  await addModelBreaker(database, workspace.tenantId, { modelId: 'present', age: { days: 1 } });
  await hubs[0].app.sweep();
  expect(
    await database.query('SELECT model_id FROM model_breakers WHERE tenant_id = $1', [workspace.tenantId]),
  ).toEqual([{ model_id: 'present' }]);
});

test('a model call costs two statements, and two more in a transaction with a budget', async () => {
  await ask();
  const names = async () => {
    using recorder = new StatementRecorder();
    await ask();
    // Without statements of periodic tasks.
    return recorder.statements
      .map(({ name }) => name)
      .filter((name) => /model|budget|usage/.test(name ?? '') && !/mail|^(?:prune|fold)_/.test(name ?? ''));
  };
  expect(await names()).toEqual(['read_models', 'write_ai_usage']);
  await setBudget(1_000_000);
  expect(await names()).toEqual(['read_models', 'lock_ai_budget', 'reserve_ai_budget', 'write_ai_usage']);
});

test('members can read usage and budget, and admins can set valid budgets', async () => {
  const at = (what: string, tenantId = workspace.tenantId) => `/tenants/${tenantId}/ai/${what}`;
  const as = (method: string, path: string, token: string | null, body?: unknown) =>
    send(hubs[0].url, method, path, {
      ...(token === null ? {} : { headers: { authorization: `Bearer ${token}` } }),
      ...(body === undefined ? {} : { body }),
    });
  const whole = { dailyTokens: 1, dailyCost: null };
  for (const [body, path] of [
    [{}, 'body.dailyTokens'],
    [{ dailyTokens: 1.5, dailyCost: null }, 'body.dailyTokens'],
    [{ dailyTokens: -1, dailyCost: null }, 'body.dailyTokens'],
    [{ dailyTokens: null, dailyCost: { micros: 1, currency: 'XYZ' } }, 'body.dailyCost.currency'],
    [{ ...whole, more: 1 }, 'body.more'],
  ] as const)
    expect((await as('PUT', at('budget'), workspace.jwt, body)).body.details?.[0]?.path).toBe(path);
  const half = await as('PUT', at('budget'), workspace.jwt, {});
  expect(half.body.details).toEqual(
    ['body.dailyTokens', 'body.dailyCost'].map((path) => ({ path, message: 'is required, with null for no limit' })),
  );
  for (const query of ['?from=2026-02-30', '?from=2026-02-01&to=2026-01-01', '?from=2026-01-01&to=2026-12-01', '?x=1'])
    expect((await as('GET', at('usage') + query, workspace.jwt)).status).toBe(400);
  expect((await as('GET', `${at('usage')}?from=2026-01-01&to=2026-01-31`, workspace.jwt)).body).toMatchObject({
    from: '2026-01-01',
    to: '2026-01-31',
    data: [],
  });
  const otherWorkspace = await hubs[0].workspace();
  await workspace.session.call('addMember', {
    ...inIt(),
    body: { email: `agent-${workspace.email}`, password: 'correct horse battery', role: 'agent' },
  });
  const { token: agent } = await hubs[0].client().call('logIn', {
    body: { email: `agent-${workspace.email}`, password: 'correct horse battery' },
  });
  for (const [method, what, body] of [
    ['GET', 'usage', undefined],
    ['GET', 'budget', undefined],
    ['PUT', 'budget', whole],
  ] as const) {
    expect((await as(method, at(what), null, body)).status).toBe(401);
    expect((await as(method, at(what), otherWorkspace.jwt, body)).status).toBe(404);
    expect((await as(method, at(what), workspace.keys.ai as string, body)).status).toBe(method === 'GET' ? 200 : 401);
    expect((await as(method, at(what), agent, body)).status).toBe(method === 'PUT' ? 403 : 200);
    expect((await as(method, at(what), workspace.jwt, body)).status).toBe(200);
  }
  const prices = { inputMicros: 1, outputMicros: 1, currency: 'EUR' };
  const models = ['one', 'two'].map((id) => ({ id, provider: 'openai', model: 'x', prices }));
  for (const [second, path] of [
    [{ ...prices, currency: 'USD' }, 'body.models[1].prices.currency'],
    [{ ...prices, inputMicros: 0.5 }, 'body.models[1].prices.inputMicros'],
  ] as const)
    expect(
      (
        await as('PUT', '/v1/automations/models', workspace.jwt, {
          models: [models[0], { ...models[1], prices: second }],
          order: ['one'],
        })
      ).body.details?.[0]?.path,
    ).toBe(path);
});
