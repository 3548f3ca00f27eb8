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
    expect(seen(stream).slice(-2)).toEqual(['3 succeeded', 'succeeded']);
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
