import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';

let hub: TestHub;
let mine: TestWorkspace;
let otherWorkspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', HOOK_RATE_LIMIT_PER_MINUTE: '100000' });
  mine = await hub.workspace();
  otherWorkspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

const create = async (on: TestWorkspace, token: string | null) => {
  const triggerJson =
    token === null
      ? { schemaVersion: 1 as const, type: 'manual' as const }
      : { schemaVersion: 1 as const, type: 'webhook' as const, webhook: { token } };
  return (
    await on.api.call('createAutomationWorkflow', {
      body: { name: 'hook', triggerJson, stepsJson: [{ type: 'log', message: 'x' }] as never },
    })
  ).id;
};
const call = (token: string, body: unknown) =>
  send(hub.url, 'POST', '/v1/automations/hooks/inbound', { headers: { 'x-service-automation-token': token }, body });
const workflowOf = async (on: TestWorkspace, runId: unknown) =>
  (await on.api.call('getAutomationRun', { params: { id: String(runId) } })).workflowId;

describe('a webhook token that another workspace saves as well', () => {
  test('continues to start the workflow of its first workspace, and starts the other workflow only by id', async () => {
    const token = 'token-that-two-workspaces-have';
    // The workflow of the other workspace is older, but uses the token later.
    const theirs = await create(otherWorkspace, null);
    const own = await create(mine, token);
    await otherWorkspace.api.call('updateAutomationWorkflow', {
      params: { id: theirs },
      body: { triggerJson: { schemaVersion: 1, type: 'webhook', webhook: { token } } },
    });
    expect(await workflowOf(mine, (await call(token, { event: 'x' })).body['runId'])).toBe(own);
    expect(await workflowOf(mine, (await call(token, { workflowId: own })).body['runId'])).toBe(own);
    expect(await workflowOf(otherWorkspace, (await call(token, { workflowId: theirs })).body['runId'])).toBe(theirs);
    // Other changes of the workflow, including deactivation, keep the token.
    await mine.api.call('updateAutomationWorkflow', { params: { id: own }, body: { name: 'renamed', active: false } });
    expect((await call(token, { event: 'x' })).body).toMatchObject({ statusCode: 401, code: 'webhook_token_mismatch' });
    await mine.api.call('updateAutomationWorkflow', { params: { id: own }, body: { active: true } });
    expect(await workflowOf(mine, (await call(token, { event: 'x' })).body['runId'])).toBe(own);
    await mine.api.call('deleteAutomationWorkflow', { params: { id: own } });
    expect(await workflowOf(otherWorkspace, (await call(token, { event: 'x' })).body['runId'])).toBe(theirs);
  });

  test('stays with the first workspace while any of its workflows has it, independent of their age', async () => {
    const token = 'token-that-moves-between-workflows';
    const first = await create(mine, token);
    await create(otherWorkspace, token);
    const second = await create(mine, token);
    await mine.api.call('deleteAutomationWorkflow', { params: { id: first } });
    expect(await workflowOf(mine, (await call(token, { event: 'x' })).body['runId'])).toBe(second);
  });

  test('starts at most as many workflows as one call allows, which is reported on save', async () => {
    const token = 'token-of-very-many-workflows';
    await create(otherWorkspace, token);
    for (let made = 1; made < 100; made += 1) await create(otherWorkspace, token);
    await create(mine, token);
    expect((await call(token, { event: 'x' })).body['runIds']).toHaveLength(100);
    await expect(create(otherWorkspace, token)).rejects.toMatchObject({
      code: 'workflow_invalid',
      details: [{ path: 'body.triggerJson.webhook.token' }],
    });
    await create(otherWorkspace, 'another-token-of-the-stranger');
    expect(
      (
        await send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
          headers: { 'x-api-key': otherWorkspace.key },
          body: { event: 'x' },
        })
      ).body,
    ).toMatchObject({ statusCode: 409, code: 'conflict', message: expect.stringContaining('workflowId') as string });
  });
});

test('concurrent first runs of a sequence create one workflow', async () => {
  const { id } = await mine.api.call('createAutomationSequence', {
    body: { name: 'first', steps: [{ type: 'log', message: 'x' }] as never },
  });
  const runs = await Promise.all(
    Array.from({ length: 8 }, () => mine.api.call('runAutomationSequence', { params: { id }, body: {} })),
  );
  expect(new Set(runs.map(({ workflowId }) => workflowId)).size).toBe(1);
});

test('concurrent first messages to an agent create one workflow', async () => {
  const own = await hub.workspace();
  const { id: channelId } = await own.api.call('putAutomationChannel', {
    body: { provider: 'webhook', name: 'in', config: { inboundSecret: 'a secret of sixteen' } },
  });
  await own.api.call('createAutomationAgent', {
    body: { name: 'answers', systemPrompt: 'x', routeKeys: ['*'] } as never,
  });
  const answers = await Promise.all(
    Array.from({ length: 8 }, (_none, index) =>
      send(hub.url, 'POST', `/v1/automations/channels/${channelId}/inbound`, {
        headers: { 'x-service-automation-token': 'a secret of sixteen' },
        body: { text: 'hi', from: `somebody ${index}` },
      }),
    ),
  );
  expect(answers.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 200));
  const [row] = await hub.database.query<{ count: string }>(
    `select count(*) from workflows where tenant_id = $1 and origin->>'kind' = 'agent'`,
    [own.tenantId],
  );
  expect(Number(row?.count)).toBe(1);
});
