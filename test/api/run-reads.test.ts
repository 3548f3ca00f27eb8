import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { openStream } from '../fixtures/server-sent-events.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', STREAMS_PER_WORKSPACE: '50', STREAMS_PER_KEY: '50' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

async function start(stepsJson: object[], body: object = {}): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } as never });
  return startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id }, body: body as never })).runId;
}

async function approve(runId: string): Promise<void> {
  const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId, status: 'pending' } });
  await workspace.session.call('growthDecideApproval', {
    params: { id: data[0]?.id as string },
    body: { decision: 'approved' },
  });
}

const get = (path: string, key = workspace.key) =>
  send(hub.url, 'GET', `/v1/automations/runs/${path}`, { headers: { authorization: `Bearer ${key}` } });

const writes = { type: 'skill', skillId: 'memory.write', input: { key: 'k', value: '{{payload.city}}' } };

test('a run can be read without its inputs and outputs, and each of its steps in full', async () => {
  const runId = await start([writes, { type: 'log', message: 'end' }], { payload: { city: 'Bern' }, context: 'c' });
  const whole = await settledRun(workspace.api, runId);
  const [step] = whole.stepsResultJson;
  expect(step).toMatchObject({ input: { key: 'k', value: 'Bern' }, output: expect.anything() });
  expect((await get(`${runId}?include=inputs,outputs`)).body).toEqual(whole);

  const withoutInput = { payload: null, context: null };
  const stepsWith = (part: object) => whole.stepsResultJson.map((one) => ({ ...one, ...part }));
  const noOutput = { output: null, outputText: null };
  expect((await get(`${runId}?include=outputs`)).body).toEqual({
    ...whole,
    ...withoutInput,
    stepsResultJson: stepsWith({ input: null }),
  });
  expect((await get(`${runId}?include=inputs`)).body).toEqual({ ...whole, stepsResultJson: stepsWith(noOutput) });
  expect((await get(`${runId}?include=`)).body).toEqual({
    ...whole,
    ...withoutInput,
    stepsResultJson: stepsWith({ input: null, ...noOutput }),
  });
  expect((await get(`${runId}/steps/0`)).body).toEqual(step);

  expect(await get(`${runId}?include=secrets`)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  expect(await get(`${runId}/steps/200`)).toMatchObject({ status: 400, body: { code: 'validation_failed' } });
  for (const path of [`${runId}/steps/2`, `${missingId}/steps/0`])
    expect(await get(path)).toMatchObject({ status: 404, body: { code: 'not_found' } });
  const other = await hub.workspace();
  expect((await get(`${runId}/steps/0`, other.key)).status).toBe(404);
  const { key } = await workspace.createKey({ permissions: ['automations:run'] } as never);
  expect((await get(`${runId}/steps/0`, key)).status).toBe(403);
});

test('streams of a run share their reads, and read again only the steps that changed', async () => {
  const viewers = 20;
  const runId = await start([writes, { type: 'approval', title: 'ok?' }, writes, { type: 'approval', title: 'ok?' }], {
    payload: { city: 'Bern' },
  });
  const path = `${hub.url}/v1/automations/runs/${runId}/events`;
  const streams = await Promise.all(Array.from({ length: viewers }, () => openStream(path, workspace.key)));
  const seen = (stream: (typeof streams)[number]) =>
    stream.received.map(({ event, data }) =>
      event === 'run' ? data['status'] : `${String(data['index'])} ${String(data['status'])}`,
    );
  for (const stream of streams) await expect.poll(() => seen(stream)).toContain('waiting_approval');

  using recorder = new StatementRecorder(1_000);
  await approve(runId);
  for (const stream of streams) await expect.poll(() => seen(stream)).toContain('3 waiting_approval');
  await approve(runId);
  for (const stream of streams) {
    await expect.poll(() => stream.isOver).toBe(true);
    expect(seen(stream).filter((one) => one === '0 succeeded')).toEqual(['0 succeeded']);
    // `running` can be sent between the two: it is read before the steps, and the run can end between these reads.
    expect(
      seen(stream)
        .filter((one) => String(one).startsWith('3 '))
        .at(-1),
    ).toBe('3 succeeded');
    expect(seen(stream).at(-1)).toBe('succeeded');
    expect(stream.received.at(-1)?.id).toBe('ended');
  }
  const named = (name: string) => recorder.statements.filter((statement) => statement.name === name);
  expect(named('read_run').length).toBeLessThan(viewers);
  const partial = named('read_steps').flatMap(({ values }) => values.filter((value) => Array.isArray(value)));
  expect(partial.flat()).not.toContain(0);
});

test('a stream can omit inputs and outputs', async () => {
  const runId = await start([writes], { payload: { city: 'Bern' } });
  const stream = await openStream(`${hub.url}/v1/automations/runs/${runId}/events?include=`, workspace.key);
  await expect.poll(() => stream.isOver).toBe(true);
  const [step] = stream.received.filter(({ event }) => event === 'step').map(({ data }) => data);
  expect(step).toMatchObject({ index: 0, status: 'succeeded', input: null, output: null, outputText: null });
  expect(stream.received.at(-1)).toMatchObject({ event: 'run', data: { status: 'succeeded', payload: null } });
});

async function pair() {
  const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: { allowBrowser: true } });
  const device = { name: 'd', platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1', capabilities: [] };
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: { pairingCode, device: device as never },
  });
  const client = hub.client(deviceSecret);
  /** Completes the next command. */
  const answer = async (body: object) => {
    const { commands } = await client.call('pollAutomationNodeCommands', {
      params: { id: nodeId },
      query: { wait: 20, max: 1 } as never,
    });
    const commandId = commands[0]?.id as string;
    await client.call('completeAutomationNodeCommand', { params: { id: nodeId, commandId }, body: body as never });
    return commandId;
  };
  return { nodeId, answer, client };
}

test('a stream sends a step again when its device leases its command', async () => {
  const { nodeId, client } = await pair();
  const runId = await start([{ type: 'skill', skillId: 'node.ping', input: { nodeId } }]);
  const stream = await openStream(`${hub.url}/v1/automations/runs/${runId}/events`, workspace.key);
  const seen = () =>
    stream.received.flatMap(({ event, data }) =>
      event === 'step' ? (data['commands'] as { status: string }[]).map(({ status }) => status) : [],
    );
  await expect.poll(seen).toEqual(['pending']);
  const { commands } = await client.call('pollAutomationNodeCommands', {
    params: { id: nodeId },
    query: { max: 1 } as never,
  });
  await expect.poll(seen).toEqual(['pending', 'leased']);
  await client.call('completeAutomationNodeCommand', {
    params: { id: nodeId, commandId: commands[0]?.id as string },
    body: { status: 'succeeded', output: { pong: true, latencyMs: 1, appVersion: '1' } } as never,
  });
  await expect.poll(() => stream.isOver).toBe(true);
  expect(seen().at(-1)).toBe('succeeded');
});

test('a step shows its definition, the size of its output, its child run, and the command of each attempt', async () => {
  const { nodeId, answer } = await pair();
  const child = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'child', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  const retry = { maxAttempts: 2, backoffSeconds: 0, factor: 1 };
  const ping = { type: 'skill', skillId: 'node.ping', input: { nodeId }, name: 'Ping', when: 'yes', retry };
  const spawn = { type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child.id } };
  const runId = await start([{ ...ping, timeoutSeconds: 60 }, spawn]);
  const failed = await answer({ status: 'failed', error: { code: 'failed', message: 'no' } });
  const done = await answer({ status: 'succeeded', output: { pong: true, latencyMs: 1, appVersion: '1.0.0' } });
  const [first, second] = (await settledRun(workspace.api, runId)).stepsResultJson;
  expect(first).toMatchObject({ name: 'Ping', when: 'yes', retry, timeoutSeconds: 60, attempts: 2, childRunId: null });
  expect(first?.outputBytes).toBeGreaterThan(0);
  expect(first?.commands).toEqual([
    expect.objectContaining({
      id: failed,
      nodeId,
      attempt: 1,
      status: 'failed',
      error: { code: 'failed', message: 'no' },
    }),
    expect.objectContaining({ id: done, nodeId, attempt: 2, status: 'succeeded', error: null }),
  ]);
  expect(first?.attemptHistory).toMatchObject([
    { attempt: 1, startedAt: first?.startedAt, error: { code: 'failed', message: 'no' }, commandIds: [failed] },
    { attempt: 2, finishedAt: first?.finishedAt, error: null, commandIds: [done] },
  ]);
  expect(second).toMatchObject({ name: null, when: null, retry: null, timeoutSeconds: null, commands: [] });
  const children = await hub.database.query<{ id: string }>('select id from runs where parent_run_id = $1', [runId]);
  expect(second?.childRunId).toBe(children[0]?.id);
  expect((await get(`${runId}?include=`)).body['stepsResultJson']).toMatchObject([
    { output: null, outputBytes: first?.outputBytes },
    { output: null, outputBytes: second?.outputBytes },
  ]);
});

test('the artifacts of a run are listed newest first with their step, also those that a retry keeps', async () => {
  const { nodeId, answer } = await pair();
  const shot = { type: 'skill', skillId: 'browser.screenshot', input: { nodeId } };
  const runId = await start([shot, shot, { type: 'skill', skillId: 'memory.read', input: { key: '{{payload}}' } }]);
  const picture = (name: string) => ({
    status: 'succeeded',
    output: {
      artifact: name,
      contentType: 'image/png',
      bytes: 3,
      width: 640,
      height: 480,
      url: 'u',
      title: 't',
      pageId: 'p',
    },
    artifacts: [{ name, contentType: 'image/png', base64: 'AAAA' }],
  });
  const commandIds = [await answer(picture('a.png')), await answer(picture('b.png'))];
  const { stepsResultJson } = await settledRun(workspace.api, runId);
  const ids = stepsResultJson.flatMap(({ artifactIds }) => artifactIds);
  expect(ids).toHaveLength(2);
  const all = (await get(`${runId}/artifacts`)).body as unknown as { data: object[] };
  const shown = (index: number, name: string) => ({
    id: ids[index],
    name,
    contentType: 'image/png',
    bytes: 3,
    width: 640,
    height: 480,
    stepIndex: index,
    nodeId,
    commandId: commandIds[index],
    createdAt: expect.any(String) as string,
  });
  expect(all.data).toEqual([shown(1, 'b.png'), shown(0, 'a.png')]);
  const first = (await get(`${runId}/artifacts?limit=1`)).body as unknown as { meta: { nextCursor: string } };
  const rest = await get(`${runId}/artifacts?limit=1&cursor=${first.meta.nextCursor}`);
  expect(rest.body['data']).toEqual([shown(0, 'a.png')]);

  const again = await workspace.api.call('retryAutomationRun', { params: { id: runId }, query: { fromStep: 2 } });
  expect((await get(`${again.id}/artifacts`)).body['data']).toEqual(all.data);

  expect((await get(`${missingId}/artifacts`)).status).toBe(404);
  const other = await hub.workspace();
  expect((await get(`${runId}/artifacts`, other.key)).status).toBe(404);
  expect(await get(`${runId}/artifacts?limit=101`)).toMatchObject({ status: 400 });
  const { key } = await workspace.createKey({ permissions: ['automations:run'] } as never);
  expect((await get(`${runId}/artifacts`, key)).status).toBe(403);
});
