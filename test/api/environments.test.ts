import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { keptConnections } from '../fixtures/kept-connections.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { passScheduledTime } from '../fixtures/stage/automations.ts';
import { until } from '../fixtures/until.ts';

/** Requests that the external server received. */
const received: string[] = [];
const server = createServer(keptConnections, (request, response) => {
  received.push(request.url ?? '');
  request.resume();
  response.writeHead(200, { 'content-type': 'application/json' }).end('{}');
});
let hub: TestHub;
let workspace: TestWorkspace;
let tester: Client;
let testKey: string;
let outside: string;

beforeAll(async () => {
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  outside = `http://${host}/`;
  hub = await startHub({ EGRESS_ALLOW_HOSTS: host });
  workspace = await hub.workspace();
  testKey = (await workspace.createKey({ environment: 'test' })).key;
  tester = hub.client(testKey);
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  server.closeAllConnections();
  server.close();
});
beforeEach(() => {
  received.length = 0;
});

const deliver = () => ({ type: 'skill', skillId: 'webhook.deliver', input: { url: outside, body: 1 } });
const create = async (api: Client, steps: unknown[], triggerJson: unknown = { type: 'manual' }) =>
  (
    await api.call('createAutomationWorkflow', {
      body: { name: 'env', stepsJson: steps as never, triggerJson: triggerJson as never },
    })
  ).id;
const run = async (api: Client, id: string) =>
  startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} })).runId;
const ended = (id: string) => settledRun(workspace.api, id);
const runsOf = async (workflowId: string) =>
  (await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data;

/** Status and environment of a finished run, and the requests received so far. */
async function outcome(runId: string): Promise<unknown[]> {
  const { status, environment } = await ended(runId);
  return [status, environment, ...received];
}
const simulated = ['succeeded', 'test'];

describe('a test key has no live effects', () => {
  test('when it replays a test run, and a live key has none when it repeats this run', async () => {
    const id = await create(workspace.api, [deliver()]);
    const tested = await run(tester, id);
    expect(await outcome(tested)).toEqual(simulated);
    const replay = await tester.call('replayAutomationRun', { params: { id: tested }, body: { fromStep: 0 } });
    expect(await outcome(replay.id)).toEqual(simulated);
    expect(
      await outcome(
        (await workspace.api.call('replayAutomationRun', { params: { id: replay.id }, body: { fromStep: 0 } })).id,
      ),
    ).toEqual(simulated);
  });

  test('through a schedule that it saves, until a live key saves the schedule', async () => {
    const id = await create(tester, [deliver()], {
      type: 'schedule',
      schedule: { kind: 'at', at: new Date(Date.now() + 3_600_000).toISOString() },
    });
    await passScheduledTime(hub.database, id);
    await until(
      async () => (await runsOf(id)).length > 0,
      () => 'the schedule has not fired',
    );
    expect(await outcome(((await runsOf(id))[0] as { id: string }).id)).toEqual(simulated);
    const saved = await workspace.api.call('updateAutomationWorkflow', {
      params: { id },
      body: { triggerJson: { type: 'manual' } as never },
    });
    expect(saved.environment).toBe('live');
    expect(await ended(await run(workspace.api, id))).toMatchObject({ environment: 'live' });
    expect(received).toEqual(['/']);
  });

  test('through a hook, a child run or an error workflow that it saves', async () => {
    const token = 'the-token-of-a-tested-hook';
    const id = await create(tester, [deliver()], { type: 'webhook', webhook: { token } });
    const started = await send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
      headers: { 'x-service-automation-token': token },
      body: { workflowId: id },
    });
    expect(await outcome(started.body['runId'] as string)).toEqual(simulated);
    expect(
      await ended(
        await run(
          workspace.api,
          await create(workspace.api, [{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: id } }]),
        ),
      ),
    ).toMatchObject({ status: 'succeeded' });
    await workspace.api.call('putAutomationPolicy', { body: { errorWorkflowId: id } as never });
    await ended(
      await run(workspace.api, await create(workspace.api, [{ type: 'log', message: '{{payload.missing}}' }])),
    );
    await until(
      async () => (await runsOf(id)).length === 3,
      () => 'the error workflow has not run',
    );
    for (const { id: runId } of await runsOf(id)) expect(await outcome(runId)).toEqual(simulated);
    await workspace.api.call('putAutomationPolicy', { body: { errorWorkflowId: null } as never });
  });

  test('through a child run of its run, or a run that continues after an approval', async () => {
    const id = await create(tester, [{ type: 'approval', title: 'Go?' }, deliver()]);
    const waiting = await run(workspace.api, id);
    await ended(waiting);
    const [approval] = (
      await workspace.api.call('listAutomationApprovals', { query: { runId: waiting, status: 'pending' } })
    ).data;
    await workspace.api.call('decideAutomationApproval', {
      params: { id: approval?.id as string },
      body: { decision: 'approved' },
    });
    expect(await outcome(waiting)).toEqual(simulated);
    const inner = await create(workspace.api, [deliver()]);
    expect(
      await outcome(
        await run(
          tester,
          await create(workspace.api, [{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: inner } }]),
        ),
      ),
    ).toEqual(simulated);
    expect(await outcome(((await runsOf(inner))[0] as { id: string }).id)).toEqual(simulated);
  });
});

describe('a test key changes no live data', () => {
  const refused = { code: 'test_key_not_allowed', status: 403 };

  test('of workflows: it changes neither steps nor versions, and deletes none', async () => {
    const id = await create(workspace.api, [deliver()]);
    await expect(
      tester.call('updateAutomationWorkflow', { params: { id }, body: { name: 'changed' } }),
    ).rejects.toMatchObject(refused);
    await expect(tester.call('restoreAutomationWorkflowVersion', { params: { id, version: 1 } })).rejects.toMatchObject(
      refused,
    );
    await expect(tester.call('deleteAutomationWorkflow', { params: { id } })).rejects.toMatchObject(refused);
    expect(await workspace.api.call('getAutomationWorkflow', { params: { id } })).toMatchObject({
      name: 'env',
      version: 1,
      environment: 'live',
    });
    const own = await create(tester, [deliver()]);
    await tester.call('updateAutomationWorkflow', { params: { id: own }, body: { name: 'changed' } });
    await tester.call('deleteAutomationWorkflow', { params: { id: own } });
  });

  test('of runs: it cancels, retries and replays test runs only, one by one and in bulk', async () => {
    const id = await create(workspace.api, [{ type: 'approval', title: 'Go?' }]);
    const [live, tested] = [await run(workspace.api, id), await run(tester, id)];
    await expect(tester.call('cancelAutomationRun', { params: { id: live } })).rejects.toMatchObject(refused);
    const { results } = await tester.call('cancelAutomationRuns', { body: { ids: [live, tested] } });
    expect(results).toMatchObject([
      { id: live, ok: false, code: refused.code },
      { id: tested, ok: true },
    ]);
    await workspace.api.call('cancelAutomationRun', { params: { id: live } });
    for (const operation of ['retryAutomationRun', 'replayAutomationRun'] as const)
      await expect(tester.call(operation, { params: { id: live } })).rejects.toMatchObject(refused);
    await tester.call('retryAutomationRun', { params: { id: tested } });
  });

  test('of nodes, packs and routing: it assigns no agent, publishes and installs no pack, and allows no commands', async () => {
    const agent = { name: 'answers', systemPrompt: 'x', routeKeys: ['webhook'] };
    await expect(tester.call('createAutomationAgent', { body: agent })).rejects.toMatchObject(refused);
    await tester.call('createAutomationAgent', { body: { ...agent, routeKeys: [] } });
    for (const powers of [{ allowSystem: true }, { allowBrowser: true }])
      await expect(tester.call('createAutomationNode', { body: powers })).rejects.toMatchObject(refused);
    await tester.call('createAutomationNode', { body: {} });
    const pack = { manifest: {}, publish: true };
    await expect(tester.call('postAutomationSkillSdk', { body: pack })).rejects.toMatchObject(refused);
    await tester.call('postAutomationSkillSdk', { body: { manifest: {} } });
    const [shipped] = (await tester.call('listAutomationSkills', {})).data;
    const install = { packId: shipped?.id as string };
    await expect(tester.call('installAutomationSkill', { body: install })).rejects.toMatchObject(refused);
    await tester.call('installAutomationSkill', { body: { ...install, dryRun: true } });
  });

  test('of the knowledge of the AI and the connections of carriers', async () => {
    const { tenantId } = workspace;
    const { id } = await workspace.session.call('createCallConnection', {
      body: { provider: 'kamailio', name: 'live' },
    });
    const keyOf = async (product: 'ai' | 'voice', permission: 'knowledge:manage' | 'connections:manage') => {
      const { key } = await workspace.createKey({ product, environment: 'test', permissions: [permission] });
      return hub.client(key);
    };
    const [ai, voice] = [await keyOf('ai', 'knowledge:manage'), await keyOf('voice', 'connections:manage')];
    const knowledge = { params: { tenantId }, body: { entries: [], terms: '' } };
    await expect(ai.call('putKnowledge', knowledge)).rejects.toMatchObject(refused);
    await expect(voice.call('updateCallConnection', { params: { id }, body: { name: 'x' } })).rejects.toMatchObject(
      refused,
    );
    await expect(
      voice.call('createCallConnection', { body: { provider: 'kamailio', name: 'test' } }),
    ).rejects.toMatchObject(refused);
    await expect(voice.call('rotateCallConnection', { params: { id }, body: {} })).rejects.toMatchObject(refused);
    await expect(voice.call('deleteCallConnection', { params: { id } })).rejects.toMatchObject(refused);
    expect(await voice.call('getCallConnection', { params: { id } })).toMatchObject({ name: 'live' });
  });

  test('of approvals: it decides no approval of a live run, even with approvals:decide', async () => {
    const { key } = await workspace.createKey({
      environment: 'test',
      permissions: ['automations:manage', 'approvals:decide'],
    });
    const id = await create(workspace.api, [{ type: 'approval', title: 'Go?' }]);
    const approvalOf = async (runId: string) => {
      await ended(runId);
      const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId, status: 'pending' } });
      return { params: { id: data[0]?.id as string }, body: { decision: 'approved' as const } };
    };
    const live = await approvalOf(await run(workspace.api, id));
    await expect(hub.client(key).call('decideAutomationApproval', live)).rejects.toMatchObject(refused);
    const tested = await approvalOf(await run(tester, id));
    expect(await hub.client(key).call('decideAutomationApproval', tested)).toMatchObject({ status: 'approved' });
  });

  test('of sequences, agents, tool profiles, channels, nodes, models and policies, which live runs use', async () => {
    const { id: sequenceId } = await workspace.api.call('createAutomationSequence', {
      body: { name: 'seq', steps: [{ type: 'log', message: 'hi' }] },
    });
    const { nodeId } = await workspace.api.call('createAutomationNode', { body: {} });
    const call = (method: string, path: string, body?: object) =>
      send(hub.url, method, path, { headers: { 'x-api-key': testKey }, ...(body === undefined ? {} : { body }) });
    for (const [method, path, body] of [
      ['PATCH', `sequences/${sequenceId}`, { name: 'changed' }],
      ['DELETE', `sequences/${sequenceId}`],
      ['PUT', 'policies', { maxRunsPerHour: 1 }],
      ['PUT', 'models', { models: [], order: [] }],
      ['DELETE', `nodes/${nodeId}`],
      ['PATCH', `nodes/${nodeId}`, { name: 'mine' }],
    ] as const)
      expect(await call(method, `/v1/automations/${path}`, body), `${method} ${path}`).toMatchObject({
        status: 403,
        body: { code: refused.code },
      });
    const sequence = { params: { id: sequenceId } };
    expect(await workspace.api.call('getAutomationSequence', sequence)).toMatchObject({ name: 'seq' });
    // A test key can run workflows that live keys wrote, in the test environment.
    const { runId } = startedRun(await tester.call('runAutomationSequence', { ...sequence, body: {} }));
    expect(await ended(runId)).toMatchObject({ environment: 'test' });
  });

  test('of hooks: its idempotency key is separate from live calls, and it does not see the token', async () => {
    const token = 'the-token-of-a-live-hook';
    const id = await create(workspace.api, [deliver()], { type: 'webhook', webhook: { token } });
    const { triggerJson } = await tester.call('getAutomationWorkflow', { params: { id } });
    expect(JSON.stringify(triggerJson)).not.toContain(token);
    const hook = (headers: Record<string, string>) =>
      send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
        headers,
        body: { workflowId: id, idempotencyKey: 'order-1' },
      });
    const tested = (await hook({ 'x-api-key': testKey })).body['runId'] as string;
    expect(await ended(tested)).toMatchObject({ environment: 'test' });
    const live = await hook({ 'x-service-automation-token': token });
    expect(live.body['duplicate']).toBeUndefined();
    expect(await ended(live.body['runId'] as string)).toMatchObject({ status: 'succeeded', environment: 'live' });
    expect(received).toEqual(['/']);
  });

  test('of events: a live event starts live runs even if a test workflow rejects it', async () => {
    const own = await hub.workspace();
    const trigger = { type: 'webhook', webhook: { events: ['order.shipped'] } };
    const live = await create(own.api, [deliver()], trigger);
    await hub.client((await own.createKey({ environment: 'test' })).key).call('createAutomationWorkflow', {
      body: {
        name: 'refuses',
        stepsJson: [deliver()] as never,
        triggerJson: trigger as never,
        inputs: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] } as never,
      },
    });
    const call = () =>
      send(hub.url, 'POST', '/v1/automations/hooks/inbound', {
        headers: { 'x-api-key': own.key },
        body: { event: 'order.shipped' },
      });
    const started = await call();
    expect(started.body['runIds']).toBeUndefined();
    const { data } = await own.api.call('listAutomationRuns', { query: {} });
    expect(data.map(({ workflowId }) => workflowId)).toEqual([live]);
    await own.api.call('updateAutomationWorkflow', { params: { id: live }, body: { active: false } });
    const none = await call();
    expect(none.status).toBe(400);
    expect(none.body).toMatchObject({ code: 'validation_failed' });
  });
});
