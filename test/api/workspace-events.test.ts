import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { workspaceEvent } from '../../shared/contract/core/events.ts';
import type { WorkspaceEvent } from '../../shared/contract/core/events.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { untilOlderTransactionsEnd } from '../fixtures/older-transactions.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { openStream } from '../fixtures/server-sent-events.ts';
import type { OpenStream } from '../fixtures/server-sent-events.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { ageWorkspaceEvents } from '../fixtures/stage/core.ts';
import { addNodes, ageHeartbeat } from '../fixtures/stage/nodes.ts';

let hub: TestHub;
let second: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ NODE_HEARTBEAT_SECONDS: '300' });
  second = await startHub({ NODE_HEARTBEAT_SECONDS: '300' }, hub.database);
});
afterAll(async () => {
  await second[Symbol.asyncDispose]();
  await hub[Symbol.asyncDispose]();
});
beforeEach(async () => {
  workspace = await hub.workspace();
});

const pathOf = ({ tenantId }: TestWorkspace) => `/tenants/${tenantId}/events`;

/** Opens the stream of a member at one of the hubs, from its first event on. */
async function follow(
  own = workspace,
  { at = hub, jwt = own.jwt, lastEventId = undefined as string | undefined } = {},
) {
  const stream = await openStream(`${at.url}${pathOf(own)}`, jwt, lastEventId);
  if (lastEventId === undefined) await expect.poll(() => stream.received[0]?.event).toBe('ready');
  return stream;
}

/** The events of a stream, checked against the contract. */
function eventsOf<Type extends WorkspaceEvent['type']>(
  stream: OpenStream,
  type: Type,
): Extract<WorkspaceEvent, { type: Type }>[] {
  return stream.received
    .filter(({ event }) => event !== 'end')
    .map(({ event, id, data }) => {
      const parsed = workspaceEvent.parse(data);
      expect([parsed.type, id]).toEqual([event, expect.stringMatching(/^[0-9a-z.-]+$/)]);
      return parsed;
    })
    .filter((event): event is Extract<WorkspaceEvent, { type: Type }> => event.type === type);
}

async function start(own: TestWorkspace, steps: unknown[]): Promise<string> {
  const { id } = await own.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: steps } as never });
  return startedRun(await own.api.call('runAutomationWorkflow', { params: { id } })).runId;
}

let paired = 0;
async function pair({ api }: TestWorkspace, name = `Bridge ${(paired += 1)}`) {
  const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: { name } });
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode,
      device: { name: 'd', platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1.0.0', capabilities: [] },
    },
  });
  const beat = () =>
    hub.client(deviceSecret).call('heartbeatAutomationNode', { params: { id: nodeId }, body: { paused: false } });
  return { nodeId, beat };
}

describe('the stream of a workspace', () => {
  test('sends a member the changes of runs, steps and approvals on every process, and no event of another workspace', async () => {
    const foreign = await follow(await hub.workspace());
    const streams = [await follow(), await follow(workspace, { at: second })];
    const runId = await start(workspace, [
      { type: 'log', message: 'secret words' },
      { type: 'approval', title: 'Go on?' },
      { type: 'skill', skillId: 'memory.read', input: { key: 'nothing' } },
    ]);
    await expect.poll(() => eventsOf(streams[0] as OpenStream, 'approval').length).toBe(1);
    const [approval] = (await workspace.api.call('listAutomationApprovals', { query: { runId } })).data;
    await workspace.session.call('growthDecideApproval', {
      params: { id: approval?.id as string },
      body: { decision: 'approved' },
    });
    const run = await settledRun(workspace.api, runId);
    for (const stream of streams) {
      await expect.poll(() => eventsOf(stream, 'run').at(-1)?.status).toBe(run.status);
      await expect.poll(() => eventsOf(stream, 'step').at(-1)?.index).toBe(2);
      expect(eventsOf(stream, 'run').map(({ status }) => status)).toEqual([
        'queued',
        'running',
        'waiting_approval',
        'queued',
        'running',
        run.status,
      ]);
      expect(eventsOf(stream, 'run').at(-1)).toEqual({
        type: 'run',
        at: expect.any(String) as string,
        id: runId,
        workflowId: run.workflowId,
        status: run.status,
        errorCode: run.error?.code ?? null,
        startedAt: run.startedAt,
        finishedAt: run.finishedAt,
      });
      const steps = eventsOf(stream, 'step').map(({ index, status }) => [index, status]);
      expect(steps).toEqual([
        [0, 'succeeded'],
        [1, 'waiting_approval'],
        [1, 'succeeded'],
        [2, run.stepsResultJson[2]?.status],
      ]);
      expect(eventsOf(stream, 'approval')).toMatchObject([
        { id: approval?.id, runId, stepIndex: 1, kind: 'step', status: 'pending' },
        { id: approval?.id, status: 'approved' },
      ]);
      expect(JSON.stringify(stream.received)).not.toContain('secret words');
    }
    expect(foreign.received.map(({ event }) => event)).toEqual(['ready']);
  });

  test('sends when a run was cancelled, retried, or failed, with the error code', async () => {
    const stream = await follow();
    const runId = await start(workspace, [{ type: 'approval', title: 'Go on?' }]);
    await settledRun(workspace.api, runId);
    await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
    await expect.poll(() => eventsOf(stream, 'run').at(-1)?.status).toBe('cancelled');
    await expect
      .poll(() => eventsOf(stream, 'step').at(-1))
      .toMatchObject({ status: 'failed', errorCode: 'cancelled' });
    await expect.poll(() => eventsOf(stream, 'approval').at(-1)?.status).toBe('expired');
    const retried = await workspace.api.call('retryAutomationRun', { params: { id: runId } });
    await expect
      .poll(() => eventsOf(stream, 'run').find(({ id }) => id === retried.id))
      .toMatchObject({ status: 'queued', workflowId: retried.workflowId });
  });

  test('sends when a node is created, paired, renamed, changed, silent, online and revoked, and nothing for a heartbeat', async () => {
    const stream = await follow();
    const changes = () => eventsOf(stream, 'node').map(({ change, status, name }) => [change, status, name]);
    const { nodeId, beat } = await pair(workspace, 'Bridge');
    const expected = [
      ['created', 'pending', 'Bridge'],
      ['paired', 'pending', 'Bridge'],
    ];
    await expect.poll(changes).toEqual(expected);
    expected.push(['online', 'online', 'Bridge']);
    for (let count = 0; count < 3; count += 1) await beat();
    const update = (body: { name?: string; tags?: string[]; allowBrowser?: boolean }) =>
      workspace.api.call('updateAutomationNode', { params: { id: nodeId }, body });
    await update({ name: 'Deck' });
    expected.push(['renamed', 'online', 'Deck']);
    await update({ tags: ['ship'] });
    await update({ tags: ['ship'] });
    await update({ allowBrowser: true });
    expected.push(['changed', 'online', 'Deck'], ['changed', 'online', 'Deck']);
    await expect.poll(changes).toEqual(expected);
    await hub.app.sweep();
    await ageHeartbeat(hub.database, nodeId, { seconds: 901 });
    await hub.app.sweep();
    expected.push(['offline', 'offline', 'Deck']);
    await expect.poll(changes).toEqual(expected);
    await hub.app.sweep();
    await beat();
    expected.push(['online', 'online', 'Deck']);
    await expect.poll(changes).toEqual(expected);
    await workspace.api.call('deleteAutomationNode', { params: { id: nodeId } });
    expected.push(['revoked', 'revoked', 'Deck']);
    await expect.poll(changes).toEqual(expected);
  });

  test('resumes after the last event id of a client, on any hub process and after a restart', async () => {
    const first = await startHub({}, hub.database);
    const before = await follow(workspace, { at: first });
    await pair(workspace);
    await expect.poll(() => eventsOf(before, 'node').length).toBe(2);
    await first[Symbol.asyncDispose]();
    await expect.poll(() => before.isOver).toBe(true);
    await pair(workspace);
    const again = await startHub({}, hub.database);
    onTestFinished(() => again[Symbol.asyncDispose]());
    const after = await follow(workspace, { at: again, lastEventId: before.lastEventId as string });
    const at = await follow(workspace, { at: second, lastEventId: before.received[1]?.id as string });
    await pair(workspace);
    await expect
      .poll(() => eventsOf(after, 'node').map(({ change }) => change))
      .toEqual(['created', 'paired', 'created', 'paired']);
    expect(after.received.map(({ event }) => event)).toEqual(['node', 'node', 'node', 'node']);
    await expect.poll(() => at.received.length).toBe(5);
    const known = new Set(eventsOf(before, 'node').map(({ id }) => id));
    expect(eventsOf(after, 'node').some(({ id }) => known.has(id))).toBe(false);
  });

  test('sends a reset to a client whose last event is no longer stored', async () => {
    const stream = await follow();
    await pair(workspace);
    await expect.poll(() => eventsOf(stream, 'node').length).toBe(2);
    await ageWorkspaceEvents(hub.database, workspace.tenantId, { hours: 25 });
    // A pass of the sweep has a time limit, and the next pass removes the rest.
    const left = async () => {
      await hub.app.sweep();
      return (
        await hub.database.query<{ count: number }>(
          "select count(*)::int as count from workspace_events where tenant_id = $1 and at < now() - interval '24 hours'",
          [workspace.tenantId],
        )
      )[0]?.count;
    };
    await expect.poll(left).toBe(0);
    await untilOlderTransactionsEnd(hub.database, workspace.tenantId);
    const outrun = await follow(workspace, { at: second, lastEventId: stream.received[0]?.id as string });
    await expect.poll(() => eventsOf(outrun, 'reset').length).toBe(1);
    await pair(workspace);
    await expect.poll(() => outrun.received.map(({ event }) => event)).toEqual(['reset', 'node', 'node']);
  });

  test('starts from now for an invalid last event id', async () => {
    const stream = await follow(workspace, { lastEventId: 'never seen' });
    await expect.poll(() => stream.received.map(({ event }) => event)).toEqual(['ready']);
  });

  test('is available without the entitlement for automations, and sends their events once it exists', async () => {
    const entitle = (automations: boolean) =>
      hub.client(adminKey).call('putEntitlements', { params: { tenantId: workspace.tenantId }, body: { automations } });
    await entitle(false);
    const stream = await follow();
    await entitle(true);
    await pair(workspace);
    await expect.poll(() => eventsOf(stream, 'node').map(({ change }) => change)).toEqual(['created', 'paired']);
  });

  test('ends with its session, and when its user is removed, on any process, and only for this user', async () => {
    const email = `agent.${workspace.email}`;
    await workspace.session.call('addMember', {
      params: { tenantId: workspace.tenantId },
      body: { email, password: workspace.password, role: 'agent' },
    });
    const signIn = async () =>
      (await hub.client().call('logIn', { body: { email, password: workspace.password } })).token;
    const [leaving, removed] = [await signIn(), await signIn()];
    const streams = [await follow(workspace, { jwt: leaving }), await follow(workspace, { jwt: removed })];
    const other = await follow();
    const expectEnd = async (stream: OpenStream | undefined) => {
      await expect.poll(() => stream?.isOver).toBe(true);
      expect(stream?.received.at(-1)).toMatchObject({ event: 'end', data: { code: 'unauthenticated' } });
    };
    await second.client(leaving).call('logOut');
    await expectEnd(streams[0]);
    expect(streams[1]?.isOver).toBe(false);
    await second.app.identity.members.remove(workspace.tenantId, { email }, 'cli', { revokeKeys: false });
    await expectEnd(streams[1]);
    expect(other.isOver).toBe(false);
  });

  test('is not blocked by a client that does not read', async () => {
    const { hostname, port } = new URL(hub.url);
    const socket = connect(Number(port), hostname);
    onTestFinished(() => {
      socket.destroy();
    });
    await once(socket, 'connect');
    socket.pause();
    const stream = await follow();
    socket.write(
      `GET ${pathOf(workspace)} HTTP/1.1\r\nHost: hub\r\nAuthorization: Bearer ${workspace.jwt}\r\nLast-Event-ID: ${stream.lastEventId}\r\n\r\n`,
    );
    await addNodes(hub.database, workspace.tenantId, { count: 9_000, name: 'x'.repeat(200) });
    await expect.poll(() => stream.received.length).toBe(9_001);
    await start(workspace, [{ type: 'log', message: 'done' }]);
    await expect.poll(() => eventsOf(stream, 'run').at(-1)?.status).toBe('succeeded');
  });

  test('is only available to members of the workspace', async () => {
    const other = await hub.workspace();
    const get = (path: string, headers: Record<string, string>) => send(hub.url, 'GET', path, { headers });
    const as = (token: string) => ({ authorization: `Bearer ${token}` });
    expect(await get(pathOf(workspace), {})).toMatchObject({ status: 401, body: { code: 'unauthenticated' } });
    expect(await get(pathOf(workspace), as(workspace.key))).toMatchObject({ status: 401 });
    expect(await get(pathOf(workspace), as(other.jwt))).toMatchObject({ status: 404, body: { code: 'not_found' } });
    expect(await get(`/tenants/${missingId}/events`, as(workspace.jwt))).toMatchObject({ status: 404 });
    expect(await get('/tenants/nobody/events', as(workspace.jwt))).toMatchObject({
      status: 400,
      body: { code: 'validation_failed' },
    });
    expect(await get(`${pathOf(workspace)}?after=1`, as(workspace.jwt))).toMatchObject({ status: 400 });
  });
});
