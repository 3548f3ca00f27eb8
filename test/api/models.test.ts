import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import type { Run } from '../../shared/contract/automations/runs.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { avoidPeriodEnd, minuteMs } from '../fixtures/avoid-period-end.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { keepModelBreakersOpen, makeModelBreakersHalfOpen } from '../fixtures/stage/ai.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';
import { until } from '../fixtures/until.ts';

const [first, second, own, mail] = await Promise.all([
  startModelServer(),
  startModelServer(),
  startModelServer(),
  startMailServer(),
]);
const database = await acquireDatabase();
/** Two processes over one database. */
let hubs: [TestHub, TestHub];
let workspace: TestWorkspace;
/** A workflow of the workspace that calls a model. */
let workflowId: string;

beforeAll(async () => {
  const env = {
    EGRESS_ALLOW_HOSTS: `${first.host},${second.host}`,
    RATE_LIMIT_PER_MINUTE: '100000',
    SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000',
    SMTP_URL: mail.url,
    MAIL_FROM: 'hub@example.org',
    AI_BASE_URL: own.baseUrl,
    AI_MODEL: 'of-the-hub',
    AI_API_KEY: 'k',
  };
  hubs = [await startHub(env, database), await startHub(env, database)];
});
afterAll(async () => {
  for (const hub of hubs) await hub[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  for (const server of [first, second, own, mail]) await server[Symbol.asyncDispose]();
});

const askSteps = [{ type: 'skill', skillId: 'ai.invoke', input: { input: 'Why?' } }] as never;
const workflowOf = async (of: TestWorkspace) =>
  (await of.api.call('createAutomationWorkflow', { body: { name: 'ask', stepsJson: askSteps } })).id;
const put = (apiKey: string) =>
  workspace.api.call('putAutomationModels', {
    body: {
      models: [
        { id: 'first', provider: 'openai-compatible', baseUrl: first.baseUrl, model: 'alpha', apiKey },
        { id: 'second', provider: 'openai-compatible', baseUrl: second.baseUrl, model: 'beta', apiKey },
      ],
      order: ['first', 'second'],
    },
  });

beforeEach(async () => {
  for (const server of [first, second, own]) {
    server.requests.length = 0;
    server.reply = () => 'an answer';
  }
  mail.mails.length = 0;
  workspace = await hubs[0].workspace();
  await put('k');
  workflowId = await workflowOf(workspace);
});

async function invoke(hub: TestHub, of = workspace, id = workflowId): Promise<Run> {
  const api = hub.client(of.key);
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} }));
  return settledRun(api, runId);
}
const outputOf = (run: Run) =>
  run.stepsResultJson[0]?.output as {
    model: string;
    attempts: { model: string; ms: number; outcome: string }[];
    usage: unknown;
  };
const outcomesOf = (run: Run) => outputOf(run).attempts.map(({ model, outcome }) => `${model} ${outcome}`);
const breakersOf = (of = workspace) =>
  database.query<{ model_id: string; is_open: boolean; openings: number }>(
    'SELECT model_id, open_until IS NOT NULL AS is_open, openings FROM model_breakers WHERE tenant_id = $1',
    [of.tenantId],
  );
const healthOf = async () => (await workspace.api.call('getAutomationModels', {})).models.map(({ health }) => health);
const halfOpen = () => makeModelBreakersHalfOpen(database, workspace.tenantId);
/** A first pause lasts 5 s, which a busy machine exceeds. */
const keepOpen = (of: string | null = workspace.tenantId) => keepModelBreakersOpen(database, of);

test('a failing model is skipped by all processes, and a single probe call detects that it recovered', async () => {
  first.reply = () => ({ status: 500 });
  for (let call = 0; call < 3; call += 1)
    expect(outcomesOf(await invoke(hubs[0]))).toEqual(['alpha http_500', 'alpha http_500', 'beta answered']);
  await expect.poll(() => breakersOf()).toMatchObject([{ model_id: 'first', is_open: true, openings: 1 }]);
  await keepOpen();
  expect(await healthOf()).toMatchObject([
    { state: 'paused', since: expect.any(String) as string, retryAt: expect.any(String) as string },
    { state: 'healthy', since: null, retryAt: null },
  ]);
  for (const hub of hubs) expect(outcomesOf(await invoke(hub))).toEqual(['alpha breaker_open', 'beta answered']);
  expect(first.requests.length).toBe(6);

  // The call ends after all others have gone to the second model.
  const before = second.requests.length;
  first.reply = async () => {
    await until(
      () => second.requests.length === before + 5,
      () => `${second.requests.length - before} calls went to the second model`,
    );
    return 'an answer';
  };
  await halfOpen();
  const runs = await Promise.all([0, 1, 0, 1, 0, 1].map((hub) => invoke(hubs[hub as 0 | 1])));
  expect(first.requests.length).toBe(7);
  expect(runs.map((run) => outputOf(run).model).toSorted()).toEqual(['alpha', ...Array(5).fill('beta')]);
  await expect.poll(() => breakersOf()).toEqual([]);
  expect((await healthOf()).map(({ state }) => state)).toEqual(['healthy', 'healthy']);
  first.reply = () => 'an answer';
  expect(outcomesOf(await invoke(hubs[1]))).toEqual(['alpha answered']);
});

test('a model with a failed call within the last minute is failing since that call', async () => {
  first.reply = () => ({ status: 500 });
  const from = new Date(Date.now() - 1_000).toISOString();
  await invoke(hubs[0]);
  await expect.poll(async () => (await healthOf())[0]?.state).toBe('failing');
  const [health] = await healthOf();
  expect(health?.retryAt).toBeNull();
  expect((health?.since ?? '') >= from).toBe(true);
});

test('a failed probe opens the breaker for longer, and with all breakers open a call fails immediately with the duration', async () => {
  first.reply = () => ({ status: 401 });
  second.reply = () => ({ status: 401 });
  expect((await invoke(hubs[0])).error?.code).toBe('inference_failed');
  await expect.poll(async () => (await breakersOf()).map((row) => row.is_open)).toEqual([true, true]);
  await keepOpen();
  const failed = await invoke(hubs[1]);
  expect(failed.error?.message).toMatch(/each failed too often: try again in \d+ s\./);
  expect([first.requests.length, second.requests.length]).toEqual([1, 1]);
  const [opened] = await healthOf();
  await halfOpen();
  await invoke(hubs[1]);
  expect([first.requests.length, second.requests.length]).toEqual([2, 2]);
  await expect.poll(async () => (await breakersOf()).map((row) => row.openings)).toEqual([2, 2]);
  expect((await healthOf())[0], 'a failed probe keeps the time of the first opening').toMatchObject({
    state: 'paused',
    since: opened?.since,
  });
});

test.each([401, 403, 404])(
  'the admins are notified once of a model that answers %d, in the audit log and by mail',
  async (status) => {
    first.reply = () => ({ status });
    for (let call = 0; call < 4; call += 1) await invoke(hubs[call % 2 === 0 ? 0 : 1]);
    await expect.poll(async () => (await breakersOf()).length).toBe(1);
    for (const hub of hubs) await hub.app.sweep();
    const { data } = await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: { targetType: 'models', targetId: 'first' },
    });
    expect(data).toMatchObject([{ action: 'models.refused', actor: 'platform', details: { status } }]);
    // Emails to other workspaces may still arrive.
    const refusalMails = () =>
      mail.mails
        .filter(({ to }) => to.includes(workspace.email))
        .map(({ raw }) => /The model \w+ answered \d+/.exec(raw)?.[0]);
    await expect.poll(refusalMails).toEqual([`The model first answered ${status}`]);
  },
);

test('a key that no header can contain is rejected when it is set, with its path', async () => {
  for (const apiKey of ['sk-…', 'two words', 'line\nline'])
    await expect(put(apiKey)).rejects.toMatchObject({
      status: 400,
      details: [
        { path: 'body.models[0].apiKey', message: expect.stringContaining('printable ASCII') as string },
        { path: 'body.models[1].apiKey' },
      ],
    });
});

test('a newly set key is tried immediately, and errors caused by one workspace do not affect others', async () => {
  first.reply = ({ headers }) => (headers.authorization === 'Bearer right' ? 'an answer' : { status: 401 });
  await invoke(hubs[0]);
  await expect.poll(async () => (await breakersOf())[0]?.is_open).toBe(true);
  await keepOpen();
  const other = await hubs[1].workspace();
  await other.api.call('putAutomationModels', {
    body: {
      models: [{ id: 'first', provider: 'openai-compatible', baseUrl: first.baseUrl, model: 'alpha', apiKey: 'right' }],
      order: ['first'],
    },
  });
  expect(outcomesOf(await invoke(hubs[1], other, await workflowOf(other)))).toEqual(['alpha answered']);
  expect(outcomesOf(await invoke(hubs[1]))).toEqual(['alpha breaker_open', 'beta answered']);
  await put('right');
  expect(outcomesOf(await invoke(hubs[1]))).toEqual(['alpha answered']);
});

test('the result of a call with the old key does not affect the new key', async () => {
  const refusal = Promise.withResolvers<{ status: number }>();
  first.reply = ({ headers }) => (headers.authorization === 'Bearer right' ? 'an answer' : refusal.promise);
  const late = invoke(hubs[0]);
  await expect.poll(() => first.requests.length).toBe(1);
  await put('right');
  refusal.resolve({ status: 401 });
  expect(outcomesOf(await late)).toEqual(['alpha http_401', 'beta answered']);
  await expect.poll(async () => (await breakersOf())[0]?.is_open).toBe(true);
  expect(outcomesOf(await invoke(hubs[1]))).toEqual(['alpha answered']);
});

test('the model of the hub has one breaker for all workspaces, and workspaces receive no notification', async () => {
  own.reply = () => ({ status: 401 });
  const [one, other] = await Promise.all([hubs[0].workspace(), hubs[1].workspace()]);
  expect((await invoke(hubs[0], one, await workflowOf(one))).error?.message).toContain('of-the-hub answered 401');
  await expect
    .poll(() => database.query('SELECT 1 FROM model_breakers WHERE tenant_id IS NULL AND open_until IS NOT NULL'))
    .toHaveLength(1);
  await keepOpen(null);
  expect((await invoke(hubs[1], other, await workflowOf(other))).error?.message).toContain('try again in');
  expect(own.requests.length).toBe(1);
  expect(
    await database.query("SELECT 1 FROM audit_log WHERE action = 'models.refused' AND tenant_id = $1", [one.tenantId]),
  ).toEqual([]);
});

test('steps of skills and agents list the models that were called, and the tokens used', async () => {
  first.reply = () => ({ status: 403 });
  second.reply = () => 'FINAL: an answer';
  const steps = [{ type: 'agent', prompt: 'Why?' }, ...(askSteps as unknown[])] as never;
  const { id } = await workspace.api.call('createAutomationWorkflow', { body: { name: 'both', stepsJson: steps } });
  const run = await invoke(hubs[0], workspace, id);
  const attempts = [
    { model: 'alpha', ms: expect.any(Number) as number, outcome: 'http_403' },
    { model: 'beta', ms: expect.any(Number) as number, outcome: 'answered' },
  ];
  const usage = { inputTokens: 10, outputTokens: 5 };
  expect(run.stepsResultJson.map(({ output }) => output)).toMatchObject([
    { model: 'beta', usage, turns: [{ model: 'beta', usage, attempts }] },
    { model: 'beta', usage, attempts, truncated: false },
  ]);
});

test('a successful call costs one read of the configuration and writes nothing', async () => {
  await invoke(hubs[0]);
  using recorder = new StatementRecorder();
  await invoke(hubs[0]);
  // Excludes statements of the sweep, and those about the workspaces of other tests.
  const about = recorder.statements.filter(
    ({ text, tenantId, values }) =>
      /\bmodel_(configs|breakers)\b/.test(text) &&
      (tenantId === workspace.tenantId || JSON.stringify(values).includes(workspace.tenantId)),
  );
  expect(about.map(({ name }) => name)).toEqual(['read_models']);
});

test('the metrics count calls and tokens by provider and outcome, and open breakers, without workspace names', async () => {
  first.reply = () => ({ status: 401 });
  await invoke(hubs[0]);
  await expect.poll(async () => (await breakersOf())[0]?.is_open).toBe(true);
  await keepOpen();
  const texts = await Promise.all(hubs.map(async (hub) => (await fetch(`${hub.url}/metrics`)).text()));
  const text = texts.join('\n');
  expect(text).toMatch(
    /outrigger_model_calls_total\{provider="openai-compatible",owner="workspace",outcome="http_401"\} [1-9]/,
  );
  expect(text).toMatch(
    /outrigger_model_calls_total\{provider="openai-compatible",owner="workspace",outcome="answered"\} [1-9]/,
  );
  expect(text).toMatch(
    /outrigger_model_tokens_total\{provider="openai-compatible",owner="workspace",direction="input"\} \d+0\n/,
  );
  expect(text).toMatch(/outrigger_model_breaker_changes_total\{change="opened"\} [1-9]/);
  expect(text).toMatch(/outrigger_model_breakers\{state="open"\} [1-9]/);
  expect(text).not.toContain(workspace.tenantId);
});

test('a rejected key is reported with the message of its provider, without the key, and attempts name the id of the model', async () => {
  const apiKey = 'sk-proj-0123456789abcdef';
  await put(apiKey);
  const error = {
    message: `Incorrect API key provided: ${apiKey}. You can find your API key at https://provider.example.com/keys.`,
    type: 'invalid_request_error',
    code: 'invalid_api_key',
  };
  first.reply = () => ({ status: 401, error });
  second.reply = () => ({ status: 401, error: { ...error, message: 'Incorrect API key provided: sk-pr***cdef.' } });
  const run = await invoke(hubs[0]);
  expect(run.error?.message).toContain(
    'alpha answered 401 (invalid_api_key): Incorrect API key provided: [key removed]',
  );
  expect(run.error?.message).toContain('https://provider.example.com/keys');
  await put(apiKey);
  await expect(
    hubs[0].client(workspace.keys.ai).call('createAiRun', { body: { input: 'Why?' } }),
  ).rejects.toMatchObject({
    code: 'inference_failed',
    message: expect.stringContaining('Incorrect API key') as string,
  });
  await put(apiKey);
  second.reply = () => 'an answer';
  const { attempts } = await hubs[0].client(workspace.keys.ai).call('createAiRun', { body: { input: 'Why?' } });
  expect(attempts).toMatchObject([
    {
      modelId: 'first',
      model: 'alpha',
      outcome: 'http_401',
      detail: expect.stringContaining('[key removed]') as string,
    },
    { modelId: 'second', model: 'beta', outcome: 'answered' },
  ]);
  expect(JSON.stringify([run, attempts])).not.toMatch(/sk-pr/);
});

test("the provider's message about the request is omitted, because it may quote the prompt", async () => {
  for (const server of [first, second])
    server.reply = () => ({ status: 400, error: { message: 'Invalid input: Why?', code: 'bad' } });
  expect((await invoke(hubs[0])).error?.message).not.toContain('Invalid input');
});

test('the model of the hub is shown as the fallback only while it is used', async () => {
  const shown = () => workspace.api.call('getAutomationModels', {});
  expect((await shown()).fallback).toBeNull();
  await workspace.api.call('putAutomationModels', { body: { models: [], order: [] } });
  expect((await shown()).fallback).toMatchObject({ model: 'of-the-hub' });
});

test('the health of the model of the hub is the same in all workspaces', async () => {
  const other = await hubs[0].workspace();
  await workspace.api.call('putAutomationModels', { body: { models: [], order: [] } });
  const healthIn = async (of: TestWorkspace) => (await of.api.call('getAutomationModels', {})).fallback?.health;
  const time = expect.any(String) as string;
  const answered = expect.any(Boolean) as boolean;
  const pause = async () => {
    own.reply = () => ({ status: 500 });
    for (let call = 0; call < 3; call += 1) await invoke(hubs[1]);
    await expect.poll(() => healthIn(other)).toEqual({ state: 'paused', since: time, retryAt: time, answered });
  };
  const recover = async () => {
    own.reply = () => 'an answer';
    await makeModelBreakersHalfOpen(database, null);
    await invoke(hubs[0]);
    await expect.poll(() => healthIn(other)).toEqual({ state: 'healthy', since: null, retryAt: null, answered });
  };
  // A probe that succeeds forgets the failures that other tests caused.
  await pause();
  await recover();
  own.reply = () => ({ status: 500 });
  await invoke(hubs[0]);
  await expect.poll(() => healthIn(workspace)).toEqual({ state: 'failing', since: time, retryAt: null, answered });
  expect(await healthIn(other)).toMatchObject({ state: 'failing', since: (await healthIn(workspace))?.since });
  expect([await healthIn(workspace), await healthIn(other)]).toMatchObject([{ answered: true }, { answered: false }]);
  await pause();
  await recover();
});

const testModel = (id: string, by = workspace.api) => by.call('testAutomationModel', { params: { modelId: id } });

test('a test asks one model, in use or not, and counts for usage but not for the breaker', async () => {
  const { api, tenantId, session } = workspace;
  await put('key-of-a-test');
  second.reply = () => ({ status: 500 });
  for (let call = 0; call < 6; call += 1)
    expect(await testModel('second')).toMatchObject({ answered: false, model: 'beta', outcome: 'http_500' });
  expect(second.requests).toHaveLength(6);
  expect(await breakersOf()).toEqual([]);
  second.reply = () => 'OK';
  expect(await testModel('second')).toEqual({
    answered: true,
    model: 'beta',
    outcome: 'answered',
    latencyMs: expect.any(Number) as number,
    detail: null,
  });
  expect(first.requests).toEqual([]);
  const usage = await session.call('getAiUsage', { params: { tenantId } });
  expect(JSON.stringify(usage)).toContain('"second"');
  await expect(testModel('third')).rejects.toMatchObject({ code: 'not_found' });
  await expect(testModel('second', (await hubs[0].workspace()).api)).rejects.toMatchObject({ code: 'not_found' });
  const reader = hubs[0].client((await workspace.createKey({ permissions: ['automations:run'] })).key);
  await expect(testModel('second', reader)).rejects.toMatchObject({ status: 403 });
  expect(await api.call('getAutomationModels', {})).toMatchObject({ order: ['first', 'second'] });
});

test('a model has answered only after an answer with its present key, by a call or by a test', async () => {
  const answered = async () => (await healthOf()).map((health) => health.answered);
  expect(await answered()).toEqual([false, false]);
  first.reply = () => ({ status: 401 });
  await testModel('first');
  expect(await answered()).toEqual([false, false]);
  first.reply = () => 'OK';
  await testModel('first');
  expect(await answered()).toEqual([true, false]);
  await put('another-key');
  expect(await answered()).toEqual([false, false]);
  await invoke(hubs[1]);
  expect(await answered()).toEqual([true, false]);
  const { models, order } = await workspace.api.call('getAutomationModels', {});
  const kept = models.map(({ id, provider, model, baseUrl }) => ({ id, provider, model, baseUrl: baseUrl ?? '' }));
  await workspace.api.call('putAutomationModels', { body: { models: kept, order: order.toReversed() } });
  expect(await answered(), 'another order keeps what is known').toEqual([true, false]);
});

test('an answer to a call with the old key or address does not count for the new one, and counts again for the old one', async () => {
  const answered = async () => (await healthOf()).map((health) => health.answered);
  const answer = Promise.withResolvers<string>();
  first.reply = () => answer.promise;
  const late = invoke(hubs[1]);
  await expect.poll(() => first.requests.length).toBe(1);
  await put('another-key');
  answer.resolve('an answer');
  expect(outcomesOf(await late)).toEqual(['alpha answered']);
  expect(await answered()).toEqual([false, false]);
  const [model] = (await workspace.api.call('getAutomationModels', {})).models;
  const moved = { id: 'first', provider: 'openai-compatible', model: model?.model ?? '', apiKey: 'k' } as const;
  await workspace.api.call('putAutomationModels', {
    body: { models: [{ ...moved, baseUrl: second.baseUrl }], order: ['first'] },
  });
  expect(await answered()).toEqual([false]);
  await put('k');
  expect(await answered()).toEqual([true, false]);
});

test('a test returns what the provider says about the key, and no secret', async () => {
  await put('a-secret-key');
  first.reply = () => ({ status: 401, error: { message: 'This key was revoked: a-secret-key' } });
  const answer = await testModel('first');
  expect(answer).toMatchObject({
    answered: false,
    outcome: 'http_401',
    detail: expect.stringContaining('This key was revoked') as string,
  });
  expect(JSON.stringify(answer)).not.toContain('a-secret-key');
});

test('tests respect the budget, the egress guard and their own limit', async () => {
  await avoidPeriodEnd(minuteMs);
  const { api, session, tenantId } = workspace;
  await session.call('putAiBudget', { params: { tenantId }, body: { dailyTokens: 0, dailyCost: null } });
  await expect(testModel('first')).rejects.toMatchObject({ code: 'ai_budget_used_up' });
  expect(first.requests).toEqual([]);
  await session.call('putAiBudget', { params: { tenantId }, body: { dailyTokens: null, dailyCost: null } });
  const model = { provider: 'openai-compatible' as const, model: 'm', apiKey: 'k' };
  await api.call('putAutomationModels', {
    body: { models: [{ ...model, id: 'inside', baseUrl: 'http://127.0.0.1:9/v1' }], order: [] },
  });
  expect(await testModel('inside')).toMatchObject({ answered: false });
  for (let count = 0; count < 8; count += 1) await testModel('inside');
  await expect(testModel('inside')).rejects.toMatchObject({ code: 'rate_limited' });
});
