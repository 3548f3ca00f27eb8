import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import type { Step } from '../../shared/contract/automations/steps.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { patientDatabase, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { passScheduledTime } from '../fixtures/stage/automations.ts';
import { makeLinkAccount } from '../fixtures/stage/core.ts';
import { until } from '../fixtures/until.ts';
import { duringWriteLock } from '../fixtures/write-lock.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub(
    { RATE_LIMIT_PER_MINUTE: '1000000', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000000' },
    undefined,
    patientDatabase,
  );
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

type StepInput = Record<string, unknown> & { type: Step['type'] };

interface Member {
  id: string;
  email: string;
  token: string;
  session: Client;
}

async function addMember(role: 'admin' | 'agent'): Promise<Member> {
  const email = `${role}.${process.hrtime.bigint()}@example.org`;
  const password = 'correct horse battery';
  const { id } = await workspace.session.call('addMember', {
    params: { tenantId: workspace.tenantId },
    body: { email, password, role },
  });
  const { token } = await hub.client().call('logIn', { body: { email, password } });
  return { id, email, token, session: hub.client(token) };
}

const settled = (id: string) => settledRun(workspace.api, id);

async function pendingOf(runId: string) {
  await settled(runId);
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId, status: 'pending' } });
  return data[0] as NonNullable<(typeof data)[0]>;
}

async function decide(id: string, credential: string, decision = 'approved') {
  const headers = { authorization: `Bearer ${credential}` };
  return send(hub.url, 'POST', `/v1/automations/approvals/${id}/decide`, { headers, body: { decision } });
}

async function latestOf(workflowId: string): Promise<string> {
  const list = () => workspace.api.call('listAutomationRuns', { query: { workflowId } });
  await until(
    async () => (await list()).data.length > 0,
    () => 'no run yet',
  );
  return (await list()).data[0]?.id as string;
}

/** A workflow as a caller creates it. */
const create = async (as: Client, stepsJson: StepInput[], more: Record<string, unknown> = {}) =>
  (await as.call('createAutomationWorkflow', { body: { name: 'w', stepsJson, ...more } as never })).id;

/** A paired node that may run programs, and its device. */
async function pairNode(): Promise<{ nodeId: string; device: Client }> {
  const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
  const device = {
    name: 'd',
    platform: 'linux',
    arch: 'x64',
    osVersion: '',
    appVersion: '1',
    capabilities: ['system.run', 'node.ping'],
  };
  const { deviceSecret } = await hub.client().call('claimAutomationNode', { body: { pairingCode, device } });
  await workspace.api.call('updateAutomationNode', { params: { id: nodeId }, body: { allowSystem: true } });
  return { nodeId, device: hub.client(deviceSecret) };
}

/** The next command that a device receives. */
async function nextCommand(nodeId: string, device: Client) {
  const { commands } = await device.call('pollAutomationNodeCommands', {
    params: { id: nodeId },
    query: { wait: 20, max: 1, running: '' } as never,
  });
  return commands[0] as NonNullable<(typeof commands)[0]>;
}

const programStep = (nodeId: string, name?: string): StepInput => ({
  type: 'skill',
  skillId: 'system.run',
  ...(name === undefined ? {} : { name }),
  input: { nodeId, argv: ['true'], waitMs: 60_000 },
});
const onlyOther = [403, 'approver_required', 200];

/** The responses to the approvals of two members, one after the other. */
async function verdicts(runId: string, first: Member, second: Member): Promise<unknown[]> {
  const { id } = await pendingOf(runId);
  const refused = await decide(id, first.token);
  return [refused.status, refused.body.code, (await decide(id, second.token)).status];
}

describe('the starter of a run does not decide its named approval', () => {
  let author: Member;
  let other: Member;
  const asked = () => ({ type: 'approval' as const, title: 'ok?', approvers: [author.email, other.email] });
  const hookOf = (token: string) => ({ triggerJson: { type: 'webhook', webhook: { token } } });
  const callHook = async (token: string, body: object) =>
    (
      await send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
        headers: { 'x-service-automation-token': token },
        body,
      })
    ).body['runId'] as string;
  beforeEach(async () => {
    author = await addMember('agent');
    other = await addMember('agent');
  });

  test('as author of a workflow whose hook is called without sign-in', async () => {
    const id = await create(author.session, [asked()], hookOf('a-token-of-a-webhook-1'));
    const runId = await callHook('a-token-of-a-webhook-1', { workflowId: id });
    expect(await verdicts(runId, author, other)).toEqual(onlyOther);
  });

  test('as author of the version that a replay with the current version replaces', async () => {
    const admin = await addMember('admin');
    const third = await addMember('agent');
    const id = await create(author.session, [asked()], {
      triggerJson: { type: 'schedule', schedule: { kind: 'at', at: new Date(Date.now() + 3_600_000).toISOString() } },
    });
    await passScheduledTime(hub.database, id);
    const first = await latestOf(id);
    expect((await decide((await pendingOf(first)).id, other.token, 'rejected')).status).toBe(200);
    await settled(first);
    const change = (body: object) =>
      admin.session.call('updateAutomationWorkflow', { params: { id }, body: body as never });
    await change({ active: false });
    const { version } = await change({
      name: 'other',
      stepsJson: [{ ...asked(), title: 'really ok?' }],
      triggerJson: { type: 'manual' },
      active: true,
    });
    const replay = await third.session.call('replayAutomationRun', {
      params: { id: first },
      body: { workflowVersion: version },
    });
    expect(await verdicts(replay.id, author, other)).toEqual(onlyOther);
  });

  test.each(['schedule', 'heartbeat'])('as author of a workflow with a %s', async (type) => {
    const id = await create(author.session, [asked()], {
      triggerJson: { type, schedule: { kind: 'at', at: new Date(Date.now() + 3_600_000).toISOString() } },
    });
    await passScheduledTime(hub.database, id);
    expect(await verdicts(await latestOf(id), author, other)).toEqual(onlyOther);
  });

  test('as author of a workflow that an event of a visitor starts', async () => {
    const id = await create(author.session, [asked()], {
      triggerJson: { type: 'event', event: { type: 'message.created' } },
    });
    const { siteKey, visitorToken } = await hub
      .client(workspace.keys.chat)
      .call('createChatSession', { body: { externalId: 'a visitor' } });
    const visitor = await hub.client().call('openVisitorSession', { body: { siteKey, token: visitorToken } });
    await hub.client(visitor.token).call('sendVisitorMessage', { body: { content: 'hello', clientId: 'a' } });
    expect(await verdicts(await latestOf(id), author, other)).toEqual(onlyOther);
  });

  test('as creator of the API key that started it, directly or by the hook', async () => {
    const admin = await addMember('admin');
    const { key } = await admin.session.call('createApiToken', {
      params: { tenantId: workspace.tenantId },
      body: { name: 'own', product: 'automations', permissions: ['automations:run'] },
    });
    const steps = [{ type: 'approval' as const, title: 'ok?', approvers: [admin.email, other.email] }];
    const id = await create(author.session, steps);
    const api = hub.client(key);
    const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
    expect(await verdicts(runId, admin, other)).toEqual(onlyOther);
    const hooked = await api.call('inboundAutomationHook', { body: { workflowId: id } });
    expect(await verdicts(hooked.runId, admin, other)).toEqual(onlyOther);
  });

  test('as the member who activated the workflow or wrote its steps, even if another member renamed it since', async () => {
    const third = await addMember('agent');
    const id = await create(author.session, [asked()], { ...hookOf('a-token-of-a-webhook-2'), active: false });
    const change = (as: Member, body: object) =>
      as.session.call('updateAutomationWorkflow', { params: { id }, body: body as never });
    await change(other, { active: true });
    await change(third, { name: 'renamed' });
    const runId = await callHook('a-token-of-a-webhook-2', { workflowId: id });
    const approval = await pendingOf(runId);
    for (const member of [author, other])
      expect((await decide(approval.id, member.token)).body).toMatchObject({ code: 'approver_required' });
  });

  test('as author of a workflow that a message of a channel starts, or of the channel', async () => {
    const admin = await addMember('admin');
    const channel = await admin.session.call('putAutomationChannel', {
      body: { provider: 'webhook', name: 'c', config: { inboundSecret: 'a secret of a channel' } } as never,
    });
    const steps = [{ type: 'approval' as const, title: 'ok?', approvers: [author.email, admin.email, other.email] }];
    const id = await create(author.session, steps, { triggerJson: { type: 'channel' } });
    await send(hub.url, 'POST', channel.inboundPath, {
      headers: { 'x-service-automation-token': 'a secret of a channel' },
      body: { text: 'hello', from: 'me' },
    });
    const approval = await pendingOf(await latestOf(id));
    for (const member of [author, admin])
      expect((await decide(approval.id, member.token)).body).toMatchObject({ code: 'approver_required' });
    expect((await decide(approval.id, other.token)).status).toBe(200);
  });

  test('in a retry and in a child run of a run that their hook started', async () => {
    const inner = await create(workspace.session, [asked()]);
    const spawn = { type: 'skill' as const, skillId: 'subagent.spawn', input: { workflowId: inner } };
    const outer = await create(author.session, [spawn], hookOf('a-token-of-a-webhook-3'));
    await callHook('a-token-of-a-webhook-3', { workflowId: outer });
    expect(await verdicts(await latestOf(inner), author, other)).toEqual(onlyOther);

    const id = await create(author.session, [asked()], hookOf('a-token-of-a-webhook-4'));
    const runId = await callHook('a-token-of-a-webhook-4', { workflowId: id });
    await workspace.session.call('cancelAutomationRun', { params: { id: runId } });
    const retry = await workspace.session.call('retryAutomationRun', { params: { id: runId } });
    expect(await verdicts(retry.id, author, other)).toEqual(onlyOther);
  });

  test('through the links of the other approvers, which a starter cannot create', async () => {
    const id = await create(workspace.session, [asked()]);
    const { runId } = startedRun(await workspace.session.call('runAutomationWorkflow', { params: { id } }));
    const approval = await pendingOf(runId);
    const makeLinks = async (token: string) =>
      send(hub.url, 'POST', `/growth/automations/approvals/${approval.id}/links`, {
        headers: { authorization: `Bearer ${token}` },
      });
    expect((await makeLinks(workspace.jwt)).body).toMatchObject({ statusCode: 403, code: 'approver_required' });
    expect((await makeLinks((await addMember('admin')).token)).status).toBe(200);
  });

  test('a decision by a mailed link counts as a decision of the recipient', async () => {
    const id = await create(workspace.session, [asked()]);
    const { runId } = startedRun(await author.session.call('growthRunWorkflow', { params: { id } }));
    const approval = await pendingOf(runId);
    const admin = await addMember('admin');
    const { links } = await admin.session.call('growthCreateApprovalLinks', { params: { id: approval.id } });
    const becomesAccount = async ({ email }: Member) =>
      send(hub.url, 'POST', new URL(links.find(({ approver }) => approver === email)?.url as string).pathname, {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        raw: 'decision=approved',
      });
    expect((await becomesAccount(author)).status).toBe(403);
    expect((await becomesAccount(other)).status).toBe(200);
    const decided = (await workspace.api.call('listAutomationApprovals', { query: { runId } })).data[0];
    // The admin saw the link, so the decision names the admin.
    const decider = { kind: 'mail_link', id: other.email, name: other.email, linkCreatedBy: admin.email };
    expect(decided).toMatchObject({ status: 'approved', decider, votes: [{ decider }] });
  });

  test.each(['removed', 'demoted', 'demoted meanwhile'])(
    'a link decides nothing after the admin who created it was %s',
    async (how) => {
      const id = await create(workspace.session, [asked()]);
      const { runId } = startedRun(await author.session.call('growthRunWorkflow', { params: { id } }));
      const approval = await pendingOf(runId);
      const admin = await addMember('admin');
      const { links } = await admin.session.call('growthCreateApprovalLinks', { params: { id: approval.id } });
      const { pathname } = new URL(links.find(({ approver }) => approver === other.email)?.url as string);
      const open = () => send(hub.url, 'GET', pathname);
      const approve = () =>
        send(hub.url, 'POST', pathname, {
          headers: { 'content-type': 'application/x-www-form-urlencoded' },
          raw: 'decision=approved',
        });
      expect((await open()).text).toContain('value="approved"');
      const params = { tenantId: workspace.tenantId, userId: admin.id };
      const demote = () => workspace.session.call('changeMember', { params, body: { role: 'agent' } });
      const answers: Awaited<ReturnType<typeof send>>[] = [];
      if (how === 'removed') await workspace.session.call('removeMember', { params });
      else if (how === 'demoted') await demote();
      else {
        const [, decided] = await duringWriteLock<[unknown, (typeof answers)[0]]>(hub.database, 'audit_log', [
          demote,
          approve,
        ]);
        answers.push(decided as (typeof answers)[0]);
      }
      for (const { status, text } of [...answers, await approve(), await open()]) {
        expect(status).toBe(403);
        expect(text).toContain('no longer an admin of this workspace. Ask an admin for a new link.');
        expect(text).not.toContain('<button');
      }
      const [still] = (await workspace.api.call('listAutomationApprovals', { query: { runId } })).data;
      expect(still).toMatchObject({ status: 'pending', votes: [] });
    },
  );
});

describe('an approval of system.run', () => {
  async function startProgram(as: Client = workspace.api): Promise<{ approvalId: string; runId: string }> {
    const { nodeId } = await pairNode();
    const { runId } = await as.call('runAutomationSkill', {
      params: { skillId: 'system.run' },
      body: { input: { nodeId, argv: ['true'] } },
    });
    return { runId, approvalId: (await pendingOf(runId)).id };
  }
  const key = async (...permissions: ('automations:manage' | 'automations:run' | 'approvals:decide')[]) =>
    workspace.createKey({ permissions });

  test('can be decided by another key only if this key has approvals:decide itself', async () => {
    const { approvalId } = await startProgram();
    expect((await decide(approvalId, (await key('automations:manage')).key)).body).toMatchObject({
      statusCode: 403,
      code: 'approval_needs_person',
    });
    const decider = await key('approvals:decide');
    const decided = await decide(approvalId, decider.key);
    expect(decided.body).toMatchObject({
      status: 'approved',
      decidedBy: `token:${decider.id}`,
      decider: { kind: 'key', id: decider.id, name: 'test' },
    });
  });

  test('is in the audit log with its workflow and node, and without its texts', async () => {
    const { approvalId, runId } = await startProgram();
    const decider = await key('approvals:decide');
    expect((await decide(approvalId, decider.key)).status).toBe(200);
    const { workflowId, workflowName, nodeId, nodeName } = await workspace.api.call('getAutomationApproval', {
      params: { id: approvalId },
    });
    const { data } = await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: { targetId: approvalId },
    });
    expect(data).toMatchObject([
      {
        action: 'approval.approved',
        actor: `token:${decider.id}`,
        details: { workflowId, workflowName, nodeId, nodeName, runId },
      },
    ]);
    expect([workflowName, nodeName]).not.toContain(null);
    // They can name a person, and the audit log outlives the erasure of runs.
    expect(Object.keys(data[0]?.details ?? {})).not.toContain('title');
    expect(nodeId).not.toBeNull();
  });

  test('cannot be decided by the key that started the run, regardless of its permissions', async () => {
    const { key: own } = await key('automations:manage', 'approvals:decide');
    const { approvalId } = await startProgram(hub.client(own));
    expect((await decide(approvalId, own)).body).toMatchObject({ statusCode: 403, code: 'approval_needs_person' });
  });

  test('cannot be decided by a key that wrote the workflow', async () => {
    const { nodeId } = await pairNode();
    const { key: writer } = await key('automations:manage', 'approvals:decide');
    const id = await create(hub.client(writer), [programStep(nodeId)]);
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    const { id: approvalId } = await pendingOf(runId);
    expect((await decide(approvalId, writer)).body).toMatchObject({ statusCode: 403, code: 'approval_needs_person' });
    expect((await decide(approvalId, (await key('approvals:decide')).key)).status).toBe(200);
  });

  test('can be decided by a member who did not start the run, and not by the member who did', async () => {
    const starter = await addMember('agent');
    const other = await addMember('agent');
    const { approvalId } = await startProgram(starter.session);
    expect((await decide(approvalId, starter.token)).body).toMatchObject({
      statusCode: 403,
      code: 'approver_required',
    });
    expect((await decide(approvalId, other.token)).body).toMatchObject({
      status: 'approved',
      decider: { kind: 'user', name: other.email },
    });
  });

  test('can be decided by the only member of the workspace, signed in, unless the policy forbids it', async () => {
    const { approvalId } = await startProgram(workspace.session);
    await workspace.session.call('putAutomationPolicy', { body: { soleMemberMayDecideOwnRuns: false } });
    expect((await decide(approvalId, workspace.jwt)).body).toMatchObject({
      statusCode: 403,
      code: 'approver_required',
    });
    await workspace.session.call('putAutomationPolicy', { body: {} });
    expect((await decide(approvalId, workspace.jwt)).status).toBe(200);
  });

  describe('in a workspace with the account that "outrigger link" signs in', () => {
    /** Turns the first user into the account of `outrigger link`. */
    async function becomesAccount(): Promise<{ token: string; session: Client }> {
      await makeLinkAccount(hub.database, workspace.tenantId);
      return { token: workspace.jwt, session: workspace.session };
    }

    test('can be decided by the only admin with a password, who started it', async () => {
      await becomesAccount();
      const admin = await addMember('admin');
      const { approvalId } = await startProgram(admin.session);
      expect((await decide(approvalId, admin.token)).status).toBe(200);
    });

    test('cannot be decided by the account, and the error says who decides and how to remove it', async () => {
      const account = await becomesAccount();
      const admin = await addMember('admin');
      const { approvalId } = await startProgram(admin.session);
      const refused = await decide(approvalId, account.token);
      expect(refused.body).toMatchObject({ statusCode: 403, code: 'approver_required' });
      expect(refused.body['message']).toContain(
        `npx outrigger user remove --email admin@${workspace.tenantId}.invalid`,
      );
      const links = account.session.call('growthCreateApprovalLinks', { params: { id: approvalId } });
      await expect(links).rejects.toMatchObject({ status: 403, code: 'approver_required' });
      expect((await decide(approvalId, admin.token)).status).toBe(200);
    });

    test('can be decided by the account while no admin has a password; an agent cannot decide their own', async () => {
      const account = await becomesAccount();
      const alone = await startProgram(account.session);
      expect((await decide(alone.approvalId, account.token)).status).toBe(200);
      const agent = await addMember('agent');
      const { approvalId } = await startProgram(agent.session);
      expect((await decide(approvalId, agent.token)).body).toMatchObject({ code: 'approver_required' });
      expect((await decide(approvalId, account.token)).status).toBe(200);
    });

    test('can be decided by another member if several have a password', async () => {
      await becomesAccount();
      const admin = await addMember('admin');
      const other = await addMember('agent');
      const { approvalId } = await startProgram(admin.session);
      expect((await decide(approvalId, admin.token)).body).toMatchObject({ code: 'approver_required' });
      expect((await decide(approvalId, other.token)).status).toBe(200);
    });
  });

  test('keeps its approvers when a key updates the policy', async () => {
    const own = await hub.workspace();
    const put = (as: typeof own.api, body: Record<string, unknown>) =>
      as.call('putAutomationPolicy', { body: body as never });
    for (const body of [
      { defaultApprovers: ['mine@attacker.test'] },
      { stepApprovalsNeedPerson: true },
      { soleMemberMayDecideOwnRuns: false },
    ])
      await expect(put(own.api, body)).rejects.toMatchObject({
        status: 403,
        code: 'approval_needs_person',
        details: [{ path: `body.${Object.keys(body)[0]}` }],
      });
    await put(own.session, { defaultApprovers: [own.email] });
    await expect(put(own.api, {})).rejects.toMatchObject({ code: 'approval_needs_person' });
    expect(await put(own.api, { defaultApprovers: [own.email], maxRunsPerHour: 7 })).toMatchObject({
      defaultApprovers: [own.email],
    });
  });

  test('keeps its approvers when keys and an admin update the policy concurrently', async () => {
    const own = await hub.workspace();
    const put = (as: typeof own.api, body: Record<string, unknown>) =>
      as.call('putAutomationPolicy', { body: body as never });
    for (let round = 0; round < 10; round += 1) {
      const writesOfKeys = Array.from({ length: 4 }, () => put(own.api, {}));
      const [admin] = await Promise.all([
        put(own.session, { stepApprovalsNeedPerson: true }),
        ...writesOfKeys.map((write) => write.catch((error: unknown) => error)),
      ]);
      expect(admin).toMatchObject({ stepApprovalsNeedPerson: true });
      expect(await own.api.call('getAutomationPolicy', {})).toMatchObject({ stepApprovalsNeedPerson: true });
      await put(own.session, {});
    }
  });

  test('names the approvers that the policy requires, and only they can decide it', async () => {
    const approver = await addMember('agent');
    const other = await addMember('agent');
    await workspace.session.call('putAutomationPolicy', { body: { defaultApprovers: [approver.email] } });
    const { approvalId, runId } = await startProgram();
    expect((await pendingOf(runId)).approvers).toEqual([approver.email]);
    for (const credential of [other.token, (await key('approvals:decide')).key])
      expect((await decide(approvalId, credential)).body).toMatchObject({ statusCode: 403, code: 'approver_required' });
    expect((await decide(approvalId, approver.token)).status).toBe(200);
  });

  test('names who decided in the approval, the step of the run, the audit log and the command of the device', async () => {
    const { nodeId, device } = await pairNode();
    const starter = await addMember('agent');
    const other = await addMember('agent');
    const id = await create(workspace.session, [programStep(nodeId, 'Restart the printer')]);
    const { runId } = startedRun(await starter.session.call('runAutomationWorkflow', { params: { id } }));
    const { id: approvalId } = await pendingOf(runId);
    await other.session.call('decideAutomationApproval', {
      params: { id: approvalId },
      body: { decision: 'approved', note: 'as agreed' },
    });
    const command = await nextCommand(nodeId, device);
    const { user } = await other.session.call('readMe');
    const { user: startedBy } = await starter.session.call('readMe');
    expect(command).toMatchObject({ type: 'system.run', approval: { id: approvalId, approvedBy: other.email } });
    expect(command.origin).toEqual({
      workspace: { id: workspace.tenantId, name: `workspace ${workspace.email}` },
      workflow: { id, name: 'w' },
      run: { id: runId, step: { index: 0, name: 'Restart the printer' } },
      startedBy: { kind: 'user', id: startedBy.id, name: starter.email },
      approvedBy: { kind: 'user', id: user.id, name: other.email, at: command.approval?.approvedAt },
      reason: 'as agreed',
    });
    const decider = { kind: 'user', id: user.id, name: other.email };
    const run = await workspace.api.call('getAutomationRun', { params: { id: runId } });
    expect(run.stepsResultJson[0]?.approval).toMatchObject({ id: approvalId, status: 'approved', decider });
    const audit = await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: { targetId: approvalId },
    });
    expect(audit.data[0]).toMatchObject({
      action: 'approval.approved',
      actor: `user:${user.id}`,
      details: { decider },
    });
    expect(JSON.stringify(audit.data), 'a note can name a person, and the audit log outlives erasures').not.toContain(
      'as agreed',
    );
  });
});

describe('a step approval without named approvers', () => {
  const startStep = async () => {
    const id = await create(workspace.api, [{ type: 'approval', title: 'ok?' }]);
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
    return (await pendingOf(runId)).id;
  };

  test('can be decided by the key that started it', async () => {
    expect((await decide(await startStep(), workspace.key)).status).toBe(200);
  });

  test('requires a decision by a user if the policy demands it', async () => {
    await workspace.session.call('putAutomationPolicy', { body: { stepApprovalsNeedPerson: true } });
    const [id, member] = [await startStep(), await addMember('agent')];
    expect((await decide(id, workspace.key)).body).toMatchObject({ statusCode: 403, code: 'approval_needs_person' });
    // The API key that started the run belongs to this admin.
    expect((await decide(id, workspace.jwt)).body).toMatchObject({ statusCode: 403, code: 'approver_required' });
    expect((await decide(id, member.token)).status).toBe(200);
  });
});

test('a decision by an unauthorised caller returns 400, 401, 403 or 404', async () => {
  const id = await create(workspace.api, [{ type: 'approval', title: 'ok?' }]);
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  const approval = await pendingOf(runId);
  expect((await decide(approval.id, workspace.key, 'maybe')).status).toBe(400);
  expect((await decide(approval.id, 'none')).status).toBe(401);
  const { key: reader } = await workspace.createKey({ permissions: ['automations:read', 'automations:run'] });
  expect((await decide(approval.id, reader)).body).toMatchObject({ statusCode: 403, code: 'missing_permission' });
  expect((await decide(approval.id, (await hub.workspace()).key)).status).toBe(404);
  expect((await decide(missingId, workspace.key)).status).toBe(404);
});

describe('a command without approval', () => {
  test.each([
    ['user', async (id: string) => workspace.session.call('runAutomationWorkflow', { params: { id } })],
    ['key', async (id: string) => workspace.api.call('runAutomationWorkflow', { params: { id } })],
    [
      'hook',
      async () =>
        send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
          headers: { 'x-service-automation-token': 'a-token-for-origins-1' },
          body: { event: 'order.paid' },
        }),
    ],
  ])('shows that a %s started its run', async (kind, start) => {
    const { nodeId, device } = await pairNode();
    const id = await create(
      workspace.api,
      [{ type: 'skill', skillId: 'node.ping', input: { nodeId, waitMs: 60_000 }, name: 'Look' }],
      kind === 'hook' ? { triggerJson: { type: 'webhook', webhook: { token: 'a-token-for-origins-1' } } } : {},
    );
    await start(id);
    const { origin } = await nextCommand(nodeId, device);
    const names: Record<string, string> = { user: workspace.email, key: 'test', hook: 'Webhook: order.paid' };
    expect(origin).toMatchObject({
      workflow: { id, name: 'w' },
      run: { step: { index: 0, name: 'Look' } },
      startedBy: { kind, name: names[kind] },
      reason: 'Look',
    });
    expect(origin?.approvedBy).toBeUndefined();
  });

  test('of a replay names the member who replayed the run, whose input it has', async () => {
    const { nodeId, device } = await pairNode();
    const other = await addMember('agent');
    const id = await create(workspace.api, [
      { type: 'skill', skillId: 'node.ping', input: { nodeId, waitMs: 60_000 }, name: 'Look' },
    ]);
    const { runId } = startedRun(await workspace.session.call('runAutomationWorkflow', { params: { id } }));
    const before = (await nextCommand(nodeId, device)).origin;
    expect(before).toMatchObject({ run: { id: runId }, startedBy: { name: workspace.email } });
    await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
    const { id: again } = await other.session.call('replayAutomationRun', {
      params: { id: runId },
      body: { payload: { room: 'harbour' } },
    });
    const { origin } = await nextCommand(nodeId, device);
    expect(origin).toMatchObject({ run: { id: again }, startedBy: { kind: 'user', name: other.email } });
  });

  test('of a skill that is called directly names no workflow', async () => {
    const { nodeId, device } = await pairNode();
    await workspace.api.call('runAutomationSkill', {
      params: { skillId: 'node.ping' },
      body: { input: { nodeId, waitMs: 60_000 } },
    });
    const { origin } = await nextCommand(nodeId, device);
    expect(origin).toMatchObject({ workspace: { id: workspace.tenantId }, startedBy: { kind: 'key' } });
    expect(origin?.workflow).toBeUndefined();
  });
});
