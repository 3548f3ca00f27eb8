import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { operations } from '../../shared/contract/api.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { allowsCaller } from '../../shared/contract/define.ts';
import type { Operation } from '../../shared/contract/define.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, pathOf, send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
let workspace: TestWorkspace;
/** The JWT of a member with the role agent. */
let member: string;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' });
  workspace = await hub.workspace();
  const person = { email: `member.${process.hrtime.bigint()}@example.org`, password: 'correct horse battery' };
  await workspace.session.call('addMember', {
    params: { tenantId: workspace.tenantId },
    body: { ...person, role: 'agent' },
  });
  member = (await hub.client().call('logIn', { body: person })).token;
});
afterAll(() => hub[Symbol.asyncDispose]());

const shared = operations.filter((operation) => allowsCaller(operation, 'token') && allowsCaller(operation, 'session'));
const named = (list: readonly Operation[]) => list.map((operation) => [operation.id, operation] as const);
const call = (operation: Operation, headers: Record<string, string>) =>
  send(hub.url, operation.method, pathOf(operation, { tenantId: workspace.tenantId }), {
    headers,
    ...(operation.body === undefined || operation.bodyOptional === true ? {} : { body: {} }),
  });

describe('a user has the operations of API keys', () => {
  test('in Automations: every operation of API keys is also available to users', () => {
    expect(
      operations
        .filter(({ permission }) => permission === 'automations:manage')
        .filter((operation) => allowsCaller(operation, 'token') && !allowsCaller(operation, 'session'))
        .map(({ id }) => id),
    ).toEqual([]);
    expect(shared.length).toBeGreaterThan(55);
  });

  test.each(named(shared))(
    '%s is available to the lowest role that it names, and to no lower role',
    async (_id, operation) => {
      const answers = await Promise.all([
        call(operation, { authorization: `Bearer ${workspace.jwt}` }),
        call(operation, { authorization: `Bearer ${member}` }),
      ]);
      const refused = answers.map(({ status, body }) => status === 401 || body.code === 'role_required');
      expect(refused).toEqual([false, operation.role === 'admin']);
    },
  );

  test.each(named(shared))('%s rejects a caller without credentials and an invalid JWT', async (_id, operation) => {
    for (const headers of [
      {},
      { authorization: 'Bearer a.b.c' },
      { authorization: 'Bearer key_live_automations_x' },
      { cookie: 'outrigger_session=x' },
    ] as Record<string, string>[]) {
      expect((await call(operation, { ...headers, 'sec-fetch-site': 'same-origin' })).status).toBe(401);
    }
  });

  test('as the user: a run that they start or retry, and an approval that they decide, names them', async () => {
    const { id } = await workspace.session.call('createAutomationWorkflow', {
      body: { name: 'theirs', stepsJson: [{ type: 'approval', title: 'ok?' }] },
    });
    const { runId } = startedRun(await workspace.session.call('runAutomationWorkflow', { params: { id } }));
    await settledRun(workspace.session, runId);
    const [approval] = (await workspace.session.call('listAutomationApprovals', { query: { runId } })).data;
    const { decidedBy } = await hub
      .client(member)
      .call('decideAutomationApproval', { params: { id: approval?.id as string }, body: { decision: 'approved' } });
    expect(decidedBy).toMatch(/^user:/);
    const run = await settledRun(workspace.session, runId);
    expect(run).toMatchObject({ status: 'succeeded', environment: 'live' });
    const { data } = await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: { targetId: id },
    });
    expect(data.map(({ actor }) => actor).every((actor) => actor.startsWith('user:'))).toBe(true);
  });

  test('once per Idempotency-Key, which belongs to the user', async () => {
    const create = (jwt: string) =>
      send(hub.url, 'POST', '/v1/automations/workflows', {
        headers: { authorization: `Bearer ${jwt}`, 'idempotency-key': 'twice' },
        body: { name: 'once', stepsJson: [{ type: 'log', message: 'x' }] },
      });
    const [first, again, other] = [await create(workspace.jwt), await create(workspace.jwt), await create(member)];
    expect(again.body).toEqual(first.body);
    expect(other.body['id']).not.toBe(first.body['id']);
  });

  test('by cookie only from a page of this hub, for reads as well', async () => {
    const cookie = `outrigger_session=${workspace.jwt}`;
    expect((await send(hub.url, 'GET', '/v1/automations/runs', { headers: { cookie } })).status).toBe(200);
    const change = (headers: Record<string, string>) =>
      send(hub.url, 'POST', '/v1/automations/sessions', {
        headers: { cookie, ...headers },
        body: { scope: 'dm', key: 'x' },
      });
    expect((await change({ origin: hub.url })).status).toBe(200);
    for (const headers of [{}, { origin: 'https://evil.example' }, { origin: 'null' }] as Record<string, string>[]) {
      expect((await change(headers)).body).toMatchObject({ statusCode: 403, code: 'origin_not_allowed' });
    }
    // An API key takes precedence over the cookie.
    expect(
      (
        await send(hub.url, 'GET', '/v1/automations/runs', {
          headers: { cookie, 'x-api-key': 'key_live_automations_wrong' },
        })
      ).status,
    ).toBe(401);
  });

  test('only while the workspace is entitled to the product', async () => {
    const mine = await hub.workspace();
    await hub
      .client(adminKey)
      .call('putEntitlements', { params: { tenantId: mine.tenantId }, body: { automations: false } });
    const answer = await send(hub.url, 'GET', `/v1/automations/runs/${missingId}`, {
      headers: { authorization: `Bearer ${mine.jwt}` },
    });
    expect(answer.body).toMatchObject({ statusCode: 403, code: 'product_not_entitled' });
  });
});
