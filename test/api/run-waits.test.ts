import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { makeRunDue, makeSchedulesDue } from '../fixtures/stage/automations.ts';
import { ageHeartbeat } from '../fixtures/stage/nodes.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
});
afterAll(() => hub[Symbol.asyncDispose]());

const log = { type: 'log' as const, message: 'x' };
const later = expect.stringMatching(/^\d{4}-\d\d-\d\dT.*Z$/) as string;

async function create({ api }: TestWorkspace, stepsJson: object[], more: object = {}): Promise<string> {
  return (await api.call('createAutomationWorkflow', { body: { name: 'Waiting room', stepsJson, ...more } as never }))
    .id;
}

const start = async ({ api }: TestWorkspace, id: string) =>
  startedRun(await api.call('runAutomationWorkflow', { params: { id } })).runId;

async function begin(workspace: TestWorkspace, stepsJson: object[], more: object = {}): Promise<string> {
  return start(workspace, await create(workspace, stepsJson, more));
}

const waitOf = async ({ api }: TestWorkspace, id: string) =>
  (await api.call('getAutomationRun', { params: { id } })).waitsFor;

async function pair({ api }: TestWorkspace) {
  const { nodeId, pairingCode } = await api.call('createAutomationNode', { body: { name: 'front desk' } });
  const { deviceSecret } = await hub.client().call('claimAutomationNode', {
    body: {
      pairingCode,
      device: { name: 'd', platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1.0.0', capabilities: [] },
    },
  });
  return { nodeId, device: hub.client(deviceSecret) };
}

test('a waiting run shows the same reason by itself, in the list, in its flow and in the console', async () => {
  const workspace = await hub.workspace();
  const runId = await begin(workspace, [{ type: 'approval', title: 'go on?', expiresInSeconds: 3600 }, log]);
  await expect.poll(() => waitOf(workspace, runId)).not.toBeNull();
  const [approval] = (await workspace.api.call('listAutomationApprovals', { query: { runId } })).data;
  const shown = {
    id: runId,
    workflowName: 'Waiting room',
    waitsFor: { kind: 'approval', stepIndex: 0, approvalId: approval?.id, until: approval?.expiresAt },
  };
  const alone = await workspace.api.call('getAutomationRun', { params: { id: runId } });
  expect(alone).toMatchObject(shown);
  const listed = await workspace.api.call('listAutomationRuns', {});
  expect(listed.data).toMatchObject([shown]);
  expect((await workspace.api.call('getAutomationFlow', { params: { id: alone.flowId } })).runs).toEqual(listed.data);
  expect((await workspace.session.call('growthListRuns', {})).data).toEqual(listed.data);
  expect((await workspace.session.call('growthConsole', {})).runs.recent).toEqual(listed.data);

  await workspace.api.call('updateAutomationWorkflow', { params: { id: alone.workflowId }, body: { name: 'Renamed' } });
  await workspace.session.call('growthDecideApproval', {
    params: { id: approval?.id as string },
    body: { decision: 'approved' },
  });
  expect(await settledRun(workspace.api, runId)).toMatchObject({
    status: 'succeeded',
    waitsFor: null,
    workflowName: 'Renamed',
  });
  await workspace.api.call('deleteAutomationWorkflow', { params: { id: alone.workflowId } });
  expect((await workspace.api.call('listAutomationRuns', {})).data).toMatchObject([{ workflowName: 'Renamed' }]);
});

test('a run that a limit or a policy delays names it, and shows the end time if only time is missing', async () => {
  const workspace = await hub.workspace();
  const { api } = workspace;
  const question = { type: 'approval', title: 'wait' };
  const limited = await create(workspace, [question], { limits: { maxConcurrentRuns: 1 } });
  const first = await start(workspace, limited);
  await expect.poll(() => waitOf(workspace, first)).toMatchObject({ kind: 'approval', until: null });
  const [second, third] = [await start(workspace, limited), await start(workspace, limited)];
  await expect
    .poll(() => waitOf(workspace, second))
    .toEqual({ kind: 'limit', limit: 'max_concurrent_runs', until: null });
  await expect.poll(() => waitOf(workspace, third)).toEqual({ kind: 'limit', limit: 'earlier_runs', until: null });

  const paced = await create(workspace, [log], { limits: { maxRunsPerMinute: 1 } });
  await settledRun(api, await start(workspace, paced));
  const soon = await start(workspace, paced);
  await expect
    .poll(() => waitOf(workspace, soon))
    .toEqual({ kind: 'limit', limit: 'max_runs_per_minute', until: later });

  const clock = (minutes: number) => new Date(Date.now() + minutes * 60_000).toISOString().slice(11, 16);
  await api.call('putAutomationPolicy', { body: { quietHours: { from: clock(-5), to: clock(30) } } });
  const quiet = await begin(workspace, [log]);
  await expect.poll(() => waitOf(workspace, quiet)).toEqual({ kind: 'quiet_hours', until: later });
});

test('a run that waits for a node shows the node, whether it is reachable, has received the command and waits for its owner', async () => {
  const workspace = await hub.workspace();
  const { nodeId, device } = await pair(workspace);
  const runId = await begin(workspace, [{ type: 'skill', skillId: 'node.ping', input: { nodeId } }]);
  const wait = { kind: 'node_command', stepIndex: 0, nodeId, nodeName: 'front desk', until: later };
  await ageHeartbeat(hub.database, nodeId, { hours: 1 });
  await expect.poll(() => waitOf(workspace, runId)).toMatchObject({ ...wait, nodeOnline: false, handedOut: false });
  const { commands } = await device.call('pollAutomationNodeCommands', {
    params: { id: nodeId },
    query: { wait: 20, max: 4 } as never,
  });
  await expect
    .poll(() => waitOf(workspace, runId))
    .toMatchObject({ ...wait, commandId: commands[0]?.id, nodeOnline: true, handedOut: true, waitsForOwner: false });
  const commandId = commands[0]?.id as string;
  const report = (waitingForOwner: string[]) =>
    device.call('heartbeatAutomationNode', {
      params: { id: nodeId },
      body: { facts: { waitingForOwner }, running: [commandId] },
    });
  await report([runId, commandId]);
  expect(await waitOf(workspace, runId)).toMatchObject({ ...wait, commandId, waitsForOwner: true });
  await report([runId]);
  expect(await waitOf(workspace, runId)).toMatchObject({ ...wait, commandId, waitsForOwner: false });
  await report([commandId]);
  await ageHeartbeat(hub.database, nodeId, { hours: 1 });
  expect(await waitOf(workspace, runId)).toMatchObject({ ...wait, nodeOnline: false, waitsForOwner: false });
});

test('a run that waits for a time, a retry or another run says so', async () => {
  const workspace = await hub.workspace();
  const delayed = await begin(workspace, [log, { ...log, delaySeconds: 3600 }]);
  await expect.poll(() => waitOf(workspace, delayed)).toEqual({ kind: 'delay', stepIndex: 1, until: later });
  // When its time has come, the run waits only for a worker.
  await makeRunDue(hub.database, delayed);
  expect(await waitOf(workspace, delayed)).toBeNull();

  const url = 'https://nowhere.invalid/';
  const retry = { maxAttempts: 3, backoffSeconds: 3600 };
  const failing = await begin(workspace, [{ type: 'skill', skillId: 'webhook.deliver', input: { url }, retry }]);
  await expect.poll(() => waitOf(workspace, failing)).toEqual({ kind: 'retry', stepIndex: 0, until: later });

  const child = await create(workspace, [{ type: 'approval', title: 'wait' }]);
  const parent = await begin(workspace, [{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child } }]);
  await expect.poll(() => waitOf(workspace, parent)).toMatchObject({ kind: 'run', stepIndex: 0 });
  const [started] = (await workspace.api.call('listAutomationRuns', { query: { workflowId: child } })).data;
  expect(await waitOf(workspace, parent)).toEqual({ kind: 'run', stepIndex: 0, runId: started?.id });

  const scheduled = await create(workspace, [log], {
    triggerJson: {
      schemaVersion: 1,
      type: 'schedule',
      schedule: { kind: 'interval', everySeconds: 7200, jitterSeconds: 3600 },
    },
  });
  const random = vi.spyOn(Math, 'random').mockReturnValue(0.5);
  onTestFinished(() => random.mockRestore());
  await makeSchedulesDue(hub.database, [scheduled]);
  await hub.app.sweep();
  await expect
    .poll(async () => (await workspace.api.call('listAutomationRuns', { query: { workflowId: scheduled } })).data)
    .toMatchObject([{ waitsFor: { kind: 'jitter', until: later } }]);
});

test('a step that starts a workflow fails with timeout after its timeoutSeconds, and the child run continues', async () => {
  const workspace = await hub.workspace();
  const child = await create(workspace, [{ type: 'approval', title: 'wait' }]);
  const spawn = { type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child } };
  const retry = { maxAttempts: 3, backoffSeconds: 0 };
  const runId = await begin(workspace, [{ ...spawn, timeoutSeconds: 1, retry, continueOnError: true }, log]);
  const run = await settledRun(workspace.api, runId);
  const children = async () =>
    (await workspace.api.call('listAutomationRuns', { query: { workflowId: child } })).data.map(({ id, status }) => ({
      id,
      status,
    }));
  const [started] = await children();
  expect(run).toMatchObject({
    status: 'succeeded',
    stepsResultJson: [
      { status: 'failed', attempts: 1, error: { code: 'timeout', message: expect.stringContaining(`${started?.id}`) } },
      { status: 'succeeded' },
    ],
  });
  await expect.poll(children).toEqual([{ id: started?.id, status: 'waiting_approval' }]);
});

test('the end of a child run after the step timed out does not shorten a later delay', async () => {
  const workspace = await hub.workspace();
  const child = await create(workspace, [{ type: 'approval', title: 'wait' }]);
  const spawn = { type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child } };
  for (const decision of ['approved', 'rejected', 'cancelled'] as const) {
    const runId = await begin(workspace, [
      { ...spawn, timeoutSeconds: 1, continueOnError: true },
      { ...log, delaySeconds: 3600 },
    ]);
    await expect.poll(() => waitOf(workspace, runId)).toMatchObject({ kind: 'delay' });
    const before = await waitOf(workspace, runId);
    const { data } = await workspace.api.call('listAutomationRuns', { query: { workflowId: child } });
    const params = { id: data[0]?.id as string };
    const approvals = async () =>
      (await workspace.api.call('listAutomationApprovals', { query: { runId: params.id } })).data;
    await expect.poll(async () => (await approvals()).length).toBe(1);
    const [approval] = await approvals();
    if (decision === 'cancelled') await workspace.api.call('cancelAutomationRun', { params });
    else
      await workspace.api.call('decideAutomationApproval', {
        params: { id: approval?.id as string },
        body: { decision },
      });
    expect(await settledRun(workspace.api, params.id)).toMatchObject({
      finishedAt: later,
    });
    expect(await waitOf(workspace, runId)).toEqual(before);
  }
});

test('a step that starts a workflow waits for a child run that ends within its timeoutSeconds', async () => {
  const workspace = await hub.workspace();
  const child = await create(workspace, [{ ...log, delaySeconds: 1 }]);
  const runId = await begin(workspace, [
    { type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child }, timeoutSeconds: 60 },
  ]);
  expect(await settledRun(workspace.api, runId)).toMatchObject({ status: 'succeeded' });
});

test('a page of runs needs one statement for all reasons to wait, and shows nothing of another workspace', async () => {
  const [workspace, other] = [await hub.workspace(), await hub.workspace()];
  const runId = await begin(workspace, [{ type: 'approval', title: 'wait' }]);
  const delayed = await begin(workspace, [log, { ...log, delaySeconds: 3600 }]);
  // Both runs wait, so that only the page reads runs of this workspace.
  for (const id of [runId, delayed]) await expect.poll(() => waitOf(workspace, id)).not.toBeNull();
  using recorder = new StatementRecorder();
  await workspace.api.call('listAutomationRuns', {});
  const own = recorder.statements.filter(
    ({ tenantId, text }) => tenantId === workspace.tenantId && /from\s+"?runs/i.test(text),
  );
  expect(own.map(({ text }) => text)).toHaveLength(1);
  expect((await other.api.call('listAutomationRuns', {})).data).toEqual([]);
});

test('a key that is revoked while it waits for a run gets 401 without the run', async () => {
  const workspace = await hub.workspace();
  const { id: tokenId, key } = await workspace.createKey();
  const { nodeId } = await pair(workspace);
  const runId = await begin(workspace, [{ type: 'skill', skillId: 'node.ping', input: { nodeId } }]);
  const waiting = hub.client(key).call('getAutomationRun', { params: { id: runId }, query: { waitSeconds: 25 } });
  waiting.catch(() => undefined);
  // The poll must have started, and must last longer than a response without another check.
  await new Promise((done) => setTimeout(done, 500));
  await workspace.session.call('deleteApiToken', { params: { tenantId: workspace.tenantId, id: tokenId } });
  await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
  await expect(waiting).rejects.toMatchObject({ status: 401, code: 'token_revoked' });
});
