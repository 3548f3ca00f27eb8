import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import type { Step } from '../../shared/contract/automations/steps.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { expireApprovals } from '../fixtures/stage/automations.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let other: TestWorkspace;
let ann: { email: string; token: string; session: Client };
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  [workspace, other] = [await hub.workspace(), await hub.workspace()];
  const person = { email: `ann.${process.hrtime.bigint()}@example.org`, password: 'correct horse battery' };
  await workspace.session.call('addMember', {
    params: { tenantId: workspace.tenantId },
    body: { ...person, role: 'admin' },
  });
  const { token } = await hub.client().call('logIn', { body: person });
  ann = { email: person.email, token, session: hub.client(token) };
});
afterAll(() => hub[Symbol.asyncDispose]());

type StepInput = Record<string, unknown> & { type: Step['type'] };

/** Starts a workflow that waits for an approval. @returns the id of the approval. */
async function ask(step: StepInput, as: Client = workspace.api, { api } = workspace): Promise<string> {
  const body = { name: 'Ship it', stepsJson: [step, { type: 'log', message: 'x' }] };
  const { id } = await api.call('createAutomationWorkflow', { body: body as never });
  const { runId } = startedRun(await as.call('runAutomationWorkflow', { params: { id } }));
  await settledRun(api, runId);
  const { data } = await api.call('listAutomationApprovals', { query: { runId } });
  return data[0]?.id as string;
}

const read = (as: Client, id: string) => as.call('getAutomationApproval', { params: { id } });
const decide = (as: Client, id: string) =>
  as.call('decideAutomationApproval', { params: { id }, body: { decision: 'approved' } });

test('an approval names its workflow, requesters, node and escalation', async () => {
  const { nodeId } = await workspace.api.call('createAutomationNode', { body: { name: 'front desk' } });
  const body = {
    name: 'Ping',
    stepsJson: [
      {
        type: 'approval',
        title: 'Ping?',
        approvers: [ann.email],
        escalateAfterSeconds: 600,
        escalateTo: ['boss@example.org'],
      },
      { type: 'skill', skillId: 'node.ping', input: { nodeId } },
    ],
  };
  const { id: workflowId } = await workspace.api.call('createAutomationWorkflow', { body: body as never });
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId } }));
  await settledRun(workspace.api, runId);
  const [listed] = (await ann.session.call('listAutomationApprovalSummaries', { query: { runId } })).data;
  expect(listed).toMatchObject({
    workflowId,
    workflowName: 'Ping',
    environment: 'live',
    triggerType: 'manual',
    requestedBy: [{ kind: 'key', name: expect.any(String) as string }],
    nodeId,
    nodeName: 'front desk',
    approvedCount: 0,
    canDecide: true,
    refusal: null,
  });
  expect(listed?.escalateAt).toMatch(/^\d{4}-/);
  expect(Object.keys(listed ?? {})).not.toContain('request');
  const { request, message, votes, ...rest } = await read(ann.session, listed?.id as string);
  expect(request).toMatchObject({ title: 'Ping?' });
  expect([message, votes]).toEqual(['', []]);
  const { approvedCount: _count, ...shown } = listed ?? {};
  expect(rest).toEqual(shown);
});

test('canDecide is what a decision of the same caller results in, with the code and message of the refusal', async () => {
  const named = await ask({ type: 'approval', title: 'Named?', approvers: [ann.email, 'b@example.org'], required: 2 });
  const own = await ask({ type: 'approval', title: 'Own?', approvers: [ann.email] }, ann.session);
  const open = await ask({ type: 'approval', title: 'Open?' });
  for (const [as, token] of [
    [ann.session, ann.token],
    [workspace.session, workspace.jwt],
  ] as const)
    for (const id of [named, own, open]) {
      const { canDecide, refusal } = await read(as, id);
      const [listed] = (await as.call('listAutomationApprovalSummaries', { query: {} })).data.filter(
        (each) => each.id === id,
      );
      expect(listed).toMatchObject({ canDecide, refusal });
      const answer = await send(hub.url, 'POST', `/v1/automations/approvals/${id}/decide`, {
        headers: { authorization: `Bearer ${token}` },
        body: { decision: 'approved' },
      });
      expect(refusal).toEqual(
        answer.status === 200 ? null : { code: answer.body['code'], message: answer.body['message'] },
      );
      expect(canDecide).toBe(answer.status === 200);
    }
  // Ann has voted once for the approval that needs two votes, and was refused for her own run.
  expect(await read(ann.session, named)).toMatchObject({ refusal: { code: 'approval_already_decided' } });
  expect(await read(ann.session, own)).toMatchObject({
    requestedBy: [{ kind: 'user', name: ann.email }],
    refusal: { code: 'approver_required' },
  });
  expect(await read(ann.session, open)).toMatchObject({
    status: 'approved',
    refusal: { code: 'approval_already_decided' },
  });
  const [summary] = (await ann.session.call('listAutomationApprovalSummaries', { query: {} })).data.filter(
    ({ id }) => id === named,
  );
  expect(summary).toMatchObject({ required: 2, approvedCount: 1 });
});

test('a key without approvals:decide reads that it cannot decide, and an expired approval cannot be decided', async () => {
  const id = await ask({ type: 'approval', title: 'ok?', expiresInSeconds: 3600 });
  const { key } = await workspace.session.call('createApiToken', {
    params: { tenantId: workspace.tenantId },
    body: { name: 'reader', product: 'automations', permissions: ['automations:read'] },
  });
  const reader = hub.client(key);
  expect(await read(reader, id)).toMatchObject({ canDecide: false, refusal: { code: 'missing_permission' } });
  expect(await read(workspace.api, id)).toMatchObject({ canDecide: true });
  await expireApprovals(hub.database, { approvalId: id });
  const { status, refusal } = await read(workspace.api, id);
  expect(['pending', 'expired']).toContain(status);
  expect(refusal).toMatchObject({ code: 'approval_already_decided' });
});

test('summaries are refused without permission, and contain approvals of their workspace only', async () => {
  const id = await ask({ type: 'approval', title: 'ok?' });
  const path = '/v1/automations/approval-summaries';
  const call = (key: string | undefined, query = '') =>
    send(hub.url, 'GET', `${path}${query}`, { headers: key === undefined ? {} : { 'x-api-key': key } });
  expect((await call(undefined)).status).toBe(401);
  expect((await call(workspace.keys.chat)).status).toBe(403);
  expect((await call(workspace.key, '?status=open')).status).toBe(400);
  expect((await call(workspace.key, '?cursor=nothing')).body).toMatchObject({ code: 'invalid_cursor' });
  expect((await other.api.call('listAutomationApprovalSummaries', { query: {} })).data).toEqual([]);
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const query = { limit: 1, ...(cursor === undefined ? {} : { cursor }) };
    const { data, meta } = await workspace.api.call('listAutomationApprovalSummaries', { query });
    ids.push(...data.map((each) => each.id));
    if (meta.nextCursor === null) break;
    cursor = meta.nextCursor;
  }
  expect(ids[0]).toBe(id);
  expect(ids).toEqual([...new Set(ids)].toSorted().toReversed());
  await decide(ann.session, id);
  const pending = await workspace.api.call('listAutomationApprovalSummaries', { query: { status: 'pending' } });
  expect(pending.data.map((each) => each.id)).not.toContain(id);
});

test('the number of statements of a page does not grow with its approvals', async () => {
  // Approvals of other tests expire and notify meanwhile.
  const own = await hub.workspace();
  for (let count = 0; count < 5; count += 1)
    await ask({ type: 'approval', title: 'ok?', approvers: [own.email] }, own.api, own);
  const statementsOf = async (limit: number) => {
    using recorder = new StatementRecorder(16);
    const { data } = await own.session.call('listAutomationApprovalSummaries', { query: { limit, status: 'pending' } });
    expect(data).toHaveLength(limit);
    return recorder.statements.filter(({ tenantId }) => tenantId === own.tenantId).length;
  };
  const few = await statementsOf(1);
  expect(few).toBeGreaterThan(3);
  expect(await statementsOf(5)).toBe(few);
});

test('by the clock of the database, an approval in time can be decided, and is not escalated early', async () => {
  const id = await ask({
    type: 'approval',
    title: 'In time?',
    approvers: [ann.email],
    expiresInSeconds: 1_200,
    escalateAfterSeconds: 600,
    escalateTo: ['boss@example.org'],
  });
  // The clock of the process is an hour ahead.
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 3_600_000 });
  onTestFinished(() => void vi.useRealTimers());
  expect(await read(ann.session, id)).toMatchObject({ approvers: [ann.email], canDecide: true, refusal: null });
});
