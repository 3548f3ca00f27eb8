import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { operations } from '../../shared/contract/api.ts';
import { allowsCaller } from '../../shared/contract/define.ts';
import type { Operation } from '../../shared/contract/define.ts';
import { avoidPeriodEnd, minuteMs } from '../fixtures/avoid-period-end.ts';
import { patientDatabase, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startHubProcess } from '../fixtures/processes.ts';
import { pathOf, send } from '../fixtures/requests.ts';
import type { Answer } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { refuseWorkflowVersionsNamed } from '../fixtures/stage/automations.ts';
import { until } from '../fixtures/until.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub(
    {
      SIGN_UP: 'open',
      SIP_DOMAIN: 'sip.example.com',
      SIP_WS_URL: 'ws://127.0.0.1:9',
      SIP_RPC_URL: 'http://127.0.0.1:9',
      SIP_SHARED_SECRET: 'x'.repeat(32),
    },
    undefined,
    patientDatabase,
  );
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const post = (path: string, key: string, body: unknown, options: { apiKey?: string; url?: string } = {}) =>
  send(options.url ?? hub.url, 'POST', path, {
    headers: { 'x-api-key': options.apiKey ?? workspace.key, 'idempotency-key': key },
    body,
  });
const create = (key: string, name = 'idempotent') =>
  post('/v1/automations/workflows', key, { name, stepsJson: [{ type: 'log', message: 'x' }] });

async function workflow(triggerJson?: Record<string, unknown>): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'w',
      stepsJson: [{ type: 'log', message: 'x' }],
      ...(triggerJson === undefined ? {} : { triggerJson }),
    } as never,
  });
  return id;
}
const runsOf = (workflowId: string) =>
  hub.database.query<{ id: string }>('select id from runs where workflow_id = $1', [workflowId]);

/** Expects that all responses belong to one execution, or report that it is in progress. */
function expectOnce(answers: Answer[], idOf: (answer: Answer) => unknown): void {
  const done = answers.filter(({ status }) => status === 200);
  expect(done.length).toBeGreaterThan(0);
  expect(new Set(done.map(idOf)).size).toBe(1);
  expect(done.filter(({ headers }) => headers.get('idempotency-replayed') === null)).toHaveLength(1);
  expect(
    answers
      .filter(({ status }) => status !== 200)
      .every(({ status, body }) => status === 409 && body.code === 'idempotency_in_progress'),
  ).toBe(true);
}

describe('Idempotency-Key', () => {
  test('replays the first response, and rejects the key with another body', async () => {
    const first = await create('one');
    const second = await create('one');
    expect(second.body).toEqual(first.body);
    expect(first.headers.get('idempotency-replayed')).toBeNull();
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    expect(await create('one', 'another')).toMatchObject({ status: 422, body: { code: 'idempotency_key_reused' } });
  });

  test.each(['x'.repeat(256), 'two words', ''])('is refused as "%s"', async (key) => {
    expect(await create(key)).toMatchObject({
      status: 400,
      body: {
        code: 'idempotency_key_invalid',
        message: 'Idempotency-Key must have 1 to 255 visible ASCII characters, without spaces.',
      },
    });
  });

  test('executes one of many concurrent requests, over two processes', async () => {
    await using second = await startHub({}, hub.database, patientDatabase);
    const id = await workflow();
    const answers = await Promise.all(
      Array.from({ length: 50 }, (_value, index) =>
        post(`/v1/automations/workflows/${id}/run`, 'two', {}, { url: (index % 2 === 0 ? hub : second).url }),
      ),
    );
    expectOnce(answers, ({ body }) => body['runId']);
    expect(await runsOf(id)).toHaveLength(1);
  });

  test('can be used again after a rejected request, which changed nothing', async () => {
    expect((await create('three', '')).status).toBe(400);
    expect((await create('three')).status).toBe(200);
    const id = await workflow();
    await workspace.api.call('updateAutomationWorkflow', { params: { id }, body: { active: false } });
    expect((await post(`/v1/automations/workflows/${id}/run`, 'four', {})).status).toBe(400);
    await workspace.api.call('updateAutomationWorkflow', { params: { id }, body: { active: true } });
    expect((await post(`/v1/automations/workflows/${id}/run`, 'four', {})).status).toBe(200);
    expect(await runsOf(id)).toHaveLength(1);
  });

  test('applies to the inbound hook for webhook tokens and API keys, separately for each caller', async () => {
    const token = 'a-webhook-token-of-this-test';
    const id = await workflow({ schemaVersion: 1, type: 'webhook', webhook: { token } });
    const hook = (headers: Record<string, string>, payload: unknown = { n: 1 }) =>
      send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
        headers: { 'idempotency-key': 'hook', ...headers },
        body: { workflowId: id, payload },
      });
    const byToken = { 'x-service-automation-token': token };
    expectOnce(await Promise.all(Array.from({ length: 20 }, () => hook(byToken))), ({ body }) => body['runId']);
    expect(await runsOf(id)).toHaveLength(1);
    const again = await hook(byToken);
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([200, 'true']);
    expect((await hook(byToken, { n: 2 })).status).toBe(422);
    const byKey = await hook({ 'x-api-key': workspace.key });
    expect((await hook({ 'x-api-key': workspace.key })).body['runId']).toBe(byKey.body['runId']);
    expect(await runsOf(id)).toHaveLength(2);
  });

  test('immediately starts the run in its response', async () => {
    const id = await workflow();
    const { body } = await post(`/v1/automations/workflows/${id}/run`, 'five', {});
    const run = await settledRun(workspace.api, body['runId'] as string);
    expect(run.status).toBe('succeeded');
  });

  test('stores the result of an operation with several transactions, such as a cancellation and its read', async () => {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'w', stepsJson: [{ type: 'approval', title: 't', message: 'm' }] } as never,
    });
    const { runId } = (await workspace.api.call('runAutomationWorkflow', { params: { id } })) as { runId: string };
    await settledRun(workspace.api, runId);
    const [first, second] = [
      await post(`/v1/automations/runs/${runId}/cancel`, 'six', undefined),
      await post(`/v1/automations/runs/${runId}/cancel`, 'six', undefined),
    ];
    expect(first.body).toMatchObject({ id: runId, status: 'cancelled' });
    expect(second.body).toEqual(first.body);
    expect((await post(`/v1/automations/runs/${runId}/cancel`, 'seven', undefined)).status).toBe(409);
  });

  test('never replays a rate-limited request or an internal error', async () => {
    const own = await hub.workspace();
    await using limited = await startHub({ RATE_LIMIT_PER_MINUTE: '1' }, hub.database);
    const body = { name: 'w', stepsJson: [{ type: 'log', message: 'x' }] };
    await avoidPeriodEnd(minuteMs);
    await send(limited.url, 'GET', '/v1/automations/workflows', { headers: { 'x-api-key': own.key } });
    expect((await post('/v1/automations/workflows', 'eight', body, { apiKey: own.key, url: limited.url })).status).toBe(
      429,
    );
    const acceptAgain = await refuseWorkflowVersionsNamed(hub.database, 'broken');
    try {
      expect(
        (await post('/v1/automations/workflows', 'nine', { ...body, name: 'broken' }, { apiKey: own.key })).status,
      ).toBe(500);
    } finally {
      await acceptAgain();
    }
    expect(
      (await post('/v1/automations/workflows', 'nine', { ...body, name: 'broken' }, { apiKey: own.key })).status,
    ).toBe(200);
    expect((await post('/v1/automations/workflows', 'eight', body, { apiKey: own.key })).status).toBe(200);
    expect((await own.api.call('listAutomationWorkflows', {})).data).toHaveLength(2);
  });

  test('encrypts the secrets of a stored response, and still replays it', async () => {
    const first = await post('/v1/automations/nodes', 'ten', {});
    const { pairingCode } = first.body as { pairingCode: string };
    expect(pairingCode).toMatch(/\w{4}-\w{4}/);
    const rows = await hub.database.query<{ text: string }>(
      'select row_to_json(k)::text as text from idempotency_keys k',
    );
    expect(rows.some(({ text }) => text.includes(pairingCode))).toBe(false);
    expect((await post('/v1/automations/nodes', 'ten', {})).body).toEqual(first.body);
  });

  test('replays secrets that are shown once with Cache-Control: no-store', async () => {
    const { tenantId, jwt, email, password, keys } = await hub.workspace();
    const asked: string[] = [];
    const ask = async (id: string, field: string, body: unknown, token?: string, ids: Record<string, string> = {}) => {
      const operation = operations.find((each) => each.id === id) as Operation;
      const answers: Answer[] = [];
      for (let time = 0; time < 2; time += 1)
        answers.push(
          await send(hub.url, 'POST', pathOf(operation, { tenantId, ...ids }), {
            headers: { 'idempotency-key': id, ...(token === undefined ? {} : { authorization: `Bearer ${token}` }) },
            ...(body === undefined ? {} : { body }),
          }),
        );
      const replayed = allowsCaller(operation, 'token', 'session') ? 'true' : null;
      expect([
        id,
        answers.map(({ headers }) => [headers.get('cache-control'), headers.get('idempotency-replayed')]),
      ]).toEqual([
        id,
        [
          ['no-store', null],
          ['no-store', replayed],
        ],
      ]);
      expect([id, Object.keys(answers[0]?.body ?? {})]).toEqual([id, expect.arrayContaining([field])]);
      asked.push(id);
      return answers[0]?.body as Record<string, string>;
    };
    await ask('signUp', 'token', { email: 'once@example.org', password, workspaceName: 'once' });
    await ask('logIn', 'token', { email, password });
    await ask('redeemSignInLink', 'token', { code: await hub.app.identity.createSignInCode('once') });
    const key = { name: 'k', product: 'ai', environment: 'live', permissions: ['ai:invoke'] };
    await ask('createApiToken', 'key', key, jwt);
    const address = { url: 'https://example.org/', events: ['message.created'] };
    const webhook = await ask('createWebhook', 'secret', address, jwt);
    await ask('rotateWebhookSecret', 'secret', {}, jwt, { id: webhook['id'] as string });
    const connection = await ask('createCallConnection', 'secret', { provider: 'kamailio', name: 'k' }, jwt);
    await ask('rotateCallConnection', 'secret', {}, jwt, { id: connection['id'] as string });
    await ask('optIntoHostedSip', 'credentials', undefined, jwt);
    const { pairingCode } = await ask('createAutomationNode', 'pairingCode', {}, keys.automations);
    const device = { name: 'x', platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1', capabilities: [] };
    await ask('claimAutomationNode', 'deviceSecret', { pairingCode, device });
    const { siteKey, visitorToken } = await ask('createChatSession', 'visitorToken', { externalId: 'once' }, keys.chat);
    const visitor = await ask('openVisitorSession', 'token', { siteKey, token: visitorToken });
    await ask('renewVisitorSession', 'token', undefined, visitor['token']);
    const shown = /"(secret|password|key|visitorToken|pairingCode|deviceSecret|credentials)":\{/;
    const showing = operations.filter(({ method, response }) => {
      const schema = JSON.stringify(z.toJSONSchema(response, { unrepresentable: 'any', io: 'output' }));
      return method === 'POST' && shown.test(schema);
    });
    // Their field `key` is not an API key, and opting out returns no credentials.
    const others = ['createAutomationSession', 'optOutOfHostedSip'];
    expect(showing.map(({ id }) => id).filter((id) => !asked.includes(id))).toEqual(others);
  });

  test.each([
    ['claimed', null],
    ['performed', null],
    ['written', null],
    ['committed', 'true'],
  ])('executes the request once although the process is killed when the request is %s', async (stage, replayed) => {
    const home = await mkdtemp(join(tmpdir(), 'outrigger-idempotency-'));
    onTestFinished(() => rm(home, { recursive: true, force: true }));
    const dying = await startHubProcess(
      {
        OUTRIGGER_HOME: home,
        PORT: '0',
        DATABASE_URL: hub.database.url,
        SECRET_KEY: 'ab'.repeat(32),
        DIE_AT: stage,
        NODE_OPTIONS: `--import=${new URL('../fixtures/die-during-request.ts', import.meta.url).href}`,
      },
      ['--role', 'api'],
    );
    const id = await workflow();
    const run = (url: string) => post(`/v1/automations/workflows/${id}/run`, `dies-${stage}`, {}, { url });
    await expect(run(dying.url)).rejects.toThrow();
    await until(
      () => dying.child.signalCode === 'SIGKILL',
      () => 'the process lives',
    );
    expect(await runsOf(id)).toHaveLength(stage === 'committed' ? 1 : 0);
    let answer = await run(hub.url);
    // The database notices the killed process a moment later.
    await until(
      async () => answer.status !== 409 || (answer = await run(hub.url)).status !== 409,
      () => JSON.stringify(answer.body),
    );
    expect([answer.status, answer.headers.get('idempotency-replayed')]).toEqual([200, replayed]);
    const runs = await runsOf(id);
    expect(runs.map((row) => row.id)).toEqual([answer.body['runId']]);
    const done = await settledRun(workspace.api, answer.body['runId'] as string);
    expect(done.status).toBe('succeeded');
  });
});
