import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { growthResources } from '../../shared/contract/automations/growth.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';

let hub: TestHub;
let workspace: TestWorkspace;
let agentJwt: string;
beforeAll(async () => {
  hub = await startHub();
  workspace = await hub.workspace();
  await workspace.session.call('addMember', {
    params: { tenantId: workspace.tenantId },
    body: { email: 'agent@example.org', password: 'correct horse battery', role: 'agent' },
  });
  agentJwt = (
    await hub.client().call('logIn', { body: { email: 'agent@example.org', password: 'correct horse battery' } })
  ).token;
});
afterAll(() => hub[Symbol.asyncDispose]());

const steps = [{ type: 'log' as const, message: 'x' }];
const as = (jwt: string, method: string, path: string, body?: unknown) =>
  send(hub.url, method, path, { headers: { authorization: `Bearer ${jwt}` }, ...(body === undefined ? {} : { body }) });

describe('the operations of the dashboard', () => {
  test('accept the base version of a workflow in an update', async () => {
    const { id, version } = await workspace.session.call('growthCreateWorkflow', {
      body: { name: 'guarded', stepsJson: steps },
    });
    const change = (name: string) =>
      send(hub.url, 'PATCH', `/growth/automations/workflows/${id}`, {
        headers: { authorization: `Bearer ${workspace.jwt}`, 'if-match': `"${version}"` },
        body: { name },
      });
    const first = await change('first');
    expect(first).toMatchObject({ status: 200, body: { name: 'first', version: version + 1 } });
    expect(first.headers.get('etag')).toBe(`"${version + 1}"`);
    expect(await change('second')).toMatchObject({ status: 409, body: { code: 'version_conflict' } });
  });

  test('return and create the same data as the operations for keys', async () => {
    const { session, api } = workspace;
    const workflow = await session.call('growthCreateWorkflow', {
      body: { name: 'from the dashboard', stepsJson: steps },
    });
    expect((await session.call('growthListWorkflows', {})).data).toEqual(
      (await api.call('listAutomationWorkflows', {})).data,
    );
    const { runId } = startedRun(
      await session.call('growthRunWorkflow', { params: { id: workflow.id }, body: { payload: { a: 1 } } }),
    );
    const run = await settledRun(api, runId);
    expect(run).toMatchObject({
      status: 'succeeded',
      trigger: { type: 'manual', by: expect.stringMatching(/^user:/) as string },
    });
    expect((await session.call('growthListRuns', {})).data.map(({ id }) => id)).toContain(runId);
    const sequence = await session.call('growthCreateSequence', { body: { name: 's', steps } });
    expect((await session.call('growthListSequences', {})).data).toEqual([sequence]);
    const agent = await session.call('growthCreateAgent', { body: { name: 'a' } });
    expect((await session.call('growthListAgents', {})).data).toEqual([agent]);
    await api.call('createAutomationSession', { body: { scope: 'dm', key: 'k' } });
    expect((await session.call('growthListSessions', { query: { scope: 'dm' } })).data).toMatchObject([{ key: 'k' }]);
    await api.call('putAutomationChannel', {
      body: { provider: 'webhook', name: 'c', config: { inboundSecret: 'sixteen-characters' } },
    });
    expect((await session.call('growthListChannels', {})).data).toMatchObject([{ name: 'c' }]);
    expect(await session.call('growthPutPolicy', { body: { standingOrders: 'Be kind.' } })).toMatchObject({
      standingOrders: 'Be kind.',
    });
    expect(await api.call('getAutomationPolicy', {})).toMatchObject({ standingOrders: 'Be kind.' });
    expect(
      await session.call('growthRunWorkflow', { params: { id: workflow.id }, query: { dryRun: 'true' } }),
    ).toMatchObject({ dryRun: true, runnable: true });
  });

  test('the console returns all its data in one call', async () => {
    const { id } = await workspace.session.call('growthCreateWorkflow', {
      body: { name: 'ask', stepsJson: [{ type: 'approval', title: 'ok?' }] },
    });
    const { runId } = startedRun(await workspace.session.call('growthRunWorkflow', { params: { id } }));
    await settledRun(workspace.api, runId);
    await workspace.api.call('createAutomationNode', { body: { name: 'n' } });
    const view = await workspace.session.call('growthConsole', {});
    expect(view).toMatchObject({
      runs: { open: { queued: 0, running: 0, waitingApproval: 1 } },
      approvals: { pending: 1, recent: [{ runId, title: 'ok?' }] },
      nodes: [{ name: 'n', status: 'pending' }],
      agents: [{ name: 'a' }],
      sessions: [{ key: 'k' }],
      slo: { window: '24h' },
    });
    expect(view.runs.recent[0]?.id).toBe(runId);
    const decided = await workspace.session.call('growthDecideApproval', {
      params: { id: view.approvals.recent[0]?.id as string },
      body: { decision: 'approved' },
    });
    expect(decided).toMatchObject({ status: 'approved', decidedBy: expect.stringMatching(/^user:/) as string });
    expect(
      (await workspace.session.call('growthListApprovals', { query: { status: 'approved' } })).data.map(
        ({ id: approvalId }) => approvalId,
      ),
    ).toContain(decided.id);
  });

  test('every resource can be updated and deleted by permitted callers, and by no member of another workspace', async () => {
    const { api, session } = workspace;
    const channel = await api.call('putAutomationChannel', {
      body: { provider: 'webhook', name: 'c2', config: { inboundSecret: 'sixteen-characters' } },
    });
    const made: Record<(typeof growthResources)[number], { id: string; change: Record<string, unknown> }> = {
      workflows: {
        id: (await api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: steps } })).id,
        change: { name: 'changed' },
      },
      sequences: {
        id: (await api.call('createAutomationSequence', { body: { name: 's', steps } })).id,
        change: { name: 'changed' },
      },
      agents: {
        id: (await api.call('createAutomationAgent', { body: { name: 'a' } })).id,
        change: { name: 'changed' },
      },
      'tool-profiles': {
        id: (await api.call('putAutomationToolProfile', { body: { name: 't', allow: ['memory.*'] } })).id,
        change: { name: 'changed' },
      },
      channels: { id: channel.id, change: { name: 'changed', active: false } },
      nodes: { id: (await api.call('createAutomationNode', { body: {} })).nodeId, change: { name: 'changed' } },
      sessions: {
        id: (await api.call('createAutomationSession', { body: { scope: 'group', key: 'g' } })).id,
        change: { title: 'changed' },
      },
    };
    const otherWorkspace = await hub.workspace();
    for (const resource of growthResources) {
      const { id, change } = made[resource];
      const path = `/growth/automations/${resource}/${id}`;
      const forMembers = ['workflows', 'sequences', 'agents'].includes(resource);
      for (const [method, body] of [
        ['PATCH', change],
        ['DELETE', undefined],
      ] as const) {
        expect((await as(otherWorkspace.jwt, method, path, body)).body).toMatchObject({
          statusCode: 404,
          code: 'not_found',
        });
        expect((await as(workspace.jwt, method, `/growth/automations/${resource}/${missingId}`, body)).status).toBe(
          404,
        );
        if (!forMembers)
          expect((await as(agentJwt, method, path, body)).body).toMatchObject({
            statusCode: 403,
            code: 'role_required',
          });
      }
      const changed = await as(forMembers ? agentJwt : workspace.jwt, 'PATCH', path, change);
      expect([resource, changed.status, changed.body]).toMatchObject([resource, 200, { id, ...change }]);
      expect((await as(workspace.jwt, 'PATCH', path, { no_such_field: 1 })).body).toMatchObject({
        statusCode: 400,
        code: 'validation_failed',
      });
      expect((await as(workspace.jwt, 'PATCH', path, {})).status).toBe(400);
      expect((await as(forMembers ? agentJwt : workspace.jwt, 'DELETE', path)).body).toEqual({ id, deleted: true });
    }
    // A tool profile in use cannot be deleted.
    const profile = await api.call('putAutomationToolProfile', { body: { name: 'used', allow: ['memory.read'] } });
    await api.call('createAutomationAgent', { body: { name: 'user', toolProfileId: profile.id } });
    expect((await as(workspace.jwt, 'DELETE', `/growth/automations/tool-profiles/${profile.id}`)).body).toMatchObject({
      statusCode: 409,
      code: 'conflict',
    });
    expect(
      await session.call('growthUpdateResource', {
        params: { resource: 'tool-profiles', id: profile.id },
        body: { deny: ['memory.write'] },
      }),
    ).toMatchObject({ allow: ['memory.read'], deny: ['memory.write'] });
  });

  test('the audit log contains every change with its actor', async () => {
    const own = await hub.workspace();
    const { id } = await own.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: steps } });
    await own.session.call('growthUpdateResource', { params: { resource: 'workflows', id }, body: { name: 'v' } });
    await own.session.call('growthDeleteResource', { params: { resource: 'workflows', id } });
    const { data } = await own.session.call('listAuditLog', {
      params: { tenantId: own.tenantId },
      query: { targetType: 'workflow', targetId: id },
    });
    expect(data.map(({ action, actor }) => [action, actor.split(':')[0]])).toEqual([
      ['workflow.deleted', 'user'],
      ['workflow.updated', 'user'],
      ['workflow.created', 'token'],
    ]);
    expect(
      (
        await own.session.call('listAuditLog', {
          params: { tenantId: own.tenantId },
          query: { actor: data[0]?.actor as string },
        })
      ).data.length,
    ).toBeGreaterThanOrEqual(2);
    expect((await as(agentJwt, 'GET', `/tenants/${workspace.tenantId}/audit`)).body).toMatchObject({
      statusCode: 403,
      code: 'role_required',
    });
    expect((await as(workspace.jwt, 'GET', `/tenants/${own.tenantId}/audit`)).status).toBe(404);
  });

  test('require the entitlement', async () => {
    const own = await hub.workspace();
    await hub
      .client('platform-admin-key-of-the-tests')
      .call('putEntitlements', { params: { tenantId: own.tenantId }, body: { automations: false } });
    expect((await as(own.jwt, 'GET', '/growth/automations/console')).body).toMatchObject({
      statusCode: 403,
      code: 'product_not_entitled',
    });
  });
});
