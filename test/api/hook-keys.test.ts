import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { storeHookKeyWithoutScope } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

let count = 0;
/** Creates a workflow with its own webhook token. */
async function createHook(events?: string[]): Promise<{ id: string; token: string }> {
  count += 1;
  const token = `token-of-a-webhook-${process.hrtime.bigint()}-${count}`;
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: {
      name: 'hooked',
      stepsJson: [{ type: 'log', message: 'x' }],
      triggerJson: { type: 'webhook', webhook: { token, ...(events === undefined ? {} : { events }) } },
    } as never,
  });
  return { id, token };
}

async function call(credential: { token: string } | { key: string }, body: object) {
  const headers: Record<string, string> =
    'token' in credential
      ? { 'x-service-automation-token': credential.token }
      : { authorization: `Bearer ${credential.key}` };
  return send(hub.url, 'POST', '/v1/automations/hooks/inbound', { headers, body });
}

const runsOf = async (workflowId: string) =>
  (await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data.map(({ id }) => id);

describe('an idempotencyKey of the hook', () => {
  const idempotencyKey = 'order-42';

  test('belongs to the workflow: the same key starts another workflow, and reveals nothing of the first run', async () => {
    const [first, second] = [await createHook(), await createHook()];
    const started = await call(first, { workflowId: first.id, idempotencyKey });
    const other = await call(second, { workflowId: second.id, idempotencyKey });
    expect([started.status, other.status]).toEqual([200, 200]);
    expect(other.body['duplicate']).toBeUndefined();
    expect(await runsOf(second.id)).toEqual([other.body['runId']]);
    for (const credential of [first, { key: workspace.key }])
      expect((await call(credential, { workflowId: first.id, idempotencyKey })).body).toMatchObject({
        runId: started.body['runId'],
        duplicate: true,
      });
    expect(await runsOf(first.id)).toEqual([started.body['runId']]);
    expect((await call(second, { workflowId: first.id, idempotencyKey })).body).toMatchObject({
      code: 'webhook_token_mismatch',
    });
  });

  test('belongs to the credential and the event for calls by event alone', async () => {
    const [first, second] = [await createHook(), await createHook()];
    const other = { key: (await workspace.createKey()).key };
    const own = { key: workspace.key };
    const answers = [
      await call(own, { event: 'order.paid', idempotencyKey }),
      await call(own, { event: 'order.sent', idempotencyKey }),
      await call(other, { event: 'order.paid', idempotencyKey }),
      await call(first, { event: 'order.paid', idempotencyKey }),
      await call(second, { event: 'order.paid', idempotencyKey }),
    ];
    expect(answers.map(({ body }) => body['duplicate'])).toEqual(answers.map(() => undefined));
    expect(await runsOf(first.id)).toHaveLength(4);
    expect((await call(own, { event: 'order.paid', idempotencyKey })).body).toMatchObject({
      runId: answers[0]?.body['runId'],
      runIds: answers[0]?.body['runIds'],
      duplicate: true,
    });
    expect(await runsOf(first.id)).toHaveLength(4);
  });

  test('starts one run for concurrent calls', async () => {
    const hook = await createHook();
    const answers = await Promise.all(
      Array.from({ length: 8 }, async () => call(hook, { workflowId: hook.id, idempotencyKey })),
    );
    expect(new Set(answers.map(({ body }) => body['runId'])).size).toBe(1);
    expect(answers.filter(({ body }) => body['duplicate'] === undefined)).toHaveLength(1);
    expect(await runsOf(hook.id)).toHaveLength(1);
  });

  test('of an earlier version of the hub still returns its run, only for the workflow of this run', async () => {
    const [first, second] = [await createHook(), await createHook()];
    const { runId } = (await call(first, { workflowId: first.id, idempotencyKey: 'new' })).body;
    // Rows of earlier versions have no scope.
    await storeHookKeyWithoutScope(hub.database, runId as string, 'old');
    expect((await call(first, { workflowId: first.id, idempotencyKey: 'old' })).body).toMatchObject({
      runId,
      duplicate: true,
    });
    const other = await call(second, { workflowId: second.id, idempotencyKey: 'old' });
    expect(other.body['duplicate']).toBeUndefined();
    expect(await runsOf(second.id)).toEqual([other.body['runId']]);
  });
});

describe('an event of the hook', () => {
  test('starts the workflows that name it and those that name no event', async () => {
    const paid = await createHook(['order.paid', 'order.refunded']);
    const sent = await createHook(['order.sent']);
    const any = await createHook();
    expect((await call({ key: workspace.key }, { event: 'order.paid' })).body['runIds']).toHaveLength(2);
    expect([await runsOf(paid.id), await runsOf(sent.id), await runsOf(any.id)].map((ids) => ids.length)).toEqual([
      1, 0, 1,
    ]);
  });

  test('that a token does not accept starts nothing, also directly after an accepted one', async () => {
    const hook = await createHook(['order.paid']);
    for (let round = 0; round < 3; round += 1) {
      expect((await call(hook, { event: 'order.paid' })).status).toBe(200);
      expect((await call(hook, { event: 'order.sent' })).body).toMatchObject({ statusCode: 404, code: 'not_found' });
    }
    expect(await runsOf(hook.id)).toHaveLength(3);
    // A call with a workflow id starts that workflow, whatever its event.
    expect((await call(hook, { workflowId: hook.id, event: 'order.sent' })).status).toBe(200);
  });

  test('is rejected if a trigger names no event or an empty one', async () => {
    for (const events of [[], ['']])
      expect(
        (
          await send(hub.url, 'POST', '/v1/automations/workflows', {
            headers: { authorization: `Bearer ${workspace.key}` },
            body: {
              name: 'w',
              stepsJson: [{ type: 'log', message: 'x' }],
              triggerJson: { type: 'webhook', webhook: { token: 'a-token-of-a-webhook-x', events } },
            },
          })
        ).status,
      ).toBe(400);
  });
});
