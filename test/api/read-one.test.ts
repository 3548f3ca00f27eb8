import { afterAll, beforeAll, expect, test } from 'vitest';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { send } from '../fixtures/requests.ts';

let model: ModelServer;
let hub: TestHub;
let workspace: TestWorkspace;
let otherWorkspace: TestWorkspace;
beforeAll(async () => {
  model = await startModelServer();
  hub = await startHub({ AI_BASE_URL: model.baseUrl, AI_MODEL: 'alpha', RATE_LIMIT_PER_MINUTE: '1000000' });
  [workspace, otherWorkspace] = [await hub.workspace(), await hub.workspace()];
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});

const call = (key: string | undefined, method: string, path: string) =>
  send(hub.url, method, path, { headers: key === undefined ? {} : { 'x-api-key': key } });

test.each([
  [
    'agents',
    () => workspace.api.call('createAutomationAgent', { body: { name: 'a' } }),
    () => workspace.api.call('listAutomationAgents', { query: {} }),
  ],
  [
    'tool-profiles',
    () => workspace.api.call('putAutomationToolProfile', { body: { name: 'p', allow: ['memory.read'] } }),
    () => workspace.api.call('listAutomationToolProfiles', { query: {} }),
  ],
  [
    'channels',
    () =>
      workspace.api.call('putAutomationChannel', {
        body: { provider: 'webhook', name: 'c', config: { inboundSecret: 'a secret of sixteen' } },
      }),
    () => workspace.api.call('listAutomationChannels', { query: {} }),
  ],
  [
    'sequences',
    () =>
      workspace.api.call('createAutomationSequence', {
        body: { name: 's', steps: [{ type: 'log', message: 'x' }] },
      }),
    () => workspace.api.call('listAutomationSequences', { query: {} }),
  ],
] as const)(
  'one of %s is read and deleted with a key, and by the key of its workspace only',
  async (kind, make, list) => {
    const { id } = await make();
    const path = `/v1/automations/${kind}/${id}`;
    const [listed] = (await list()).data;
    expect((await call(workspace.key, 'GET', path)).body).toEqual(listed);
    expect((await call(workspace.key, 'GET', `/v1/automations/${kind}/nothing`)).status).toBe(400);
    for (const method of ['GET', 'DELETE']) {
      expect((await call(undefined, method, path)).status).toBe(401);
      expect((await call(workspace.keys.chat, method, path)).status).toBe(403);
      expect((await call(otherWorkspace.key, method, path)).status).toBe(404);
    }
    expect(await call(workspace.key, 'DELETE', path)).toMatchObject({ status: 200, body: { id, deleted: true } });
    expect((await call(workspace.key, 'GET', path)).status).toBe(404);
  },
);

test('runs of the AI agent are listed newest first and found by their metadata, within their workspace', async () => {
  model.reply = () => 'Yes.';
  const key = workspace.keys.ai as string;
  const api = hub.client(key);
  const ids: string[] = [];
  for (const metadata of [{ ticket: '1', team: 'a' }, { ticket: '2', team: 'a' }, {}] as Record<string, string>[])
    ids.push((await api.call('createAiRun', { body: { input: 'Open?', metadata } })).id);
  const found = async (query: object) => (await api.call('listAiRuns', { query })).data.map(({ id }) => id);
  expect(await found({})).toEqual(ids.toReversed());
  expect(await found({ metadata: '{"ticket":"1"}' })).toEqual([ids[0]]);
  expect(await found({ metadata: '{"team":"a"}' })).toEqual([ids[1], ids[0]]);
  expect(await found({ metadata: '{"team":"a","ticket":"3"}' })).toEqual([]);
  expect(await found({ status: 'failed' })).toEqual([]);
  expect(await found({ environment: 'test' })).toEqual([]);
  const first = await api.call('listAiRuns', { query: { limit: 2 } });
  const second = await api.call('listAiRuns', { query: { limit: 2, cursor: first.meta.nextCursor as string } });
  expect([...first.data, ...second.data].map(({ id }) => id)).toEqual(ids.toReversed());
  expect(second.meta.nextCursor).toBeNull();
  for (const query of ['metadata=ticket', 'metadata={"ticket":1}', 'status=done', 'cursor=x', 'limit=0'])
    expect((await call(key, 'GET', `/v1/ai/runs?${query}`)).status).toBe(400);
  expect((await call(undefined, 'GET', '/v1/ai/runs')).status).toBe(401);
  expect((await call(workspace.key, 'GET', '/v1/ai/runs')).status).toBe(403);
  expect((await call(otherWorkspace.keys.ai, 'GET', '/v1/ai/runs')).body).toMatchObject({ data: [] });
});

test('one node and one approval are read with a narrow key and a session, and only within their workspace', async () => {
  const { nodeId } = await workspace.api.call('createAutomationNode', { body: { name: 'desk' } });
  const { id: workflowId } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'gate', stepsJson: [{ type: 'approval', title: 'May I?' }] },
  });
  await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId } });
  const approvals = async () => (await workspace.api.call('listAutomationApprovals', { query: {} })).data;
  await expect.poll(async () => (await approvals()).length).toBe(1);
  const [approval] = await approvals();
  const { data: nodes } = await workspace.api.call('listAutomationNodes', { query: {} });
  const reader = (await workspace.createKey({ permissions: ['automations:read'] })).key;
  const runner = (await workspace.createKey({ permissions: ['automations:run'] })).key;
  const decider = (await workspace.createKey({ permissions: ['approvals:decide'] })).key;
  for (const [kind, expected] of [
    ['nodes', nodes.find(({ id }) => id === nodeId)],
    ['approvals', approval],
  ] as const) {
    const path = `/v1/automations/${kind}/${expected?.id}`;
    expect((await call(reader, 'GET', path)).body).toMatchObject(expected as object);
    const signedIn = await send(hub.url, 'GET', path, { headers: { authorization: `Bearer ${workspace.jwt}` } });
    expect(signedIn.body).toMatchObject(expected as object);
    expect((await call(reader, 'GET', `/v1/automations/${kind}/nothing`)).status).toBe(400);
    expect((await call(undefined, 'GET', path)).status).toBe(401);
    expect((await call(runner, 'GET', path)).status).toBe(403);
    expect((await call(otherWorkspace.key, 'GET', path)).status).toBe(404);
  }
  expect((await call(decider, 'GET', `/v1/automations/approvals/${approval?.id}`)).status).toBe(200);
});

test('a caller appends messages to a session of its workspace, and they come last in the transcript', async () => {
  const { id } = await workspace.api.call('createAutomationSession', { body: { scope: 'workspace', key: 'notes' } });
  const path = `/v1/automations/sessions/${id}/messages`;
  const post = (key: string | undefined, body: object) =>
    send(hub.url, 'POST', path, { headers: key === undefined ? {} : { 'x-api-key': key }, body });
  const message = { role: 'user', content: 'The shop is closed on Monday' };
  const first = await post(workspace.key, message);
  expect(first).toMatchObject({ status: 200, body: { ...message, runId: null } });
  await post(workspace.key, { role: 'assistant', content: 'Noted' });
  const { transcript } = await workspace.api.call('getAutomationSession', { params: { id }, query: {} });
  expect(transcript.data.map(({ role, content }) => ({ role, content }))).toEqual([
    message,
    { role: 'assistant', content: 'Noted' },
  ]);
  expect(transcript.data[0]).toEqual(first.body);
  for (const body of [{ ...message, role: 'system' }, { role: 'user' }, { role: 'user', content: 'x'.repeat(20_001) }])
    expect((await post(workspace.key, body)).status).toBe(400);
  expect((await post(undefined, message)).status).toBe(401);
  expect((await post((await workspace.createKey({ permissions: ['automations:read'] })).key, message)).status).toBe(
    403,
  );
  expect((await post(otherWorkspace.key, message)).status).toBe(404);
});
