import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Step } from '../../shared/contract/automations/steps.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

let hub: TestHub;
let workspace: TestWorkspace;
const members: Record<string, { email: string; token: string }> = {};

beforeAll(async () => {
  hub = await startHub({ EGRESS_ALLOW_HOSTS: '127.0.0.1' });
  workspace = await hub.workspace();
  for (const name of ['ann', 'bob']) {
    const email = `${name}.${process.hrtime.bigint()}@example.org`;
    const password = 'correct horse battery';
    await workspace.session.call('addMember', {
      params: { tenantId: workspace.tenantId },
      body: { email, password, role: 'admin' },
    });
    members[name] = { email, token: (await hub.client().call('logIn', { body: { email, password } })).token };
  }
});
afterAll(() => hub[Symbol.asyncDispose]());

type StepInput = Record<string, unknown> & { type: Step['type'] };
const emailOf = (name: string) => members[name]?.email as string;
const tokenOf = (name: string) => members[name]?.token as string;
const settled = (id: string) => settledRun(workspace.api, id);

async function pendingOf(runId: string) {
  await settled(runId);
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId, status: 'pending' } });
  return data[0] as NonNullable<(typeof data)[0]>;
}

const decideAs = (name: string, id: string, decision: 'approved' | 'rejected') =>
  send(hub.url, 'POST', `/growth/automations/approvals/${id}/decide`, {
    headers: { authorization: `Bearer ${tokenOf(name)}` },
    body: { decision },
  });

describe('the user who started a run cannot approve it', () => {
  const workflow = async (steps: StepInput[], more: Record<string, unknown> = {}) =>
    (
      await workspace.api.call('createAutomationWorkflow', {
        body: { name: 'chain', stepsJson: steps as never, ...more } as never,
      })
    ).id;
  const asked = () => ({ type: 'approval' as const, title: 'Mine?', approvers: ['ann', 'bob'].map(emailOf) });
  const latestOf = async (workflowId: string) => {
    await until(
      async () => (await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data.length > 0,
      () => 'no run yet',
    );
    return ((await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data[0] as { id: string }).id;
  };
  /** Starts a workflow as Ann. */
  const startAsAnn = async (id: string) =>
    startedRun(await hub.client(tokenOf('ann')).call('growthRunWorkflow', { params: { id } })).runId;

  /** The responses to the approvals of Ann, who started the run, and then of Bob. */
  async function verdicts(runId: string): Promise<unknown[]> {
    const approval = await pendingOf(runId);
    return [
      (await decideAs('ann', approval.id, 'approved')).body.code,
      (await decideAs('bob', approval.id, 'approved')).body['status'],
    ];
  }
  const onlyBob = ['approver_required', 'approved'];

  test('in its child run, and in the child run of the child run', async () => {
    const inner = await workflow([asked()]);
    const middle = await workflow([{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: inner } }]);
    await startAsAnn(await workflow([{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: middle } }]));
    expect(await verdicts(await latestOf(inner))).toEqual(onlyBob);
  });

  test('in the run of the error workflow', async () => {
    const onError = await workflow([asked()]);
    await workspace.api.call('putAutomationPolicy', { body: { errorWorkflowId: onError } as never });
    try {
      await startAsAnn(await workflow([{ type: 'log', message: '{{payload.missing}}' }]));
      expect(await verdicts(await latestOf(onError))).toEqual(onlyBob);
    } finally {
      await workspace.api.call('putAutomationPolicy', { body: { errorWorkflowId: null } as never });
    }
  });

  test('in a retry and a replay by another member', async () => {
    const id = await workflow([asked()]);
    const first = await startAsAnn(id);
    const approval = await pendingOf(first);
    await decideAs('bob', approval.id, 'rejected');
    await settled(first);
    const retry = await workspace.api.call('retryAutomationRun', { params: { id: first } });
    expect(await verdicts(retry.id)).toEqual(onlyBob);
    const triggerOf = async (run: string) =>
      (await workspace.api.call('getAutomationRun', { params: { id: run } })).trigger;
    const { by } = await triggerOf(first);
    const again = await triggerOf(retry.id);
    expect(again).toMatchObject({ type: 'manual', by, ranAgainBy: expect.stringMatching(/^token:/) as string });
    expect(again['ranAgainBy']).not.toBe(by);
    await settled(retry.id);
    expect(
      await verdicts(
        (await workspace.api.call('replayAutomationRun', { params: { id: retry.id }, body: { fromStep: 0 } })).id,
      ),
    ).toEqual(onlyBob);
  });

  test('in a sequence', async () => {
    const { id } = await workspace.api.call('createAutomationSequence', {
      body: { name: 'own', steps: [asked()] as never },
    });
    const { workflowId } = await workspace.api.call('runAutomationSequence', { params: { id }, body: {} });
    await startAsAnn(workflowId);
    expect(await verdicts(await latestOf(workflowId))).toEqual(onlyBob);
  });

  test('in a workflow that the run starts through the inbound hook', async () => {
    const token = 'token-of-the-hook-in-the-chain';
    const hooked = await workflow([asked()], { triggerJson: { type: 'webhook', webhook: { token } } });
    await startAsAnn(
      await workflow([
        {
          type: 'skill',
          skillId: 'webhook.deliver',
          input: {
            url: `${hub.url}/v1/automations/hooks/inbound`,
            headers: { 'X-Service-Automation-Token': token },
            body: { workflowId: hooked },
          },
        },
      ]),
    );
    expect(await verdicts(await latestOf(hooked))).toEqual(onlyBob);
  });
});
