import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import type { Client } from '../fixtures/contract-client.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { storeSteps } from '../fixtures/stage/automations.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

async function start(stepsJson: object[], body: object = {}): Promise<string> {
  const { id } = await workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } as never });
  return startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id }, body: body as never })).runId;
}

const read = (id: string) => settledRun(workspace.api, id);
const runSteps = async (stepsJson: object[], body: object = {}) =>
  (await read(await start(stepsJson, body))).stepsResultJson;
const skill = (skillId: string, input: object, more: object = {}) => ({ type: 'skill', skillId, input, ...more });

async function pair(): Promise<{ nodeId: string; device: Client }> {
  const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode,
      device: { name: 'd', platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1.0.0', capabilities: [] },
    },
  });
  return { nodeId, device: hub.client(deviceSecret) };
}

/** Completes the next command of a node with a number of artifacts. */
async function answer(device: Client, nodeId: string, artifacts: number): Promise<void> {
  const { commands } = await device.call('pollAutomationNodeCommands', {
    params: { id: nodeId },
    query: { wait: 20, max: 1 } as never,
  });
  await device.call('completeAutomationNodeCommand', {
    params: { id: nodeId, commandId: commands[0]?.id as string },
    body: {
      status: 'succeeded',
      output: { pong: true, latencyMs: 1, appVersion: '1.0.0' },
      artifacts: Array.from({ length: artifacts }, (_unused, index) => ({
        name: `${index}.png`,
        contentType: 'image/png',
        base64: 'AAAA',
      })),
    } as never,
  });
}

test('a step shows the rendered input of its skill, whether it succeeded, failed or was skipped', async () => {
  const payload = { city: 'Bern', list: [1, 2], no: false };
  const results = await runSteps(
    [
      { type: 'log', message: 'to {{payload.city}}' },
      skill('memory.write', { key: 'k', value: '{{payload}}' }),
      { type: 'log', message: 'never', when: '{{payload.no}}' },
      skill(
        'webhook.deliver',
        { url: 'https://nowhere.invalid/', body: '{{payload.list}}' },
        { continueOnError: true },
      ),
      skill('memory.read', { key: '{{payload.list}}' }),
    ],
    { payload },
  );
  expect(results.map(({ status, input, inputOmitted, attempts }) => [status, input, inputOmitted, attempts])).toEqual([
    ['succeeded', { message: 'to Bern', level: 'info' }, false, 1],
    ['succeeded', { key: 'k', value: payload }, false, 1],
    ['skipped', null, false, 0],
    ['failed', { url: 'https://nowhere.invalid/', body: [1, 2] }, false, 1],
    ['failed', { key: [1, 2] }, false, 1],
  ]);
});

test('a step of an earlier version without newer fields runs, and shows the fields that it has', async () => {
  const { id } = await workspace.api.call('createAutomationWorkflow', {
    body: { name: 'w', stepsJson: [{ type: 'log', message: 'x' }] },
  });
  await storeSteps(hub.database, id, [{ type: 'log', message: 'x' }]);
  const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } }));
  expect(await read(runId)).toMatchObject({ status: 'succeeded', stepsResultJson: [{ input: { message: 'x' } }] });
});

test('an input beyond 64 KiB or with too deep nesting is omitted and marked, and its step continues', async () => {
  const deep = JSON.parse(`${'['.repeat(60)}${']'.repeat(60)}`) as unknown;
  const [large, fits, nested] = await runSteps(
    [
      { type: 'log', message: '{{payload.large}}' },
      skill('memory.write', { key: 'k', value: '{{payload.large}}{{payload.large}}' }),
      skill(
        'memory.write',
        { key: 'k', value: { a: { b: { c: { d: { e: '{{payload.deep}}' } } } } } },
        { continueOnError: true },
      ),
    ],
    // Each letter is two bytes.
    { payload: { large: 'ü'.repeat(8_000), deep } },
  );
  expect(large).toMatchObject({ status: 'succeeded', input: { level: 'info' }, inputOmitted: false });
  expect(fits).toMatchObject({ status: 'succeeded', inputOmitted: false });
  expect(nested).toMatchObject({ input: null, inputOmitted: true });
  const [tooLarge] = await runSteps([skill('memory.write', { key: 'k', value: '{{payload.large}}' })], {
    payload: { large: 'ü'.repeat(40_000) },
  });
  expect(tooLarge).toMatchObject({ status: 'succeeded', input: null, inputOmitted: true });
});

test('the shown input is the approved one, and the input of a waiting step is kept when another worker ends it', async () => {
  const { nodeId, device } = await pair();
  const runId = await start(
    [{ type: 'approval', title: 'Ping {{payload.name}}?', message: 'm' }, skill('node.ping', { nodeId })],
    { payload: { name: 'it' } },
  );
  expect((await read(runId)).stepsResultJson).toMatchObject([
    { input: { title: 'Ping it?', message: 'm' } },
    { status: 'pending', input: null, inputOmitted: false, artifactIds: [] },
  ]);
  const [approval] = (await workspace.api.call('listAutomationApprovals', { query: { runId } })).data;
  await workspace.session.call('growthDecideApproval', {
    params: { id: approval?.id as string },
    body: { decision: 'approved' },
  });
  await answer(device, nodeId, 0);
  expect(await read(runId)).toMatchObject({
    status: 'succeeded',
    stepsResultJson: [
      { input: { title: 'Ping it?', message: 'm' } },
      { status: 'succeeded', input: { nodeId }, inputOmitted: false },
    ],
  });
});

test('a step names the artifacts of its commands, and a retry names those of the steps that it keeps', async () => {
  const { nodeId, device } = await pair();
  const ping = skill('node.ping', { nodeId });
  const runId = await start([ping, ping, skill('memory.read', { key: '{{payload}}' })]);
  await answer(device, nodeId, 2);
  await answer(device, nodeId, 1);
  const first = await read(runId);
  expect(first.stepsResultJson.map(({ artifactIds }) => artifactIds.length)).toEqual([2, 1, 0]);
  const kept = await hub.database.query<{ id: string }>('select id from artifacts where run_id = $1 order by id', [
    runId,
  ]);
  expect(first.stepsResultJson.flatMap(({ artifactIds }) => artifactIds)).toEqual(kept.map(({ id }) => id));

  const again = await workspace.api.call('retryAutomationRun', { params: { id: runId }, query: { fromStep: 1 } });
  await answer(device, nodeId, 3);
  const second = await read(again.id);
  expect(second.stepsResultJson.map(({ artifactIds }) => artifactIds.length)).toEqual([2, 3, 0]);
  expect(second.stepsResultJson[0]).toEqual(first.stepsResultJson[0]);
  expect((await read(runId)).stepsResultJson).toEqual(first.stepsResultJson);

  const replayed = await workspace.api.call('replayAutomationRun', { params: { id: again.id }, body: { fromStep: 0 } });
  await answer(device, nodeId, 0);
  await answer(device, nodeId, 0);
  expect((await read(replayed.id)).stepsResultJson.map(({ artifactIds }) => artifactIds)).toEqual([[], [], []]);
});

test('workers do not read the inputs of steps, and write them together with the steps', async () => {
  using recorder = new StatementRecorder(100);
  const runId = await start([
    { type: 'log', message: 'one' },
    { type: 'log', message: 'two', delaySeconds: 1 },
    { type: 'log', message: 'three' },
  ]);
  await expect.poll(async () => (await read(runId)).status).toBe('succeeded');
  const of = (pattern: RegExp) => recorder.statements.filter(({ text }) => pattern.test(text));
  const named = ['read_steps', 'write_step', 'write_steps'];
  expect([...new Set(of(/\binput\b/).map(({ name }) => name))].toSorted()).toEqual(named);
  // A step that waits is written when it starts to wait. Steps that finished before are written with it, or at the end
  // of the run.
  expect(
    of(/INSERT INTO run_steps/)
      .map(({ name }) => name)
      .toSorted(),
  ).toEqual(['write_step', 'write_steps', 'write_steps']);
});
