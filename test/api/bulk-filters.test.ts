import { afterAll, beforeAll, expect, test } from 'vitest';
import type { z } from 'zod';
import { operations } from '../../shared/contract/api.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addFinishedRuns } from '../fixtures/stage/automations.ts';

type Filter = Record<string, string>;
type Operation = 'cancelAutomationRuns' | 'retryAutomationRuns';

const statusesOf = {
  cancelAutomationRuns: ['queued', 'running', 'waiting_approval'],
  retryAutomationRuns: ['failed', 'cancelled'],
} as const;

let hub: TestHub;
let workspace: TestWorkspace;
/** A key of environment `test` selects live runs and changes none of them. */
let tester: TestWorkspace['api'];
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
  workspace = await hub.workspace();
  tester = hub.client((await workspace.createKey({ environment: 'test' })).key);
});
afterAll(() => hub[Symbol.asyncDispose]());

async function create({ api }: TestWorkspace, stepsJson: object[]): Promise<string> {
  const { id } = await api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } as never });
  return id;
}

async function start({ api: own }: TestWorkspace, id: string, api = own): Promise<string> {
  const { runId } = startedRun(await api.call('runAutomationWorkflow', { params: { id }, body: {} }));
  return runId;
}

/** The runs that a list shows with a filter and that an operation can change, newest first. */
async function listed(operation: Operation, filter: Filter): Promise<string[]> {
  const ids: string[] = [];
  for (let cursor: string | undefined; ;) {
    const { data, meta } = await workspace.api.call('listAutomationRuns', {
      query: { ...filter, limit: 3, ...(cursor === undefined ? {} : { cursor }) } as never,
    });
    for (const { id, status } of data) if (statusesOf[operation].some((each) => each === status)) ids.push(id);
    if (meta.nextCursor === null) return ids;
    cursor = meta.nextCursor;
  }
}

/** The runs that an operation selects with a filter, request by request. */
async function selected(operation: Operation, filter: Filter, limit: number, api = tester): Promise<string[][]> {
  const requests: string[][] = [];
  for (let olderThan: string | null = null; ;) {
    const body: object = { filter: { ...filter, ...(olderThan === null ? {} : { olderThan }) }, limit };
    const answer: Awaited<ReturnType<typeof api.call<Operation>>> = await api.call(operation, { body: body as never });
    const { results, more, next } = answer;
    requests.push(results.map(({ id }) => id));
    expect(more).toBe(next !== null);
    if (next === null) return requests;
    olderThan = next;
  }
}

const question = { type: 'approval', title: 'ok?' };
const failing = { type: 'log', message: '{{payload.x}}' };

test('operations on all runs that match take the filters of the list, from one declaration', () => {
  const find = (id: string) => {
    const found = operations.find((operation) => operation.id === id);
    if (found === undefined) throw new Error(`no operation ${id}`);
    return found;
  };
  const shapeOf = (operation: Operation) => {
    const { filter } = (find(operation).body as z.ZodObject<{ filter: z.ZodOptional<z.ZodObject> }>).shape;
    return filter.unwrap().shape;
  };
  const { limit: _limit, cursor: _cursor, ...ofList } = (find('listAutomationRuns').query as z.ZodObject).shape;
  for (const operation of ['cancelAutomationRuns', 'retryAutomationRuns'] as const) {
    const { olderThan, status, ...others } = shapeOf(operation);
    expect(olderThan).toBeDefined();
    expect(Object.keys({ status, ...others }).toSorted()).toEqual(Object.keys(ofList).toSorted());
    for (const [name, schema] of Object.entries(others)) expect(schema).toBe(ofList[name]);
  }
});

test('each filter selects exactly the runs that the list shows with it, and none of another workspace', async () => {
  const asking = await create(workspace, [question]);
  const breaking = await create(workspace, [failing]);
  const other = await hub.workspace();
  const [foreignAsking, foreignBreaking] = [await create(other, [question]), await create(other, [failing])];
  const foreign = [await start(other, foreignAsking), await start(other, foreignBreaking)];
  await Promise.all(foreign.map((id) => settledRun(other.api, id)));

  const tested = await start(workspace, asking, tester);
  const parent = await start(
    workspace,
    await create(workspace, [{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: asking } }]),
  );
  // So that the child is older than the runs below.
  await expect.poll(() => listed('cancelAutomationRuns', { parentRunId: parent })).toHaveLength(1);
  const { nodeId, pairingCode } = await workspace.api.call('createAutomationNode', { body: {} });
  const device = { name: 'd', platform: 'linux', arch: 'x64', osVersion: '', appVersion: '1' } as const;
  await hub.client().call('claimAutomationNode', {
    body: { pairingCode, device: { ...device, capabilities: ['node.ping'] } },
  });
  // The runs of the offline node stay open during the whole test.
  const input = { nodeId, waitMs: 300_000 };
  const pinging = await create(workspace, [{ type: 'skill', skillId: 'node.ping', input }]);
  const atNode = [await start(workspace, pinging), await start(workspace, pinging)];
  const waiting = [await start(workspace, asking), await start(workspace, asking)];
  const failed = [await start(workspace, breaking), await start(workspace, breaking)];
  const done = await start(workspace, await create(workspace, [{ type: 'log', message: 'x' }]));
  await Promise.all([tested, ...waiting, ...failed, done].map((id) => settledRun(workspace.api, id)));
  await expect.poll(() => listed('cancelAutomationRuns', { nodeId })).toEqual(atNode.toReversed());
  await workspace.api.call('cancelAutomationRun', { params: { id: atNode[1] as string } });
  const again = await workspace.api.call('retryAutomationRun', { params: { id: failed[0] as string } });
  await settledRun(workspace.api, again.id);
  const { queuedAt: half } = await workspace.api.call('getAutomationRun', { params: { id: waiting[0] as string } });
  const { error } = await workspace.api.call('getAutomationRun', { params: { id: failed[1] as string } });
  const errorCode = error?.code as string;

  const both: Filter[] = [
    // The first request changes the test run.
    { environment: 'test' },
    {},
    { statuses: 'running,waiting_approval,failed,succeeded' },
    { statuses: 'succeeded' },
    { workflowId: asking },
    { workflowId: breaking, environment: 'live' },
    { from: half },
    { to: half },
    { triggerType: 'manual' },
    { triggerType: 'nothing' },
    { environment: 'live' },
    { nodeId },
    { nodeId: missingId },
    { latest: 'true' },
    { latest: 'false' },
    { idPrefix: done.slice(0, 8) },
    { parentRunId: missingId },
    { parentRunId: parent },
    { errorCode },
    { errorCode, statuses: 'succeeded,cancelled' },
    { workflowId: foreignAsking },
    { workflowId: foreignBreaking },
    ...foreign.map((idPrefix) => ({ idPrefix })),
  ];
  const filters: Record<Operation, Filter[]> = {
    cancelAutomationRuns: [
      ...both,
      { status: 'waiting_approval' },
      { status: 'running', statuses: 'waiting_approval' },
      { triggerType: 'subagent' },
      { idPrefix: (waiting[1] as string).toUpperCase() },
    ],
    retryAutomationRuns: [
      ...both,
      { status: 'failed' },
      { status: 'cancelled', nodeId },
      { idPrefix: failed[1] as string },
    ],
  };
  const found: Record<string, number> = {};
  for (const operation of ['cancelAutomationRuns', 'retryAutomationRuns'] as const)
    for (const filter of filters[operation]) {
      for (const limit of [100, 2]) {
        const latest = new Set(await listed(operation, { latest: 'true' }));
        const all = await listed(operation, filter);
        // Retries do not select a run that was retried already.
        const expected = operation === 'retryAutomationRuns' ? all.filter((id) => latest.has(id)) : all;
        const requests = await selected(operation, filter, limit);
        expect([operation, filter, requests.flat()]).toEqual([operation, filter, expected]);
        expect(requests.every((ids) => ids.length <= limit)).toBe(true);
        expect(expected.filter((id) => foreign.includes(id))).toEqual([]);
        found[`${operation} ${JSON.stringify(filter)}`] ??= expected.length;
      }
    }
  // The filters tell runs apart.
  expect(found).toMatchObject({
    'cancelAutomationRuns {"environment":"test"}': 1,
    'retryAutomationRuns {"environment":"test"}': 1,
    'cancelAutomationRuns {}': 5,
    'cancelAutomationRuns {"triggerType":"subagent"}': 1,
    'cancelAutomationRuns {"status":"waiting_approval"}': 3,
    'cancelAutomationRuns {"triggerType":"nothing"}': 0,
    'retryAutomationRuns {}': 3,
    [`retryAutomationRuns {"nodeId":"${nodeId}"}`]: 1,
    [`retryAutomationRuns {"errorCode":"${errorCode}"}`]: 2,
  });
  expect(found[`cancelAutomationRuns {"nodeId":"${nodeId}"}`]).toBe(1);
  // The key of environment `test` has changed the test run only.
  expect((await settledRun(workspace.api, tested)).status).toBe('cancelled');
  for (const id of waiting) expect((await settledRun(workspace.api, id)).status).toBe('waiting_approval');
  expect(await selected('cancelAutomationRuns', { environment: 'live' }, 2, workspace.api)).toHaveLength(3);
  await expect.poll(() => listed('cancelAutomationRuns', { environment: 'live' })).toEqual([]);
  expect((await settledRun(other.api, foreign[0] as string)).status).toBe('waiting_approval');
});

test('a rare run among many is reached by following `next`, also from an empty response', async () => {
  const breaking = await create(workspace, [failing]);
  const rare = await start(workspace, breaking, tester);
  await settledRun(workspace.api, rare);
  const at = new Date();
  const ended = { status: 'failed' as const, queuedAt: at, startedAt: at, finishedAt: at };
  // Their ids are random, and greater than those of runs that the hub starts.
  await addFinishedRuns(
    hub.database,
    workspace.tenantId,
    breaking,
    Array.from({ length: 10_500 }, () => ended),
  );
  const requests = await selected(
    'retryAutomationRuns',
    { workflowId: breaking, environment: 'test' },
    100,
    workspace.api,
  );
  expect(requests).toEqual([[], [rare]]);
});

test('a filter that matches nothing changes nothing, and a wrong one names the field', async () => {
  const quiet = await hub.workspace();
  const nothing = { results: [], more: false, next: null };
  for (const operation of ['cancelAutomationRuns', 'retryAutomationRuns'] as const)
    for (const filter of [{ triggerType: 'nothing' }, { workflowId: missingId }, { idPrefix: '0000' }])
      expect(await quiet.api.call(operation, { body: { filter } })).toEqual(nothing);
  for (const path of ['cancel', 'retry'])
    for (const [name, value] of [
      ['statuses', 'done'],
      ['idPrefix', '01'],
      ['nodeId', '1'],
      ['environment', 'both'],
      ['triggerType', ''],
      ['latest', 'yes'],
    ] as const) {
      const { status, body } = await send(hub.url, 'POST', `/v1/automations/runs/${path}`, {
        headers: { 'x-api-key': quiet.key },
        body: { filter: { [name]: value } },
      });
      expect([name, status, body.details?.[0]?.path]).toEqual([name, 400, `body.filter.${name}`]);
    }
});
