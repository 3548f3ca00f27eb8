import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { avoidPeriodEnd, minuteMs } from '../fixtures/avoid-period-end.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { openStream } from '../fixtures/server-sent-events.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { makeRunDue } from '../fixtures/stage/automations.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

const create = async (steps: unknown[]) =>
  (await workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: steps } as never })).id;
const start = async (id: string) =>
  startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id } })).runId;

describe('the history of a run begins with queued', () => {
  test('in the stream of the workspace, also for runs that start immediately', async () => {
    const stream = await openStream(`${hub.url}/tenants/${workspace.tenantId}/events`, workspace.jwt);
    await expect.poll(() => stream.received[0]?.event).toBe('ready');
    const id = await create([{ type: 'log', message: 'x' }]);
    const runIds = [await start(id), await start(id), await start(id)];
    const statusesOf = (runId: string) =>
      stream.received
        .filter(({ event, data }) => event === 'run' && data['id'] === runId)
        .map(({ data }) => data['status']);
    // A busy process gives a run back that it did not begin within a second. Then it is queued and running again.
    for (const runId of runIds)
      await expect.poll(() => statusesOf(runId).join(' ')).toMatch(/^(?:queued running )+succeeded$/);
  });

  test('in the stream of the run, independent of when a client subscribes', async () => {
    const id = await create([
      { type: 'log', message: 'x' },
      { type: 'log', message: 'y', delaySeconds: 3_600 },
    ]);
    /** Starts the last step of a run, as its delay does. */
    const goOn = async (runId: string) => {
      await expect
        .poll(() =>
          hub.database.query('SELECT FROM runs WHERE id = $1 AND next_step = 1 AND holder_id IS NULL', [runId]),
        )
        .toHaveLength(1);
      await makeRunDue(hub.database, runId);
    };
    for (let round = 0; round < 3; round += 1) {
      const runId = await start(id);
      const stream = await openStream(`${hub.url}/v1/automations/runs/${runId}/events`, workspace.key);
      // A stream omits the statuses that ended before it began, so the run ends after that.
      await expect
        .poll(() => stream.received.filter(({ event }) => event === 'run').at(-1)?.data['status'])
        .toBe('running');
      await goOn(runId);
      await expect.poll(() => stream.isOver).toBe(true);
      const runs = stream.received.filter(({ event }) => event === 'run').map(({ data }) => data);
      expect(runs.map(({ status }) => status).join(' ')).toMatch(/^(?:queued running )+succeeded$/);
      expect(runs[0]).toMatchObject({ id: runId, startedAt: null, finishedAt: null, error: null });
      const steps = runs[0]?.['stepsResultJson'] as { status: string }[] | undefined;
      expect(steps?.map(({ status }) => status)).toEqual(['pending', 'pending']);
      // The request of an EventSource that reconnects. 204 tells it to stop. A run in progress is still followed.
      const again = (followed: string) =>
        fetch(`${hub.url}/v1/automations/runs/${followed}/events`, {
          headers: { 'X-API-Key': workspace.key, 'Last-Event-ID': stream.lastEventId as string },
        });
      expect((await again(runId)).status).toBe(204);
      const inProgress = await start(id);
      const other = await again(inProgress);
      expect(other.status).toBe(200);
      await goOn(inProgress);
      expect(await other.text()).toContain('"status":"succeeded"');
    }
  });
});

test('a rejected run is failed and can be retried as soon as its rejection is answered', async () => {
  const id = await create([{ type: 'approval', title: 'ok?' }]);
  for (let round = 0; round < 5; round += 1) {
    const runId = await start(id);
    await settledRun(workspace.api, runId);
    const [approval] = (await workspace.api.call('listAutomationApprovals', { query: { runId } })).data;
    await workspace.api.call('decideAutomationApproval', {
      params: { id: approval?.id as string },
      body: { decision: 'rejected' },
    });
    expect((await workspace.api.call('getAutomationRun', { params: { id: runId } })).status).toBe('failed');
    const retry = await workspace.api.call('retryAutomationRun', { params: { id: runId } });
    await workspace.api.call('cancelAutomationRun', { params: { id: retry.id } });
  }
});

test('an address with too many wrong platform admin keys gets 429, also with the right key', async () => {
  // A quarter of an hour has one count.
  await avoidPeriodEnd(15 * minuteMs);
  const guess = async (key: string) =>
    send(hub.url, 'PUT', `/tenants/${workspace.tenantId}/entitlements`, {
      headers: { authorization: `Bearer ${key}` },
      body: {},
    });
  expect((await guess(adminKey)).status).toBe(200);
  const answers = [];
  for (let index = 0; index < 40; index += 1) answers.push(await guess(`wrong-${index}`));
  expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401, 429]));
  expect(answers.at(-1)?.body.code).toBe('rate_limited');
  expect(Number(answers.at(-1)?.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await guess(adminKey)).status).toBe(429);
});
