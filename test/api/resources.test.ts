import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { reopenRun, rollUp } from '../../hub/engine/index.ts';
import { createFileBlobs } from '../../hub/platform/blobs/blobs.ts';
import type { Transaction } from '../../hub/platform/db/database.ts';
import { MonthlyPartitions } from '../../hub/platform/db/monthly-partitions.ts';
import { RunRetention } from '../../hub/products/automations/runs/retention.ts';
import type { Step } from '../../shared/contract/automations/steps.ts';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import {
  addFinishedRuns,
  addMemoryEntries,
  ageRun,
  makeRunDue,
  removeMemoryEntries,
  removeRunsFinishedBefore,
  succeedRun,
} from '../fixtures/stage/automations.ts';
import { until } from '../fixtures/until.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
  workspace = await hub.workspace();
});
afterAll(() => hub[Symbol.asyncDispose]());

type StepInput = Record<string, unknown> & { type: Step['type'] };
const body = (steps: StepInput[], extra: Record<string, unknown> = {}) => ({
  body: { name: 'test', stepsJson: steps, ...extra } as never,
});

async function start(steps: StepInput[], payload: Record<string, unknown> = {}, on = workspace): Promise<string> {
  const { id } = await on.api.call('createAutomationWorkflow', body(steps));
  return startedRun(await on.api.call('runAutomationWorkflow', { params: { id }, body: { payload } })).runId;
}
const settled = (id: string, on = workspace) => settledRun(on.api, id);
const request = (method: string, path: string, content?: unknown, on = workspace) =>
  send(hub.url, method, path, {
    headers: { 'x-api-key': on.key },
    ...(content === undefined ? {} : { body: content }),
  });

describe('sequences', () => {
  test('run as a linked workflow that is created once and updated with them', async () => {
    const sequence = await workspace.api.call('createAutomationSequence', {
      body: {
        name: 'Welcome',
        steps: [
          { type: 'log', message: 'one {{payload.who}}' },
          { type: 'log', message: 'two' },
        ],
      },
    });
    expect(sequence).toMatchObject({ name: 'Welcome', workflowId: null });
    const first = await workspace.api.call('runAutomationSequence', {
      params: { id: sequence.id },
      body: { payload: { who: 'Ann' } },
    });
    expect(await settled(first.runId)).toMatchObject({
      status: 'succeeded',
      workflowId: first.workflowId,
      workflowVersion: 1,
      trigger: { type: 'sequence', sequenceId: sequence.id },
      stepsResultJson: [{ output: { message: 'one Ann' } }, {}],
    });
    const second = await workspace.api.call('runAutomationSequence', {
      params: { id: sequence.id },
      body: { payload: { who: 'Bo' } },
    });
    expect(second.workflowId).toBe(first.workflowId);
    expect((await settled(second.runId)).workflowVersion).toBe(1);
    expect(
      await workspace.api.call('updateAutomationSequence', {
        params: { id: sequence.id },
        body: { steps: [{ type: 'log', message: 'changed' }] },
      }),
    ).toMatchObject({ workflowId: first.workflowId });
    const third = await workspace.api.call('runAutomationSequence', { params: { id: sequence.id } });
    expect(await settled(third.runId)).toMatchObject({
      workflowVersion: 2,
      stepsResultJson: [{ output: { message: 'changed' } }],
    });
    expect((await workspace.api.call('listAutomationSequences', {})).data.map(({ id }) => id)).toEqual([sequence.id]);
    expect(await workspace.api.call('deleteAutomationSequence', { params: { id: sequence.id } })).toEqual({
      id: sequence.id,
      deleted: true,
    });
    expect((await request('PATCH', `/v1/automations/workflows/${first.workflowId}`, { name: 'x' })).status).toBe(404);
  });

  test('occupy no worker while they wait between their steps', async () => {
    const sequence = await workspace.api.call('createAutomationSequence', {
      body: {
        name: 'Slow',
        steps: [
          { type: 'log', message: 'now' },
          { type: 'log', message: 'later', delaySeconds: 3_600 },
        ],
      },
    });
    const { runId } = await workspace.api.call('runAutomationSequence', { params: { id: sequence.id } });
    const runState = async () =>
      (
        await hub.database.query<{ next_step: number; held: boolean; wake_at: Date | null }>(
          'select next_step, holder_id is not null as held, wake_at from runs where id = $1',
          [runId],
        )
      )[0];
    await expect.poll(runState).toEqual({ next_step: 1, held: false, wake_at: expect.any(Date) as Date });
    const wakeAt = (await runState())?.wake_at?.getTime() ?? 0;
    await makeRunDue(hub.database, runId);
    const run = await settled(runId);
    expect(run.status).toBe('succeeded');
    expect(wakeAt - new Date(run.stepsResultJson[0]?.finishedAt as string).getTime()).toBeGreaterThanOrEqual(3_599_900);
  });

  test('are rejected if they could not run', async () => {
    expect(
      (
        await request('POST', '/v1/automations/sequences', {
          name: 'x',
          steps: [{ type: 'skill', skillId: 'no.such' }],
        })
      ).body,
    ).toMatchObject({ statusCode: 400, code: 'workflow_invalid' });
    expect((await request('POST', '/v1/automations/sequences', { name: 'x', steps: [] })).body).toMatchObject({
      statusCode: 400,
      details: [{ path: 'body.steps' }],
    });
  });
});

describe('flows and attempts', () => {
  test('a flow keeps its revision over cancel, retry and replay, and lists its runs', async () => {
    const runId = await start([
      { type: 'log', message: 'a' },
      { type: 'approval', title: 'go?' },
    ]);
    const { flowId } = await settled(runId);
    await workspace.api.call('cancelAutomationRun', { params: { id: runId } });
    const retried = await workspace.api.call('retryAutomationRun', { params: { id: runId } });
    await settled(retried.id);
    const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId: retried.id } });
    await workspace.api.call('decideAutomationApproval', {
      params: { id: data[0]?.id as string },
      body: { decision: 'approved' },
    });
    expect((await settled(retried.id)).status).toBe('succeeded');
    const replayed = await workspace.api.call('replayAutomationRun', {
      params: { id: retried.id },
      body: { fromStep: 1 },
    });
    expect(await settled(replayed.id)).toMatchObject({
      status: 'waiting_approval',
      flowId,
      attempt: 3,
      stepsResultJson: [{ status: 'succeeded' }, { status: 'waiting_approval' }],
    });
    const flow = await workspace.api.call('getAutomationFlow', { params: { id: flowId } });
    expect(flow).toMatchObject({
      revision: 3,
      status: 'waiting_approval',
      runs: [{ id: runId, status: 'cancelled' }, { id: retried.id, status: 'succeeded' }, { id: replayed.id }],
    });
    expect(
      (await workspace.api.call('listAutomationFlows', { query: { workflowId: flow.workflowId } })).data,
    ).toMatchObject([{ id: flowId, revision: 3 }]);
    // Only the latest attempt can be replayed, and only from a step that was reached.
    expect((await request('POST', `/v1/automations/runs/${retried.id}/replay`, {})).body).toMatchObject({
      statusCode: 409,
      code: 'run_not_retryable',
    });
    expect((await request('POST', `/v1/automations/runs/${replayed.id}/replay`, {})).body).toMatchObject({
      statusCode: 409,
    });
    await workspace.api.call('cancelAutomationRun', { params: { id: replayed.id } });
    expect((await request('POST', `/v1/automations/runs/${replayed.id}/replay`, { fromStep: 2 })).body).toMatchObject({
      statusCode: 400,
      details: [{ path: 'body.fromStep' }],
    });
  });

  test('a dry run lists the planned effects, and has none', async () => {
    const { id } = await workspace.api.call(
      'createAutomationWorkflow',
      body([
        { type: 'skill', id: 'read', skillId: 'memory.read', input: { key: '{{payload.key}}' } },
        {
          type: 'skill',
          skillId: 'memory.write',
          input: { key: 'dry', value: '{{steps.read.output.value}} and {{payload.n}}' },
          when: '{{payload.n}}',
        },
        { type: 'log', message: 'never', when: '{{payload.zero}}' },
        { type: 'log', message: 'maybe', when: '{{last.outputText}}' },
        { type: 'approval', title: 'ok {{payload.key}}?' },
        { type: 'skill', skillId: 'node.ping', input: { nodeId: '{{payload.node}}' } },
      ]),
    );
    const answer = await workspace.api.call('runAutomationWorkflow', {
      params: { id },
      query: { dryRun: 'true' },
      body: { payload: { key: 'k', n: 5, zero: 0, node: 'not-a-node' } },
    });
    expect(answer).toMatchObject({
      dryRun: true,
      runnable: false,
      steps: [
        { willRun: 'yes', input: { key: 'k' }, unresolved: [], needsApproval: false, problems: [] },
        {
          willRun: 'yes',
          input: { key: 'dry', value: '{{steps.read.output.value}} and 5' },
          unresolved: ['steps.read.output.value'],
          problems: [],
        },
        { willRun: 'no' },
        { willRun: 'unknown' },
        { input: { title: 'ok k?' }, needsApproval: true },
        { problems: [expect.stringContaining('nodeId')], effect: 'reads from a companion node' },
      ],
    });
    expect((await workspace.api.call('listAutomationRuns', { query: { workflowId: id } })).data).toEqual([]);
    expect((await workspace.api.call('listAutomationMemory', { query: { key: 'dry' } })).data).toEqual([]);
  });

  test('a child run fails and is cancelled with its parent, and its depth is limited', async () => {
    const child = await workspace.api.call('createAutomationWorkflow', body([{ type: 'approval', title: 'child' }]));
    const parent = await start([
      { type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child.id, context: 'from above' } },
    ]);
    const childRun = async () =>
      (await workspace.api.call('listAutomationRuns', { query: { workflowId: child.id } })).data[0];
    await expect.poll(async () => (await childRun())?.status).toBe('waiting_approval');
    expect(await childRun()).toMatchObject({ parentRunId: parent, depth: 1, trigger: { type: 'subagent' } });
    expect((await workspace.api.call('getAutomationRun', { params: { id: parent } })).status).toBe('running');
    await workspace.api.call('cancelAutomationRun', { params: { id: parent } });
    expect((await childRun())?.status).toBe('cancelled');

    const second = await start([{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: child.id } }]);
    await expect.poll(async () => (await childRun())?.status).toBe('waiting_approval');
    await workspace.api.call('cancelAutomationRun', { params: { id: (await childRun())?.id as string } });
    expect(await settled(second)).toMatchObject({ status: 'failed', error: { code: 'subagent_cancelled' } });

    for (const [change, complaint] of [
      [{ active: false }, 'not active'],
      [null, 'no workflow'],
    ] as const) {
      if (change === null) await workspace.api.call('deleteAutomationWorkflow', { params: { id: child.id } });
      else await workspace.api.call('updateAutomationWorkflow', { params: { id: child.id }, body: change });
      const orphan = await start(
        [{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: '{{payload.id}}' } }],
        { id: child.id },
      );
      expect(await settled(orphan)).toMatchObject({
        status: 'failed',
        error: { code: 'subagent_refused', message: expect.stringContaining(complaint) as string },
      });
    }

    const loop = await workspace.api.call('createAutomationWorkflow', body([{ type: 'log', message: 'x' }]));
    await workspace.api.call('updateAutomationWorkflow', {
      params: { id: loop.id },
      body: { stepsJson: [{ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: loop.id } }] },
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: loop.id } }));
    expect(await settled(runId)).toMatchObject({ status: 'failed', error: { code: 'subagent_failed' } });
    const all = (await workspace.api.call('listAutomationRuns', { query: { workflowId: loop.id } })).data;
    expect([all.length, all[0]?.depth, all[0]?.error?.code]).toEqual([8, 7, 'depth_exceeded']);
  });
});

describe('memory', () => {
  test('is stored per workspace and per session, deleted by null and by expiry, and limited', async () => {
    const session = await workspace.api.call('createAutomationSession', { body: { scope: 'workspace', key: 'm' } });
    const put = (content: Record<string, unknown>) =>
      workspace.api.call('putAutomationMemory', { body: content as never });
    expect(await put({ key: 'a', value: { n: 1 } })).toMatchObject({
      key: 'a',
      value: { n: 1 },
      sessionId: null,
      expiresAt: null,
    });
    await put({ key: 'a', value: 2, sessionId: session.id });
    const read = async (query: Record<string, unknown>) =>
      (await workspace.api.call('listAutomationMemory', { query: query as never })).data.map(({ value }) => value);
    expect([
      await read({ key: 'a' }),
      await read({ key: 'a', sessionId: session.id }),
      await read({ key: 'none' }),
    ]).toEqual([[{ n: 1 }], [2], []]);
    // A string that looks like a number stays a string.
    for (const value of ['12', '1e999', 'null', '"x"', '{}', 0, false, ['1']]) {
      expect(await put({ key: 'typed', value })).toMatchObject({ value });
      expect(await read({ key: 'typed' })).toEqual([value]);
    }
    await put({ key: 'a', value: null });
    expect(await read({ key: 'a' })).toEqual([]);
    await put({ key: 'short', value: 1, ttlSeconds: 1 });
    await expect.poll(() => read({ key: 'short' })).toEqual([]);
    expect(
      (await request('PUT', '/v1/automations/memory', { key: 'big', value: 'x'.repeat(70_000) })).body,
    ).toMatchObject({ statusCode: 400, details: [{ path: 'body.value' }] });
    expect(
      (
        await request('PUT', '/v1/automations/memory', {
          key: 'x',
          value: 1,
          sessionId: '01890000-0000-7000-8000-000000000000',
        })
      ).status,
    ).toBe(404);
    await addMemoryEntries(hub.database, workspace.tenantId, { count: 10_000, value: 1 });
    expect((await request('PUT', '/v1/automations/memory', { key: 'one too many', value: 1 })).body).toMatchObject({
      statusCode: 409,
      code: 'memory_full',
    });
    await removeMemoryEntries(hub.database, workspace.tenantId);
  });

  test('returns the new items of a list since the last check', async () => {
    const steps: StepInput[] = [
      { type: 'skill', skillId: 'memory.diff', input: { key: 'files', items: '{{payload.items}}', by: 'name' } },
    ];
    const look = async (names: string[]) =>
      (await settled(await start(steps, { items: names.map((name) => ({ name })) }))).stepsResultJson[0];
    expect((await look(['a', 'b']))?.output).toEqual({ added: [], removed: [], first: true });
    expect(await look(['b', 'c'])).toMatchObject({
      output: { added: [{ name: 'c' }], removed: ['a'], first: false },
      outputText: 'c',
    });
  });
});

describe('logs and messages', () => {
  test('are filtered by run, workflow, level and time', async () => {
    const own = await hub.workspace();
    const first = await start(
      [
        { type: 'log', message: 'one' },
        { type: 'log', message: 'two', level: 'error' },
      ],
      {},
      own,
    );
    const { workflowId } = await settled(first, own);
    await settled(await start([{ type: 'log', message: 'other' }], {}, own), own);
    const lines = async (query: Record<string, unknown>) =>
      (await own.api.call('listAutomationLogs', { query: query as never })).data.map(({ message }) => message);
    expect(await lines({})).toEqual(['other', 'two', 'one']);
    expect(await lines({ runId: first })).toEqual(['two', 'one']);
    expect(await lines({ workflowId, level: 'error' })).toEqual(['two']);
    expect(await lines({ from: new Date(Date.now() - 60_000).toISOString() })).toEqual(['other', 'two', 'one']);
    expect(await lines({ to: new Date(Date.now() - 60_000).toISOString() })).toEqual([]);
    const page = await own.api.call('listAutomationLogs', { query: { limit: 2 } });
    expect(
      (
        await own.api.call('listAutomationLogs', { query: { limit: 2, cursor: page.meta.nextCursor as string } })
      ).data.map(({ message }) => message),
    ).toEqual(['one']);
  });

  interface Sent {
    event: string;
    id: string | undefined;
    data: Record<string, unknown>;
  }

  /** Opens a stream. It misses no event from then on. */
  async function open(
    path: string,
    signal: AbortSignal,
    headers: Record<string, string> = {},
  ): Promise<AsyncGenerator<Sent>> {
    const response = await fetch(`${hub.url}${path}`, { headers: { 'x-api-key': workspace.key, ...headers }, signal });
    expect([response.status, response.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    return read(response);
  }

  async function* read(response: Response): AsyncGenerator<Sent> {
    let text = '';
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      text += Buffer.from(chunk).toString();
      for (let end = text.indexOf('\n\n'); end !== -1; end = text.indexOf('\n\n')) {
        const fields = new Map(
          text
            .slice(0, end)
            .split('\n')
            .map((line) => line.split(/: (.*)/s, 2) as [string, string]),
        );
        text = text.slice(end + 2);
        const data = fields.get('data');
        if (data !== undefined)
          yield {
            event: fields.get('event') ?? '',
            id: fields.get('id'),
            data: JSON.parse(data) as Record<string, unknown>,
          };
      }
    }
  }

  test('are streamed live, and resume after the last received line', async () => {
    const stop = new AbortController();
    const stream = await open('/v1/automations/logs/live?level=warn', stop.signal);
    const first = stream.next();
    await start([
      { type: 'log', message: 'quiet' },
      { type: 'log', message: 'loud', level: 'warn' },
    ]);
    const line = (await first).value as { event: string; id: string; data: Record<string, unknown> };
    expect(line).toMatchObject({ event: 'log', data: { message: 'loud', level: 'warn' } });
    expect(line.id).toBe(line.data['id']);
    await start([{ type: 'log', message: 'louder', level: 'warn' }]);
    expect(((await stream.next()).value as typeof line).data['message']).toBe('louder');
    stop.abort();
    const again = new AbortController();
    const resumed = await open('/v1/automations/logs/live?level=warn', again.signal, { 'last-event-id': line.id });
    expect(((await resumed.next()).value as typeof line).data['message']).toBe('louder');
    again.abort();
  });

  test('messages are streamed live as well', async () => {
    const { key } = await workspace.createKey({ environment: 'test' });
    const { id } = await workspace.api.call(
      'createAutomationWorkflow',
      body([{ type: 'skill', skillId: 'webhook.deliver', input: { url: 'https://example.org/' } }]),
    );
    const stop = new AbortController();
    const first = (await open('/v1/automations/messages/live?status=simulated', stop.signal)).next();
    await hub.client(key).call('runAutomationWorkflow', { params: { id } });
    expect((await first).value).toMatchObject({
      event: 'message',
      data: { channel: 'webhook', recipient: 'https://example.org/', status: 'simulated', workflowId: id },
    });
    stop.abort();
  });

  test('the stream of a run sends each step until its end', async () => {
    const runId = await start([
      { type: 'log', message: 'a' },
      { type: 'approval', title: 'ok?' },
      { type: 'log', message: 'b' },
    ]);
    await settled(runId);
    const seen: string[] = [];
    for await (const { event, data } of await open(
      `/v1/automations/runs/${runId}/events`,
      AbortSignal.timeout(60_000),
    )) {
      seen.push(event === 'run' ? String(data['status']) : `${String(data['index'])} ${String(data['status'])}`);
      if (data['status'] === 'waiting_approval' && event === 'run') {
        const { data: pending } = await workspace.api.call('listAutomationApprovals', { query: { runId } });
        await workspace.api.call('decideAutomationApproval', {
          params: { id: pending[0]?.id as string },
          body: { decision: 'approved' },
        });
      }
    }
    expect(seen.slice(0, 4)).toEqual(['queued', '0 succeeded', '1 waiting_approval', 'waiting_approval']);
    expect(seen.at(-1)).toBe('succeeded');
    expect(seen).toEqual(expect.arrayContaining(['1 succeeded', '2 succeeded']));
    expect((await request('GET', '/v1/automations/runs/01890000-0000-7000-8000-000000000000/events')).status).toBe(404);
  });
});

describe('insight', () => {
  test('the SLO counts runs that ended within its window, equally from sums and from rows', async () => {
    const own = await hub.workspace();
    const now = Date.now();
    const { id } = await own.api.call('createAutomationWorkflow', body([{ type: 'log', message: 'x' }]));
    // Six hours of runs, each queued for 100 ms and executed for 10 s. One in four failed.
    const runs = Array.from({ length: 400 }, (_, index) => {
      const queued = now - (index + 1) * 54_000;
      return {
        status: (index + 1) % 4 === 0 ? ('failed' as const) : ('succeeded' as const),
        queuedAt: new Date(queued),
        startedAt: new Date(queued + 100),
        finishedAt: new Date(queued + 10_100),
      };
    });
    await addFinishedRuns(hub.database, own.tenantId, id, runs);
    const before = await own.api.call('getAutomationSlo', { query: { window: '24h' } });
    expect(before.runs).toEqual({ total: 400, succeeded: 300, failed: 100, cancelled: 0, successRate: 0.75 });
    expect(Math.abs((before.latencyMs.queue.p50 as number) - 100)).toBeLessThan(10);
    expect(Math.abs((before.latencyMs.run.p99 as number) - 10_000)).toBeLessThan(1000);
    // The sweep of the hub also makes sums, so that either of them can write each one.
    const sums = () =>
      hub.database.query('select * from run_rollups where tenant_id = $1 and slice_at < $2 order by slice_at', [
        own.tenantId,
        new Date(now - 10 * 60_000),
      ]);
    await rollUp(hub.app.db);
    const summed = await sums();
    expect(summed.length).toBeGreaterThan(60);
    const after = await own.api.call('getAutomationSlo', { query: { window: '24h' } });
    expect([after.runs, after.latencyMs]).toEqual([before.runs, before.latencyMs]);
    await rollUp(hub.app.db);
    expect(await sums()).toEqual(summed);
    const hour = await own.api.call('getAutomationSlo', { query: { window: '1h' } });
    expect(hour.runs.total).toBeGreaterThanOrEqual(65);
    expect(hour.runs.total).toBeLessThanOrEqual(67);
    // After the rows are removed, the totals remain.
    await removeRunsFinishedBefore(hub.database, own.tenantId, new Date(now - 10 * 60_000));
    expect((await own.api.call('getAutomationSlo', { query: { window: '24h' } })).runs).toEqual(before.runs);
    expect((await request('GET', '/v1/automations/slo?window=2d')).body).toMatchObject({
      statusCode: 400,
      details: [{ path: 'query.window' }],
    });
  });

  test('the SLO counts a run that continues after its end once, by its last end, before and after sums are made', async () => {
    const own = await hub.workspace();
    const { id } = await own.api.call('createAutomationWorkflow', body([{ type: 'log', message: 'x' }]));
    const now = Date.now();
    const failedRuns = [20, 40, 60].map((minutesAgo) => {
      const finished = now - minutesAgo * 60_000;
      return {
        status: 'failed' as const,
        queuedAt: new Date(finished - 20_000),
        startedAt: new Date(finished - 10_000),
        finishedAt: new Date(finished),
      };
    });
    const [, of40Minutes, of60Minutes] = (await addFinishedRuns(hub.database, own.tenantId, id, failedRuns)) as [
      string,
      string,
      string,
    ];
    /** Finishes a run like the engine does. */
    const goOn = async (tx: Transaction, run: string) => {
      await reopenRun(tx, { tenantId: own.tenantId, runId: run }, 0, { kind: 'node_command', commandId: run });
      await succeedRun(tx, run);
    };
    const slo = () => own.api.call('getAutomationSlo', { query: { window: '24h' } });
    let summing: Promise<unknown> | undefined;
    await hub.app.db.workspace(own.tenantId, async (tx) => {
      await goOn(tx, of60Minutes);
      let isOver = false;
      summing = rollUp(hub.app.db).finally(() => (isOver = true));
      const waits = `select 1 from pg_locks where locktype = 'advisory' and not granted and database = (select oid from pg_database where datname = current_database())`;
      // The sweep may have computed the totals already, so that nothing waits.
      await until(
        async () => isOver || (await hub.database.query(waits)).length > 0,
        () => 'the sums did not wait for the run',
      );
    });
    await summing;
    expect((await slo()).runs).toMatchObject({ total: 3, succeeded: 1, failed: 2 });
    const queued = (await slo()).latencyMs.queue;
    await hub.app.db.workspace(own.tenantId, (tx) => goOn(tx, of40Minutes));
    expect((await slo()).runs).toMatchObject({ total: 3, succeeded: 2, failed: 1 });
    expect((await slo()).latencyMs.queue).toEqual(queued);
    expect(
      await hub.database.query(
        'select sum(failed)::int as failed, jsonb_agg(run_histogram) as runs from run_rollups where tenant_id = $1',
        [own.tenantId],
      ),
    ).toMatchObject([{ failed: 1 }]);
  });

  test('onboarding lists what this workspace has and lacks, with a next request that succeeds', async () => {
    const own = await hub.workspace();
    const look = () => own.api.call('getAutomationOnboarding', {});
    expect(await look()).toMatchObject({
      complete: false,
      next: 'node',
      counts: { workflows: 0, nodes: 0, runsSucceeded: false },
    });
    for (const id of ['pack', 'workflow', 'run']) {
      const step = (await look()).steps.find((candidate) => candidate.id === id);
      expect(step?.done).toBe(false);
      const answer = await request(
        step?.request.method as string,
        step?.request.path as string,
        step?.request.body ?? {},
        own,
      );
      expect([id, answer.status]).toEqual([id, 200]);
      if (id === 'run') await settled(answer.body['runId'] as string, own);
      expect((await look()).steps.find((candidate) => candidate.id === id)?.done).toBe(true);
    }
  });

  test('retention removes expired and excess rows with all dependent rows, and nothing else', async () => {
    const own = await hub.workspace();
    const ids: string[] = [];
    for (let index = 0; index < 4; index += 1)
      ids.push((await settled(await start([{ type: 'log', message: `n${index}` }], {}, own), own)).id);
    const open = await start([{ type: 'approval', title: 'stay' }], {}, own);
    await settled(open, own);
    await ageRun(hub.database, ids[0] as string, { days: 10 });
    await own.api.call('putAutomationPolicy', { body: { retention: { maxAgeDays: 5, maxRuns: 2 } } });
    const folder = await mkdtemp(join(tmpdir(), 'outrigger-blobs-'));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const blobs = await createFileBlobs(folder);
    const logger = pino({ level: 'silent' });
    const retention = new RunRetention({
      db: hub.app.db,
      months: new MonthlyPartitions({ url: hub.database.url, logger }),
      blobs,
      logger,
      days: 90,
    });
    const runIds = async () => (await own.api.call('listAutomationRuns', {})).data.map(({ id }) => id);
    // The sweep of the hub can remove the same runs at the same time.
    await retention.prune();
    await expect.poll(runIds).toEqual([open, ids[3], ids[2]]);
    expect((await own.api.call('listAutomationFlows', {})).data.length).toBe(3);
    expect((await own.api.call('listAutomationLogs', {})).data.map(({ message }) => message)).toEqual(['n3', 'n2']);
    // From the second pass on, only newly finished runs are counted.
    const last = await settled(await start([{ type: 'log', message: 'n4' }], {}, own), own);
    await retention.prune();
    await expect.poll(runIds).toEqual([last.id, open, ids[3]]);
    expect(await retention.prune()).toBe(0);
    expect(await runIds()).toEqual([last.id, open, ids[3]]);
  });
});
