import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Step } from '../../shared/contract/automations/steps.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { ApiError } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { keptConnections } from '../fixtures/kept-connections.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { expireApprovals } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
const received: { headers: Record<string, unknown>; body: string }[] = [];
let answerStatus = 200;
/** Number of requests that get 503 first. */
let refusals = 0;
let silent = false;
const receiver = createServer(keptConnections, (request, response) => {
  let body = '';
  request.on('data', (chunk: Buffer) => {
    body += chunk.toString();
  });
  request.on('end', () => {
    received.push({ headers: request.headers, body });
    if (silent) return;
    const status = refusals > 0 ? 503 : answerStatus;
    refusals = Math.max(0, refusals - 1);
    response.writeHead(status, { 'content-type': 'application/json' }).end('{"thanks":true}');
  });
});
let receiverUrl: string;

beforeAll(async () => {
  await new Promise<void>((done) => receiver.listen(0, '127.0.0.1', done));
  const { port } = receiver.address() as AddressInfo;
  receiverUrl = `http://127.0.0.1:${port}`;
  hub = await startHub({ EGRESS_ALLOW_HOSTS: `127.0.0.1:${port}` });
  workspace = await hub.workspace();
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  receiver.closeAllConnections();
  receiver.close();
});

type StepInput = Record<string, unknown> & { type: Step['type'] };

async function create(steps: StepInput[], extra: Record<string, unknown> = {}) {
  return workspace.api.call('createAutomationWorkflow', {
    body: { name: 'test', stepsJson: steps, ...extra } as never,
  });
}

async function runSteps(
  steps: StepInput[],
  body: { context?: string; payload?: Record<string, unknown> } = {},
  api = workspace.api,
) {
  const { id } = await create(steps);
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id }, body }));
  return settledRun(workspace.api, runId);
}

async function refused(promise: Promise<unknown>): Promise<ApiError> {
  const error = await promise.then(
    () => new Error('it was not refused'),
    (caught: unknown) => caught,
  );
  expect(error).toBeInstanceOf(ApiError);
  return error as ApiError;
}

describe('workflows', () => {
  test('are created, listed, updated to new versions and deleted, on both paths', async () => {
    const created = await create([{ type: 'log', message: 'one' }]);
    expect(created).toMatchObject({
      version: 1,
      active: true,
      triggerJson: { type: 'manual', schemaVersion: 1 },
      nextRunAt: null,
    });
    const alias = await workspace.api.call('createAutomationAlias', {
      body: { name: 'alias', stepsJson: [{ type: 'log', message: 'x' }] },
    });
    const listed = await workspace.api.call('listAutomationsAlias', {});
    expect(listed.data.map(({ id }) => id)).toEqual(expect.arrayContaining([created.id, alias.id]));
    const updated = await workspace.api.call('updateAutomationWorkflow', {
      params: { id: created.id },
      body: { name: 'renamed' },
    });
    expect(updated).toMatchObject({ version: 2, name: 'renamed', stepsJson: [{ type: 'log', message: 'one' }] });
    expect(await workspace.api.call('deleteAutomationWorkflow', { params: { id: created.id } })).toEqual({
      id: created.id,
      deleted: true,
    });
    expect(
      (
        await refused(
          workspace.api.call('updateAutomationWorkflow', { params: { id: created.id }, body: { name: 'x' } }),
        )
      ).status,
    ).toBe(404);
  });

  test('are listed newest first with an opaque cursor, and reject a cursor of another list', async () => {
    const own = await hub.workspace();
    const ids: string[] = [];
    for (let index = 0; index < 5; index += 1) {
      const { id } = await own.api.call('createAutomationWorkflow', {
        body: { name: `w${index}`, stepsJson: [{ type: 'log', message: 'x' }] },
      });
      ids.unshift(id);
    }
    const first = await own.api.call('listAutomationWorkflows', { query: { limit: 3 } });
    const second = await own.api.call('listAutomationWorkflows', {
      query: { limit: 3, cursor: first.meta.nextCursor as string },
    });
    expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids);
    expect(second.meta.nextCursor).toBeNull();
    expect(
      await refused(
        workspace.api.call('listAutomationWorkflows', { query: { cursor: first.meta.nextCursor as string } }),
      ),
    ).toMatchObject({ status: 400, code: 'invalid_cursor' });
    expect(
      await refused(own.api.call('listAutomationRuns', { query: { cursor: first.meta.nextCursor as string } })),
    ).toMatchObject({ status: 400, code: 'invalid_cursor' });
  });

  test('are rejected on save with the path of every step that could not run', async () => {
    const error = await refused(
      create([
        { type: 'skill', skillId: 'webhook.deliver', input: { body: 1 } },
        { type: 'skill', skillId: 'no.such', input: {} },
        { type: 'log', message: '{{nobody.knows}}' },
        { type: 'log', message: '{{steps.later.output}}' },
        { type: 'log', message: '{{payload.open' },
        { type: 'skill', skillId: 'node.ping', input: { nodeId: '{{payload.node}}' } },
      ]),
    );
    expect(error).toMatchObject({ status: 400, code: 'workflow_invalid' });
    expect(error.details.map(({ path }) => path)).toEqual([
      'stepsJson[0].input.url',
      'stepsJson[1].skillId',
      'stepsJson[2].message',
      'stepsJson[3].message',
      'stepsJson[4].message',
    ]);
  });

  test('are rejected without steps, when inactive, and when their product is not entitled', async () => {
    expect(await refused(create([]))).toMatchObject({ status: 400, details: [{ path: 'body.stepsJson' }] });
    const { id } = await create([{ type: 'log', message: 'x' }], { active: false });
    expect(await refused(workspace.api.call('runAutomationWorkflow', { params: { id }, body: {} }))).toMatchObject({
      status: 400,
      code: 'workflow_inactive',
    });
  });

  test('store their webhook token encrypted and show it to their workspace', async () => {
    const token = 'a-very-secret-webhook-token';
    const { id, triggerJson } = await create([{ type: 'log', message: 'x' }], {
      triggerJson: { type: 'webhook', webhook: { token } },
    });
    expect(triggerJson).toEqual({ schemaVersion: 1, type: 'webhook', webhook: { token } });
    const [row] = await hub.database.query<{ text: string }>(
      'select row_to_json(w)::text as text from workflows w where id = $1',
      [id],
    );
    expect(row?.text).not.toContain(token);
  });
});

describe('runs', () => {
  test('resolve templates with their types, and succeed', async () => {
    const run = await runSteps(
      [
        { type: 'skill', id: 'save', skillId: 'memory.write', input: { key: 'k1', value: '{{payload.items}}' } },
        { type: 'skill', id: 'load', skillId: 'memory.read', input: { key: 'k1' } },
        { type: 'log', message: 'got {{steps.load.output.value.1}} of {{context}}; {{last.outputText}}' },
      ],
      { context: 'the shop', payload: { items: ['a', { b: 2 }] } },
    );
    expect(run).toMatchObject({
      status: 'succeeded',
      attempt: 1,
      error: null,
      environment: 'live',
      context: 'the shop',
    });
    expect(run.stepsResultJson[1]?.output).toEqual({ key: 'k1', value: ['a', { b: 2 }] });
    expect(run.stepsResultJson[2]?.outputText).toBe('got {"b":2} of the shop; {"key":"k1","value":["a",{"b":2}]}');
    const [line] = await hub.database.query<{ message: string }>('select message from run_logs where run_id = $1', [
      run.id,
    ]);
    expect(line?.message).toBe(run.stepsResultJson[2]?.outputText);
  });

  test('fail with the name of an unknown reference, and continue after a step with continueOnError', async () => {
    const failed = await runSteps([
      { type: 'log', message: '{{payload.missing.deep}}' },
      { type: 'log', message: 'never' },
    ]);
    expect(failed).toMatchObject({
      status: 'failed',
      error: {
        code: 'template_error',
        stepIndex: 0,
        message: expect.stringContaining('{{payload.missing.deep}}') as string,
      },
    });
    expect(failed.stepsResultJson[1]?.status).toBe('pending');
    const passed = await runSteps([
      { type: 'log', message: '{{payload.missing}}', continueOnError: true },
      { type: 'log', message: 'on' },
    ]);
    expect(passed.status).toBe('succeeded');
    expect(passed.stepsResultJson.map(({ status }) => status)).toEqual(['failed', 'succeeded']);
  });

  test('skip steps whose condition is false', async () => {
    const run = await runSteps(
      [
        { type: 'log', message: 'no', when: '{{payload.go}}' },
        { type: 'log', message: 'yes', when: '{{payload.stay}}' },
      ],
      { payload: { go: false, stay: 'sure' } },
    );
    expect(run.stepsResultJson.map(({ status }) => status)).toEqual(['skipped', 'succeeded']);
  });

  test('send webhooks with one idempotency key for all attempts of one delivery, and retry with back-off', async () => {
    received.length = 0;
    refusals = 2;
    const { id } = await create([
      {
        type: 'skill',
        skillId: 'webhook.deliver',
        input: { url: receiverUrl, body: { n: '{{payload.n}}' }, headers: { 'x-mine': 'yes' } },
        retry: { maxAttempts: 3, backoffSeconds: 0.3, factor: 1 },
      },
    ]);
    const { runId } = startedRun(
      await workspace.api.call('runAutomationWorkflow', { params: { id }, body: { payload: { n: 7 } } }),
    );
    const run = await settledRun(workspace.api, runId);
    expect(run).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ output: { status: 200, body: { thanks: true } } }],
    });
    expect([run.stepsResultJson[0]?.attempts, received.length]).toEqual([3, 3]);
    expect(JSON.parse(received[0]?.body ?? '')).toEqual({ n: 7 });
    expect(received[0]?.headers['x-mine']).toBe('yes');
    expect(new Set(received.map(({ headers }) => headers['idempotency-key']))).toEqual(new Set([`${runId}-0`]));
  });

  test('end a step at its own time-out, and retry it only if the step declares a retry', async () => {
    silent = true;
    try {
      const run = await runSteps([
        {
          type: 'skill',
          skillId: 'webhook.deliver',
          input: { url: receiverUrl },
          timeoutSeconds: 0.3,
          retry: { maxAttempts: 2, backoffSeconds: 0 },
        },
      ]);
      expect(run).toMatchObject({ status: 'failed', error: { code: 'timeout' }, stepsResultJson: [{ attempts: 2 }] });
    } finally {
      silent = false;
    }
  });

  test('never send from the test environment, and record the simulated sends', async () => {
    received.length = 0;
    const { key } = await workspace.createKey({ environment: 'test' });
    const run = await runSteps(
      [{ type: 'skill', skillId: 'webhook.deliver', input: { url: receiverUrl, body: 1 } }],
      {},
      hub.client(key),
    );
    expect(run).toMatchObject({ status: 'succeeded', environment: 'test' });
    expect(received).toEqual([]);
    const rows = await hub.database.query<{ status: string }>('select status from messages where run_id = $1', [
      run.id,
    ]);
    expect(rows).toEqual([{ status: 'simulated' }]);
  });

  test.each([
    'https://127.0.0.1/',
    'https://localhost/',
    'https://169.254.169.254/latest',
    'https://[::1]/',
    'https://[::ffff:10.0.0.1]/',
    'https://2130706433/',
    'http://example.org/',
    'ftp://example.org/',
    'https://user:pw@example.org/',
    'nonsense',
  ])('refuse to call %s', async (url) => {
    const run = await runSteps([{ type: 'skill', skillId: 'webhook.deliver', input: { url } }]);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'egress_refused' } });
  });

  test('are listed with filters, and runs of another workspace or unknown runs are not found', async () => {
    const run = await runSteps([{ type: 'log', message: '{{payload.x}}' }]);
    const failed = await workspace.api.call('listAutomationRuns', {
      query: { status: 'failed', workflowId: run.workflowId },
    });
    expect(failed.data.map(({ id }) => id)).toEqual([run.id]);
    const later = await workspace.api.call('listAutomationRuns', {
      query: { from: new Date(Date.now() + 60_000).toISOString() },
    });
    expect(later.data).toEqual([]);
    const other = await hub.workspace();
    expect((await refused(other.api.call('getAutomationRun', { params: { id: run.id } }))).status).toBe(404);
    expect((await refused(other.api.call('cancelAutomationRun', { params: { id: run.id } }))).status).toBe(404);
  });

  test('fail with a message of the hub when a template gives a value of the wrong type', async () => {
    const run = await runSteps([{ type: 'skill', skillId: 'log.write', input: { message: '{{payload}}' } }]);
    expect(run).toMatchObject({ status: 'failed', error: { code: 'invalid_input' } });
    expect(run.error?.message).toContain('input.message must be a string');
  });

  test('are queued in the response to a retry, also if a worker has claimed the new run', async () => {
    const failed = await Promise.all(
      Array.from({ length: 30 }, () => runSteps([{ type: 'log', message: '{{payload.x}}' }])),
    );
    // Many concurrent requests, so that workers are faster than some of the responses.
    const retried = await Promise.all(
      failed.map(({ id }) => workspace.api.call('retryAutomationRun', { params: { id } })),
    );
    for (const run of retried) {
      expect(run).toMatchObject({ status: 'queued', startedAt: null, attempt: 2 });
      expect(run.stepsResultJson.map(({ status }) => status)).toEqual(['pending']);
    }
  });

  test('restart once at the first step that did not succeed, and keep earlier outputs', async () => {
    const { id } = await create([
      { type: 'skill', skillId: 'memory.write', input: { key: 'retry', value: 1 } },
      { type: 'skill', skillId: 'webhook.deliver', input: { url: receiverUrl } },
      { type: 'log', message: 'done' },
    ]);
    answerStatus = 500;
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    const first = await settledRun(workspace.api, runId);
    expect(first).toMatchObject({ status: 'failed', error: { code: 'skill_failed', stepIndex: 1 } });
    answerStatus = 200;
    const [one, two] = await Promise.allSettled([
      workspace.api.call('retryAutomationRun', { params: { id: runId } }),
      workspace.api.call('retryAutomationRun', { params: { id: runId } }),
    ]);
    const results = [one, two].map((settled) => settled.status);
    expect(results.toSorted()).toEqual(['fulfilled', 'rejected']);
    const retried = [one, two].find((settled) => settled.status === 'fulfilled') as PromiseFulfilledResult<{
      id: string;
      flowId: string;
    }>;
    const second = await settledRun(workspace.api, retried.value.id);
    expect(second).toMatchObject({ status: 'succeeded', attempt: 2, flowId: first.flowId });
    expect(second.stepsResultJson[0]?.finishedAt).toBe(first.stepsResultJson[0]?.finishedAt);
    expect(await refused(workspace.api.call('retryAutomationRun', { params: { id: second.id } }))).toMatchObject({
      status: 409,
      code: 'run_not_retryable',
    });
  });
});

describe('approvals', () => {
  async function untilWaiting(steps: StepInput[]) {
    const run = await runSteps(steps);
    expect(run.status).toBe('waiting_approval');
    const { data } = await workspace.api.call('listAutomationApprovals', {
      query: { status: 'pending', runId: run.id },
    });
    expect(data).toHaveLength(1);
    return { run, approval: data[0] as (typeof data)[number] };
  }
  const settled = (id: string) => settledRun(workspace.api, id);

  test('pause a run until a member decides, exactly once', async () => {
    const { run, approval } = await untilWaiting(
      [{ type: 'approval', title: 'Ship {{payload.what}}?', continueOnError: true }].map((step) => ({
        ...step,
        title: 'Ship it?',
      })) as StepInput[],
    );
    expect(approval).toMatchObject({ kind: 'step', title: 'Ship it?', stepIndex: 0 });
    const decide = (decision: 'approved' | 'rejected') =>
      workspace.api.call('decideAutomationApproval', { params: { id: approval.id }, body: { decision, note: 'fine' } });
    const outcomes = await Promise.allSettled([decide('approved'), decide('approved')]);
    expect(outcomes.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected']);
    expect(await settled(run.id)).toMatchObject({
      status: 'succeeded',
      stepsResultJson: [{ output: { decision: 'approved', note: 'fine' } }],
    });
    expect(await refused(decide('rejected'))).toMatchObject({ status: 409, code: 'approval_already_decided' });
  });

  test('fail the run on a rejection, and when no member decides in time', async () => {
    const { run, approval } = await untilWaiting([{ type: 'approval', title: 'ok?' }]);
    await workspace.api.call('decideAutomationApproval', {
      params: { id: approval.id },
      body: { decision: 'rejected', note: 'no' },
    });
    expect(await settled(run.id)).toMatchObject({
      status: 'failed',
      error: { code: 'approval_rejected', message: expect.stringContaining('no') as string },
    });
    const late = await untilWaiting([{ type: 'approval', title: 'ok?', expiresInSeconds: 3_600 }]);
    await expireApprovals(hub.database, { approvalId: late.approval.id });
    await expect.poll(async () => (await settled(late.run.id)).status).toBe('failed');
    expect(await settled(late.run.id)).toMatchObject({ error: { code: 'approval_expired' } });
  });

  test('continue the run automatically if their time-out approves', async () => {
    const { run, approval } = await untilWaiting([
      { type: 'approval', title: 'ok?', expiresInSeconds: 3_600, onTimeout: 'approve' },
      { type: 'log', message: 'on' },
    ]);
    await expireApprovals(hub.database, { approvalId: approval.id });
    await expect.poll(async () => (await settled(run.id)).status).toBe('succeeded');
  });

  test('end when their run is cancelled', async () => {
    const { run, approval } = await untilWaiting([{ type: 'approval', title: 'ok?' }]);
    expect(await workspace.api.call('cancelAutomationRun', { params: { id: run.id } })).toMatchObject({
      status: 'cancelled',
    });
    expect(
      await refused(
        workspace.api.call('decideAutomationApproval', { params: { id: approval.id }, body: { decision: 'approved' } }),
      ),
    ).toMatchObject({ status: 409 });
    expect(await refused(workspace.api.call('cancelAutomationRun', { params: { id: run.id } }))).toMatchObject({
      status: 409,
      code: 'run_not_cancellable',
    });
    const retried = await workspace.api.call('retryAutomationRun', { params: { id: run.id } });
    expect(retried).toMatchObject({ attempt: 2, flowId: run.flowId });
  });
});

describe('the inbound hook', () => {
  const token = 'hook-token-0123456789';
  const call = (headers: Record<string, string>, body: Record<string, unknown>) =>
    hub.client().call('inboundAutomationHook', { body: body as never }, { headers });
  const byToken = { 'x-service-automation-token': token };

  test('starts workflows by key and id, by token and id, and by event alone', async () => {
    const own = await hub.workspace();
    const one = await own.api.call('createAutomationWorkflow', {
      body: {
        name: 'one',
        triggerJson: { type: 'webhook', webhook: { token } },
        stepsJson: [{ type: 'log', message: '{{trigger.event}}' }],
      },
    });
    const manual = await own.api.call('createAutomationWorkflow', {
      body: { name: 'manual', stepsJson: [{ type: 'log', message: 'x' }] },
    });
    const withKey = { 'x-api-key': own.key };
    expect(await call(withKey, { workflowId: manual.id })).toMatchObject({ status: 'queued' });
    expect(await call(byToken, { workflowId: one.id, event: 'e' })).toMatchObject({ status: 'queued' });
    const { runId } = await call(byToken, { event: 'order.created' });
    const run = await settledRun(own.api, runId);
    expect(run).toMatchObject({
      workflowId: one.id,
      status: 'succeeded',
      trigger: { type: 'webhook', event: 'order.created' },
    });
    await own.api.call('createAutomationWorkflow', {
      body: {
        name: 'two',
        triggerJson: { type: 'webhook', webhook: { token: `${token}-2` } },
        stepsJson: [{ type: 'log', message: 'two' }],
      },
    });
    expect((await call(withKey, { event: 'e' })).runIds).toHaveLength(2);
    expect(await refused(call(byToken, { workflowId: manual.id }))).toMatchObject({
      status: 401,
      code: 'webhook_token_mismatch',
    });
    expect(await refused(call({ 'x-service-automation-token': 'wrong' }, { event: 'e' }))).toMatchObject({
      status: 401,
    });
    expect(await refused(call({}, { event: 'e' }))).toMatchObject({ status: 401 });
    expect(await refused(call(byToken, {}))).toMatchObject({ status: 400 });
    await own.api.call('updateAutomationWorkflow', { params: { id: one.id }, body: { active: false } });
    expect(await refused(call(byToken, { workflowId: one.id }))).toMatchObject({
      status: 400,
      code: 'workflow_inactive',
    });
  });

  test('returns the same run for the same idempotencyKey, also for concurrent calls', async () => {
    const own = await hub.workspace();
    await own.api.call('createAutomationWorkflow', {
      body: {
        name: 'one',
        triggerJson: { type: 'webhook', webhook: { token: `${token}-same` } },
        stepsJson: [{ type: 'log', message: 'x' }],
      },
    });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () =>
        call({ 'x-service-automation-token': `${token}-same` }, { event: 'e', idempotencyKey: 'k' }),
      ),
    );
    expect(new Set(answers.map(({ runId }) => runId)).size).toBe(1);
    expect(answers.filter(({ duplicate }) => duplicate !== true)).toHaveLength(1);
    expect((await own.api.call('listAutomationRuns', {})).data).toHaveLength(1);
  });
});
