import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { expireApprovals } from '../fixtures/stage/automations.ts';
import { until } from '../fixtures/until.ts';

let hub: TestHub;
let workspace: TestWorkspace;

beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

const entitle = (entitlements: Record<string, boolean>) =>
  hub.client(adminKey).call('putEntitlements', { params: { tenantId: workspace.tenantId }, body: entitlements });
const create = async (steps: unknown[], triggerJson: unknown = { type: 'manual' }) =>
  (
    await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'entitled', stepsJson: steps as never, triggerJson: triggerJson as never },
    })
  ).id;
const run = async (id: string) =>
  startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id }, body: {} })).runId;
const countRuns = async () =>
  Number(
    (
      await hub.database.query<{ count: string }>('select count(*) from runs where tenant_id = $1', [
        workspace.tenantId,
      ])
    )[0]?.count,
  );
const log = { type: 'log', message: 'ran' };

describe('a workspace that lost the automations entitlement starts no run', () => {
  const token = 'a-token-of-this-test-alone';

  test.each([
    [
      'a webhook token with an id',
      async () => {
        const workflowId = await create([log], { type: 'webhook', webhook: { token } });
        return () =>
          send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
            headers: { 'x-service-automation-token': token },
            body: { workflowId },
          });
      },
    ],
    [
      'a webhook token with an event',
      async () => {
        await create([{ type: 'approval', title: 'Go?' }], { type: 'webhook', webhook: { token: `${token}-2` } });
        return () =>
          send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
            headers: { 'x-service-automation-token': `${token}-2` },
            body: { event: 'x' },
          });
      },
    ],
    [
      'a channel',
      async () => {
        await create([log], { type: 'channel', channel: {} });
        const { inboundPath } = await workspace.api.call('putAutomationChannel', {
          body: { provider: 'webhook', name: 'in', config: { inboundSecret: 'a secret of sixteen' } },
        });
        return () =>
          send(hub.url, 'POST', inboundPath, {
            headers: { 'x-service-automation-token': 'a secret of sixteen' },
            body: { text: 'hi' },
          });
      },
    ],
    [
      'an API key',
      async () => {
        const id = await create([log]);
        return () =>
          send(hub.url, 'POST', `/v1/automations/workflows/${id}/run`, {
            headers: { 'x-api-key': workspace.key },
            body: {},
          });
      },
    ],
    [
      'a person',
      async () => {
        const id = await create([log]);
        return () =>
          send(hub.url, 'POST', `/growth/automations/workflows/${id}/run`, {
            headers: { authorization: `Bearer ${workspace.jwt}` },
            body: {},
          });
      },
    ],
    [
      'a retry',
      async () => {
        const id = await run(await create([{ type: 'log', message: '{{payload.missing}}' }]));
        await settledRun(workspace.api, id);
        return () =>
          send(hub.url, 'POST', `/v1/automations/runs/${id}/retry`, {
            headers: { 'x-api-key': workspace.key },
            body: {},
          });
      },
    ],
    [
      'a replay',
      async () => {
        const id = await run(await create([log]));
        await settledRun(workspace.api, id);
        return () =>
          send(hub.url, 'POST', `/v1/automations/runs/${id}/replay`, {
            headers: { 'x-api-key': workspace.key },
            body: { fromStep: 0 },
          });
      },
    ],
  ] as const)('%s', async (_way, prepare) => {
    const call = await prepare();
    const before = await countRuns();
    await entitle({ automations: false });
    expect((await call()).body).toMatchObject({ statusCode: 403, code: 'product_not_entitled' });
    expect(await countRuns()).toBe(before);
    await entitle({ automations: true });
    expect((await call()).status).toBe(200);
  });

  test('and a run that waits for an approval fails at this step, without its error workflow', async () => {
    const onError = await create([log]);
    await workspace.api.call('putAutomationPolicy', { body: { errorWorkflowId: onError } as never });
    const runId = await run(
      await create([{ type: 'approval', title: 'Go?', onTimeout: 'approve', expiresInSeconds: 3_600 }, log]),
    );
    await settledRun(workspace.api, runId);
    await entitle({ automations: false });
    await expireApprovals(hub.database, { tenantId: workspace.tenantId });
    await until(
      async () =>
        (await hub.database.query<{ status: string }>('select status from runs where id = $1', [runId]))[0]?.status ===
        'failed',
      () => 'the run has not ended',
    );
    await entitle({ automations: true });
    expect(await workspace.api.call('getAutomationRun', { params: { id: runId } })).toMatchObject({
      error: { code: 'product_not_entitled' },
    });
    expect((await workspace.api.call('listAutomationRuns', { query: { workflowId: onError } })).data).toEqual([]);
  });
});

test('a run continues after another entitlement is removed, and fails at the step that needs it', async () => {
  const runId = await run(
    await create([
      { type: 'approval', title: 'Go?' },
      log,
      { type: 'skill', skillId: 'email.send', input: { to: ['a@example.org'], subject: 'x', text: 'y' } },
    ]),
  );
  await settledRun(workspace.api, runId);
  await entitle({ business_email: false });
  const [approval] = (await workspace.api.call('listAutomationApprovals', { query: { runId } })).data;
  await workspace.api.call('decideAutomationApproval', {
    params: { id: approval?.id as string },
    body: { decision: 'approved' },
  });
  const ended = await settledRun(workspace.api, runId);
  expect(ended).toMatchObject({
    status: 'failed',
    error: { code: 'product_not_entitled', stepIndex: 2 },
    stepsResultJson: [{}, { status: 'succeeded' }, {}],
  });
});
