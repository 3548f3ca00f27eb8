import { afterAll, beforeAll, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import type { Answer } from '../fixtures/requests.ts';
import { makeSchedulesDue, removeScheduleFires } from '../fixtures/stage/automations.ts';

const most = 3;
let hub: TestHub;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000', QUEUED_RUNS_PER_WORKSPACE: String(most) });
});
afterAll(() => hub[Symbol.asyncDispose]());

const log = { type: 'log' as const, message: 'x' };
const waiting = { type: 'approval' as const, title: 'wait' };
const create = async (workspace: TestWorkspace, body: object) =>
  (await workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: [log], ...body } as never }))
    .id;
const run = async ({ api }: TestWorkspace, id: string) =>
  startedRun(await api.call('runAutomationWorkflow', { params: { id } })).runId;
const statusOf = async ({ api }: TestWorkspace, id: string) =>
  (await api.call('getAutomationRun', { params: { id } })).status;
const expectRefused = (answer: Answer) => {
  expect(answer).toMatchObject({ status: 429, body: { code: 'queued_runs_limit_reached' } });
  expect(answer.body.message).toMatch(/3 runs.*QUEUED_RUNS_PER_WORKSPACE.*cancel/);
  expect(Number(answer.headers.get('retry-after'))).toBeGreaterThan(0);
};

async function approve({ api }: TestWorkspace, runId: string): Promise<void> {
  await expect.poll(async () => (await api.call('listAutomationApprovals', { query: { runId } })).data.length).toBe(1);
  const [approval] = (await api.call('listAutomationApprovals', { query: { runId } })).data;
  await api.call('decideAutomationApproval', {
    params: { id: approval?.id as string },
    body: { decision: 'approved' },
  });
}

/** Fills the queue of a workspace behind a run that waits for an approval. Returns the runs in order. */
async function fill(workspace: TestWorkspace): Promise<{ workflowId: string; runIds: string[] }> {
  const workflowId = await create(workspace, {
    stepsJson: [waiting],
    limits: { maxConcurrentRuns: 1, onLimit: 'queue' },
  });
  const runIds = [await run(workspace, workflowId)];
  await expect.poll(() => statusOf(workspace, runIds[0] as string)).toBe('waiting_approval');
  for (let index = 0; index < most; index += 1) runIds.push(await run(workspace, workflowId));
  return { workflowId, runIds };
}

test('a workspace has a limit of queued runs from all sources; other workspaces are not affected, and accepted runs execute', async () => {
  const [full, other] = [await hub.workspace(), await hub.workspace()];
  const headers = { 'x-api-key': full.key };
  const child = await create(full, {});
  const parent = await create(full, {
    stepsJson: [waiting, { type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child } }],
  });
  const parentRun = await run(full, parent);
  await expect.poll(() => statusOf(full, parentRun)).toBe('waiting_approval');
  const sequence = await full.api.call('createAutomationSequence', { body: { name: 's', steps: [log] } });
  const channel = await full.api.call('putAutomationChannel', {
    body: { provider: 'webhook', name: 'c', config: { inboundSecret: 'sixteen-characters' } },
  });
  await create(full, { triggerJson: { type: 'channel', channel: { channelId: channel.id } } });
  const { runIds } = await fill(full);

  const runPath = `/v1/automations/workflows/${child}/run`;
  expectRefused(await send(hub.url, 'POST', runPath, { headers, body: {} }));
  expectRefused(await send(hub.url, 'POST', '/v1/automations/hooks/inbound', { headers, body: { workflowId: child } }));
  expectRefused(await send(hub.url, 'POST', `/v1/automations/sequences/${sequence.id}/run`, { headers, body: {} }));
  const message = {
    headers: { 'x-service-automation-token': 'sixteen-characters' },
    body: { text: 'hello', from: 'a', messageId: 'm' },
  };
  expectRefused(await send(hub.url, 'POST', channel.inboundPath, message));
  await approve(full, parentRun);
  await expect.poll(() => statusOf(full, parentRun)).toBe('failed');
  expect((await full.api.call('getAutomationRun', { params: { id: parentRun } })).error).toMatchObject({
    code: 'subagent_refused',
    message: expect.stringContaining('QUEUED_RUNS_PER_WORKSPACE') as string,
  });
  expectRefused(await send(hub.url, 'POST', `/v1/automations/runs/${parentRun}/retry`, { headers, body: {} }));

  const elsewhere = await run(other, await create(other, {}));
  await expect.poll(() => statusOf(other, elsewhere)).toBe('succeeded');

  for (const runId of runIds) await approve(full, runId);
  for (const runId of runIds) await expect.poll(() => statusOf(full, runId)).toBe('succeeded');
  await expect.poll(async () => (await send(hub.url, 'POST', runPath, { headers, body: {} })).status).toBe(200);
  // A refused message does not count as a duplicate when it is sent again.
  await expect
    .poll(async () => (await send(hub.url, 'POST', channel.inboundPath, message)).body)
    .toMatchObject({ runIds: [expect.any(String)] });
});

test.each(['live', 'test'] as const)('queued %s runs keep out no runs of the other environment', async (filled) => {
  const live = await hub.workspace();
  const tester = { ...live, api: hub.client((await live.createKey({ environment: 'test' })).key) };
  const [full, free] = filled === 'live' ? [live, tester] : [tester, live];
  const id = await create(live, {});
  await fill(full);
  await expect(run(full, id)).rejects.toMatchObject({ code: 'queued_runs_limit_reached' });
  const runId = await run(free, id);
  await expect.poll(() => statusOf(free, runId)).toBe('succeeded');
});

test('a fire above the queue capacity is skipped with its reason, and is not repeated later', async () => {
  const workspace = await hub.workspace();
  const triggerJson = {
    type: 'schedule',
    schedule: { kind: 'interval', everySeconds: 3600, onMissed: 'all', maxCatchUp: 5 },
  };
  const ids = [await create(workspace, { triggerJson }), await create(workspace, { triggerJson })];
  const { runIds } = await fill(workspace);
  const becomeDue = () => makeSchedulesDue(hub.database, ids, { minutes: 150 });
  const fires = () =>
    hub.database.query<{ outcome: string; n: number; runs: number }>(
      'select outcome, count(*)::int as n, count(run_id)::int as runs from schedule_fires where workflow_id = any($1) group by 1 order by 1',
      [ids],
    );
  const isPlanned = async () =>
    (await hub.database.query('select 1 from workflows where id = any($1) and next_run_at > now()', [ids])).length ===
    ids.length;
  await becomeDue();
  await expect.poll(isPlanned).toBe(true);
  expect(await fires()).toEqual([{ outcome: 'queue_full', n: 6, runs: 0 }]);

  for (const runId of runIds) await approve(workspace, runId);
  for (const runId of runIds) await expect.poll(() => statusOf(workspace, runId)).toBe('succeeded');
  let runId = '';
  await expect
    .poll(async () => {
      const { status, body } = await send(hub.url, 'POST', `/v1/automations/workflows/${ids[0]}/run`, {
        headers: { 'x-api-key': workspace.key },
        body: {},
      });
      runId = body['runId'] as string;
      return status;
    })
    .toBe(200);
  // Until then, it may count as a queued run.
  await expect.poll(() => statusOf(workspace, runId)).toBe('succeeded');
  await removeScheduleFires(hub.database);
  // Of six schedules that are due at the same time, as many start as the capacity allows.
  await becomeDue();
  await expect.poll(isPlanned).toBe(true);
  expect(await fires()).toEqual([
    { outcome: 'queue_full', n: 6 - most, runs: 0 },
    { outcome: 'started', n: most, runs: most },
  ]);
  await expect
    .poll(async () => (await workspace.api.call('listAutomationRuns', { query: { status: 'queued' } })).data)
    .toEqual([]);
});
