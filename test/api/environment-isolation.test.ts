import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { patientDatabase, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { passScheduledTime } from '../fixtures/stage/automations.ts';
import { until } from '../fixtures/until.ts';
import { chatScene } from '../fixtures/visitor.ts';
import type { ChatScene } from '../fixtures/visitor.ts';
import { duringWriteLock } from '../fixtures/write-lock.ts';

let hub: TestHub;
let model: ModelServer;
let workspace: TestWorkspace;
let tester: Client;

beforeAll(async () => {
  model = await startModelServer();
  model.reply = () => 'FINAL: hello';
  hub = await startHub({ EGRESS_ALLOW_HOSTS: model.host }, undefined, patientDatabase);
  ({ workspace, tester } = await newWorkspace());
  await workspace.api.call('putAutomationModels', {
    body: { models: [{ id: 'm', provider: 'openai-compatible', baseUrl: model.baseUrl, model: 'x' }], order: ['m'] },
  });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

async function newWorkspace(): Promise<{ workspace: TestWorkspace; tester: Client }> {
  const made = await hub.workspace();
  return { workspace: made, tester: hub.client((await made.createKey({ environment: 'test' })).key) };
}

const approval = { type: 'approval', title: 'Go?' };
const log = { type: 'log', message: 'hi' };

async function workflow(api: Client, body: { steps?: unknown[]; trigger?: unknown; limits?: unknown }) {
  const { steps = [approval], trigger = { type: 'manual' }, limits = null } = body;
  const created = await api.call('createAutomationWorkflow', {
    body: { name: 'w', stepsJson: steps as never, triggerJson: trigger as never, limits: limits as never },
  });
  return created.id;
}

const start = async (api: Client, id: string) =>
  startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} })).runId;
/** The state of a run once it ended or waits for its approval. */
const settled = async (id: string, api = workspace.api) => (await settledRun(api, id)).status;

describe('limits count the runs of one environment', () => {
  test.each(['live', 'test'] as const)(
    'replace: a start of the other environment leaves a %s run open',
    async (environment) => {
      const [own, other] = environment === 'live' ? [workspace.api, tester] : [tester, workspace.api];
      const id = await workflow(workspace.api, { limits: { maxConcurrentRuns: 1, onLimit: 'replace' } });
      const first = await start(own, id);
      expect(await settled(first)).toBe('waiting_approval');
      expect(await settled(await start(other, id))).toBe('waiting_approval');
      expect(await settled(first)).toBe('waiting_approval');
      expect(await settled(await start(own, id))).toBe('waiting_approval');
      expect(await settled(first)).toBe('cancelled');
    },
  );

  test.each([
    { maxConcurrentRuns: 1, onLimit: 'drop' },
    { maxRunsPerMinute: 1, onLimit: 'drop' },
  ])('drop: a test run does not refuse a live run (%o)', async (limits) => {
    const id = await workflow(workspace.api, { limits });
    expect(await settled(await start(tester, id))).toBe('waiting_approval');
    await expect(start(tester, id)).rejects.toMatchObject({ code: 'workflow_limit_reached' });
    expect(await settled(await start(workspace.api, id))).toBe('waiting_approval');
    await expect(start(workspace.api, id)).rejects.toMatchObject({ code: 'workflow_limit_reached' });
  });

  test.each([
    { maxConcurrentRuns: 1, onLimit: 'queue' },
    { maxRunsPerMinute: 1, onLimit: 'queue' },
  ])('queue: a live run does not wait for a test run (%o)', async (limits) => {
    const id = await workflow(workspace.api, { limits });
    expect(await settled(await start(tester, id))).toBe('waiting_approval');
    const waiting = await start(tester, id);
    expect(await settled(await start(workspace.api, id))).toBe('waiting_approval');
    expect(await workspace.api.call('getAutomationRun', { params: { id: waiting } })).toMatchObject({
      status: 'queued',
    });
  });

  test('a waiting test run starts when a test run ends, not when a live run ends', async () => {
    const id = await workflow(workspace.api, { limits: { maxConcurrentRuns: 1, onLimit: 'queue' } });
    const [live, tested] = [await start(workspace.api, id), await start(tester, id)];
    expect([await settled(live), await settled(tested)]).toEqual(['waiting_approval', 'waiting_approval']);
    const waiting = await start(tester, id);
    const status = async () => (await workspace.api.call('getAutomationRun', { params: { id: waiting } })).status;
    await workspace.api.call('cancelAutomationRun', { params: { id: live } });
    expect(await settled(await start(workspace.api, id))).toBe('waiting_approval');
    expect(await status()).toBe('queued');
    await tester.call('cancelAutomationRun', { params: { id: tested } });
    expect(await settled(waiting)).toBe('waiting_approval');
  });

  test('the hourly limit of the policy', async () => {
    const own = await newWorkspace();
    await own.workspace.api.call('putAutomationPolicy', { body: { maxRunsPerHour: 1 } });
    const id = await workflow(own.workspace.api, { steps: [log] });
    const other = await workflow(own.workspace.api, { steps: [log] });
    expect(await settled(await start(own.tester, id), own.workspace.api)).toBe('succeeded');
    const waiting = [await start(own.tester, id), await start(own.tester, other)];
    expect(await settled(await start(own.workspace.api, other), own.workspace.api)).toBe('succeeded');
    const queued = await start(own.workspace.api, other);
    // Without the limit all of them start: the test runs of both workflows, and the live run.
    await own.workspace.api.call('putAutomationPolicy', { body: {} });
    for (const runId of [...waiting, queued]) expect(await settled(runId, own.workspace.api)).toBe('succeeded');
  });

  test('a schedule that skips overlaps fires beside an open test run', async () => {
    const at = new Date(Date.now() + 3_600_000).toISOString();
    const trigger = { type: 'schedule', schedule: { kind: 'at', at, overlap: 'skip' } };
    const limits = { maxConcurrentRuns: 1, onLimit: 'drop' };
    for (const body of [{ trigger }, { trigger, limits }]) {
      const id = await workflow(workspace.api, body);
      expect(await settled(await start(tester, id))).toBe('waiting_approval');
      await passScheduledTime(hub.database, id);
      await until(
        async () => {
          const { data } = await workspace.api.call('listAutomationRuns', { query: { workflowId: id } });
          return data.some(({ environment }) => environment === 'live');
        },
        () => 'the schedule has not fired',
      );
    }
  });
});

describe('messages of channels', () => {
  const secret = 'the-secret-of-a-live-channel';
  /** A channel that an agent answers. */
  async function channel() {
    const { id } = await workspace.api.call('putAutomationChannel', {
      body: { provider: 'webhook', name: 'shop', config: { inboundSecret: secret } },
    });
    await workspace.api.call('createAutomationAgent', {
      body: { name: 'answers', systemPrompt: 'Answer.', routeKeys: [`channel:${id}`] },
    });
    return id;
  }
  const inbound = async (id: string, headers: Record<string, string>, text = 'hello') =>
    (
      await send(hub.url, 'POST', `/v1/automations/channels/${id}/inbound`, {
        headers,
        body: { text, from: 'customer' },
      })
    ).body as { runIds: string[]; sessionId: string };
  const runsOf = (ids: string[]) =>
    Promise.all(
      ids.map(async (id) => {
        expect(await settled(id)).toBe('succeeded');
        return workspace.api.call('getAutomationRun', { params: { id } });
      }),
    );

  test('a test workflow starts with test messages only, so that the agent answers live messages', async () => {
    const id = await channel();
    const trigger = { type: 'channel', channel: { channelId: id } };
    const testing = await workflow(tester, { steps: [log], trigger });
    const live = await runsOf((await inbound(id, { 'x-service-automation-token': secret })).runIds);
    expect(live).toMatchObject([{ environment: 'live', stepsResultJson: [{ output: { text: 'hello' } }] }]);
    const { key } = await workspace.createKey({ environment: 'test' });
    const tested = await runsOf((await inbound(id, { 'x-api-key': key })).runIds);
    expect(tested).toMatchObject([{ environment: 'test', workflowId: testing }]);
  });

  test('a test message of the same sender continues a session of its own', async () => {
    const id = await channel();
    const { key } = await workspace.createKey({ environment: 'test' });
    const live = await inbound(id, { 'x-service-automation-token': secret }, 'live words');
    await runsOf(live.runIds);
    const tested = await inbound(id, { 'x-api-key': key }, 'test words');
    await runsOf(tested.runIds);
    expect(tested.sessionId).not.toBe(live.sessionId);
    expect(
      await workspace.api.call('getAutomationSession', { params: { id: tested.sessionId }, query: {} }),
    ).toMatchObject({ environment: 'test', transcript: { data: [{ content: 'test words' }, { content: 'hello' }] } });
    model.requests.length = 0;
    await runsOf((await inbound(id, { 'x-service-automation-token': secret }, 'more words')).runIds);
    expect(JSON.stringify(model.requests)).toContain('live words');
    expect(JSON.stringify(model.requests)).not.toContain('test words');
  });
});

describe('Live Chat', () => {
  async function write(scene: ChatScene, environment: 'live' | 'test') {
    const { api, conversationId } = await scene.visitor(undefined, environment);
    await api.call('sendVisitorMessage', { body: { content: 'hello', clientId: 'a' } });
    return conversationId;
  }

  test('a live event starts live workflows only, and a test event also test workflows, in test runs', async () => {
    const scene = await chatScene(hub);
    const { api } = scene.workspace;
    const own = hub.client((await scene.workspace.createKey({ environment: 'test' })).key);
    const trigger = { type: 'event', event: { type: 'message.created' } };
    const testing = await workflow(own, { steps: [log], trigger });
    const live = await workflow(api, { steps: [log], trigger });
    const runs = async () =>
      (await api.call('listAutomationRuns', { query: {} })).data
        .map(({ workflowId, environment }) => [workflowId, environment])
        .toSorted();
    const byLive = [[live, 'live']];
    await write(scene, 'live');
    expect(await runs()).toEqual(byLive);
    await write(scene, 'test');
    expect(await runs()).toEqual([...byLive, [live, 'test'], [testing, 'test']].toSorted());
  });

  test.each([
    ['live', 'test'],
    ['test', 'live'],
  ] as const)('%s conversations get the whole capacity of an agent beside %s conversations', async (one, another) => {
    const scene = await chatScene(hub);
    await scene.set({ autoAssignment: { enabled: true, capacity: 2, returnToPool: false } });
    const agent = await scene.agent();
    const writeToAgent = async (environment: 'live' | 'test') => {
      // An agent counts as away 30 seconds after the last sign of life.
      await scene.agent();
      return write(scene, environment);
    };
    const assigneesOf = (ids: string[]) =>
      Promise.all(
        ids.map(async (id) => {
          const at = { params: { tenantId: scene.tenantId, id } };
          return (await scene.workspace.session.call('getInboxConversation', at)).assignedUserId;
        }),
      );
    const writeThree = async (environment: 'live' | 'test') => [
      await writeToAgent(environment),
      await writeToAgent(environment),
      await writeToAgent(environment),
    ];
    const others = await writeThree(another);
    const own = await writeThree(one);
    const full = [agent, agent, null];
    expect([await assigneesOf(others), await assigneesOf(own)]).toEqual([full, full]);
    await scene.close(own[0] as string);
    await scene.agent();
    await hub.app.sweep();
    expect([await assigneesOf(others), await assigneesOf(own)]).toEqual([full, [agent, agent, agent]]);
  });
});

describe('sessions', () => {
  const textsOf = async (id: string) =>
    (await workspace.api.call('getAutomationSession', { params: { id }, query: {} })).transcript.data.map(
      ({ content }) => content,
    );

  test('a test key appends to test sessions only, and creates its own session of a key', async () => {
    const body = { scope: 'dm' as const, key: 'customer-1' };
    const live = await workspace.api.call('createAutomationSession', { body });
    const own = await tester.call('createAutomationSession', { body: { ...body, title: 'tried' } });
    expect([live.environment, own.environment]).toEqual(['live', 'test']);
    expect(own.id).not.toBe(live.id);
    expect((await tester.call('createAutomationSession', { body })).id).toBe(own.id);
    const append = (id: string) =>
      tester.call('appendAutomationSessionMessage', { params: { id }, body: { role: 'assistant', content: 'x' } });
    await expect(append(live.id)).rejects.toMatchObject({ code: 'test_key_not_allowed', status: 403 });
    await append(own.id);
    expect([await textsOf(live.id), await textsOf(own.id)]).toEqual([[], ['x']]);
  });

  test('a test run reads a live session and does not write to it', async () => {
    const { id } = await workspace.api.call('createAutomationSession', { body: { scope: 'dm', key: 'customer-2' } });
    const steps = [{ type: 'agent', prompt: 'asked', sessionId: id }];
    const ask = await workflow(workspace.api, { steps });
    expect(await settled(await start(workspace.api, ask))).toBe('succeeded');
    model.requests.length = 0;
    const runId = await start(tester, ask);
    expect(await settled(runId)).toBe('succeeded');
    expect(model.requests[0]?.messages.length).toBeGreaterThan(2);
    expect(await textsOf(id)).toEqual(['asked', 'hello']);
    const own = await tester.call('createAutomationSession', { body: { scope: 'dm', key: 'customer-2' } });
    const askOwn = await workflow(workspace.api, { steps: [{ type: 'agent', prompt: 'asked', sessionId: own.id }] });
    expect(await settled(await start(tester, askOwn))).toBe('succeeded');
    expect(await textsOf(own.id)).toEqual(['asked', 'hello']);
  });
});

test('a test key deletes no workflow that a live key saves at the same time', async () => {
  const id = await workflow(tester, { steps: [log] });
  const save = () => workspace.api.call('updateAutomationWorkflow', { params: { id }, body: { name: 'saved' } });
  const remove = () => tester.call('deleteAutomationWorkflow', { params: { id } });
  const [saved, removed] = await duringWriteLock(hub.database, 'audit_log', [save, remove]);
  expect(saved).toMatchObject({ environment: 'live' });
  expect(removed).toEqual({ status: 403 });
  expect(await workspace.api.call('getAutomationWorkflow', { params: { id } })).toMatchObject({ name: 'saved' });
});
