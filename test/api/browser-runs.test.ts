import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';

let hub: TestHub;
beforeAll(async () => {
  hub = await startHub();
});
afterAll(() => hub[Symbol.asyncDispose]());

test('the response to a heartbeat lists the ended runs with browser pages, and never a run of another workspace', async () => {
  const [workspace, other] = [await hub.workspace(), await hub.workspace()];
  const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
  const info = { name: 'test', platform: 'linux', arch: 'x64', osVersion: '1', appVersion: '1', capabilities: [] };
  const { deviceSecret } = await hub.client('').call('claimAutomationNode', { body: { pairingCode, device: info } });
  const device = hub.client(deviceSecret);
  const endedOf = async (browserRuns?: string[]) =>
    (
      await device.call('heartbeatAutomationNode', {
        params: { id: nodeId },
        body: browserRuns === undefined ? {} : { browserRuns },
      })
    ).endedRuns;
  const waitingRun = async ({ api }: typeof workspace) => {
    const { id } = await api.call('createAutomationWorkflow', {
      body: { name: 'waits', stepsJson: [{ type: 'approval', title: 'Go on?' }] },
    });
    const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id } }));
    await expect
      .poll(async () => (await api.call('getAutomationRun', { params: { id: runId } })).status)
      .toBe('waiting_approval');
    return runId;
  };
  const [waiting, foreign, unknown] = [await waitingRun(workspace), await waitingRun(other), randomUUID()];
  expect(await endedOf()).toEqual([]);
  expect(await endedOf([waiting, foreign, unknown])).toEqual([foreign, unknown]);
  await workspace.api.call('cancelAutomationRun', { params: { id: waiting } });
  expect(await endedOf([waiting])).toEqual([waiting]);
});
