import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { missingId, send } from '../fixtures/requests.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { loseRun } from '../fixtures/stage/automations.ts';
import { StatementRecorder } from '../fixtures/statement-plans.ts';

let hub: TestHub;
let workspace: TestWorkspace;
beforeAll(async () => {
  hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000' });
});
afterAll(() => hub[Symbol.asyncDispose]());
beforeEach(async () => {
  workspace = await hub.workspace();
});

const create = async (...stepsJson: unknown[]) =>
  (await workspace.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson } as never })).id;
const start = async (workflowId: string) =>
  startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id: workflowId }, body: {} })).runId;
const settled = (id: string) => settledRun(workspace.api, id);
const question = { type: 'approval', title: 'ok?' };
const failing = { type: 'skill', skillId: 'memory.read', input: { key: '{{payload.missing}}' } };
const times = async (count: number, work: () => Promise<string>) => {
  const ids: string[] = [];
  for (let index = 0; index < count; index += 1) ids.push(await work());
  return ids;
};
const audited = async (action: string) =>
  (
    await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: { targetType: 'run', limit: 100 },
    })
  ).data
    .filter((entry) => entry.action === action)
    .map(({ targetId }) => targetId)
    .toSorted();

describe('cancelling several runs', () => {
  test('cancels each run independently, and returns a reason for each run that cannot be cancelled', async () => {
    const waiting = await create(question);
    const open = await times(3, () => start(waiting));
    const ended = await start(await create({ type: 'log', message: 'x' }));
    await Promise.all([...open, ended].map(settled));
    const foreign = await hub.workspace();
    const other = startedRun(
      await foreign.api.call('runAutomationWorkflow', {
        params: {
          id: (
            await foreign.api.call('createAutomationWorkflow', { body: { name: 'w', stepsJson: [question as never] } })
          ).id,
        },
      }),
    ).runId;
    const ids = [open[0], ended, missingId, other, open[1], open[0]?.toUpperCase()] as string[];
    const answer = await workspace.api.call('cancelAutomationRuns', { body: { ids } });
    expect(answer).toMatchObject({
      results: [
        { id: open[0], ok: true, runId: open[0] },
        { id: ended, ok: false, code: 'run_not_cancellable' },
        { id: missingId, ok: false, code: 'not_found' },
        { id: other, ok: false, code: 'not_found' },
        { id: open[1], ok: true },
      ],
      more: false,
      next: null,
    });
    expect(answer.results).toHaveLength(5);
    for (const id of open.slice(0, 2)) {
      expect(await settled(id)).toMatchObject({ status: 'cancelled' });
      const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId: id } });
      expect(data).toMatchObject([{ status: 'expired' }]);
    }
    expect((await settled(open[2] as string)).status).toBe('waiting_approval');
    expect((await foreign.api.call('getAutomationRun', { params: { id: other } })).status).not.toBe('cancelled');
    expect(await audited('run.cancelled')).toEqual([open[0], open[1]].toSorted());
  });

  test('selects runs by a filter, up to the limit, and continues with the rest', async () => {
    const [one, two] = [await create(question), await create(question)];
    const mine = await times(5, () => start(one));
    const kept = await start(two);
    await Promise.all([...mine, kept].map(settled));
    const seen: string[] = [];
    let next: string | null = null;
    const rounds: boolean[] = [];
    do {
      const answer: Awaited<ReturnType<typeof cancelTwo>> = await cancelTwo(next);
      seen.push(...answer.results.map(({ id }) => id));
      rounds.push(answer.more);
      next = answer.next;
    } while (next !== null);
    expect(rounds).toEqual([true, true, false]);
    expect(seen).toEqual(mine.toReversed());
    expect((await settled(kept)).status).toBe('waiting_approval');
    async function cancelTwo(olderThan: string | null) {
      return workspace.api.call('cancelAutomationRuns', {
        body: { filter: { workflowId: one, ...(olderThan === null ? {} : { olderThan }) }, limit: 2 },
      });
    }
    const at = new Date(Date.now() - 3_600_000).toISOString();
    for (const filter of [{ to: at }, { status: 'queued' as const }, { workflowId: missingId }])
      expect((await workspace.api.call('cancelAutomationRuns', { body: { filter } })).results).toEqual([]);
    expect(
      (await workspace.api.call('cancelAutomationRuns', { body: { filter: { from: at, status: 'waiting_approval' } } }))
        .results,
    ).toMatchObject([{ id: kept, ok: true }]);
  });

  test('also ends the runs that they wait for, and resumes the runs that wait for them', async () => {
    const child = await create(question);
    const parent = await create({
      type: 'skill',
      skillId: 'subagent.spawn',
      input: { workflowId: child },
    });
    const parents = await times(3, () => start(parent));
    const children = async () =>
      hub.database.query<{ id: string; parent_run_id: string }>(
        "select id, parent_run_id from runs where tenant_id = $1 and parent_run_id is not null and status = 'waiting_approval'",
        [workspace.tenantId],
      );
    await expect.poll(async () => (await children()).length).toBe(3);
    const of = async (id: string | undefined) =>
      (await children()).find((row) => row.parent_run_id === id)?.id as string;
    const [withParent, alone, byParent] = await Promise.all(parents.map(of));
    await workspace.api.call('cancelAutomationRuns', {
      body: { ids: [parents[0], withParent, alone, parents[2]] as string[] },
    });
    expect((await settled(parents[0] as string)).status).toBe('cancelled');
    expect((await settled(byParent as string)).status).toBe('cancelled');
    expect(await settled(parents[1] as string)).toMatchObject({ status: 'failed' });
  });

  test('does not affect a run that an ended run once waited for', async () => {
    const parent = await start(
      await create({ type: 'skill', skillId: 'subagent.spawn', input: { workflowId: await create(question) } }),
    );
    const child = async () =>
      (
        await hub.database.query<{ id: string }>(
          "select id from runs where parent_run_id = $1 and status = 'waiting_approval'",
          [parent],
        )
      )[0]?.id;
    await expect.poll(child).toBeDefined();
    const childId = (await child()) as string;
    // Simulates a run whose workers were lost.
    await loseRun(hub.database, parent);
    expect(await workspace.api.call('cancelAutomationRuns', { body: { ids: [parent] } })).toMatchObject({
      results: [{ id: parent, ok: false, code: 'run_not_cancellable' }],
    });
    expect((await settled(childId)).status).toBe('waiting_approval');
  });
});

describe('retrying several runs', () => {
  test('resumes each run where it stopped, and returns a reason for each run that cannot be retried', async () => {
    const workflow = await create({ id: 'a', type: 'log', message: 'x' }, failing);
    const ids = await times(3, () => start(workflow));
    const fine = await start(await create({ type: 'log', message: 'x' }));
    await Promise.all([...ids, fine].map(settled));
    const { id: again } = await workspace.api.call('retryAutomationRun', { params: { id: ids[0] as string } });
    await settled(again);
    const { results } = await workspace.api.call('retryAutomationRuns', { body: { ids: [...ids, fine, missingId] } });
    expect(results).toMatchObject([
      { id: ids[0], ok: false, code: 'run_not_retryable', message: expect.stringContaining(again) as string },
      { id: ids[1], ok: true },
      { id: ids[2], ok: true },
      { id: fine, ok: false, code: 'run_not_retryable' },
      { id: missingId, ok: false, code: 'not_found' },
    ]);
    for (const { id, runId } of results.slice(1, 3)) {
      expect(runId).not.toBe(id);
      const run = await settled(runId as string);
      expect(run).toMatchObject({ attempt: 2, status: 'failed', stepsResultJson: [{ status: 'succeeded' }, {}] });
      const [old] = (await settled(id)).stepsResultJson;
      expect(run.stepsResultJson[0]).toEqual(old);
      expect(run.flowId).toBe((await settled(id)).flowId);
    }
    expect(await audited('run.retried')).toEqual([...ids].toSorted());
    const { data } = await workspace.session.call('listAuditLog', {
      params: { tenantId: workspace.tenantId },
      query: { targetId: ids[1] as string },
    });
    expect(data[0]?.details).toEqual({ as: results[1]?.runId, fromStep: 1 });
  });

  test('by a filter selects runs that were not retried yet, and the continuation ends although they fail again', async () => {
    const workflow = await create(failing);
    const ids = await times(4, () => start(workflow));
    await Promise.all(ids.map(settled));
    await settled((await workspace.api.call('retryAutomationRun', { params: { id: ids[1] as string } })).id);
    const retried: string[] = [];
    let olderThan: string | undefined = ids[3];
    for (let rounds = 0; olderThan !== undefined; rounds += 1) {
      expect(rounds).toBeLessThan(4);
      const answer: { results: { id: string; ok: boolean; runId?: string | undefined }[]; next: string | null } =
        await workspace.api.call('retryAutomationRuns', {
          body: { filter: { workflowId: workflow, status: 'failed', olderThan }, limit: 2 },
        });
      for (const { id, ok, runId } of answer.results) {
        expect(ok).toBe(true);
        await settled(runId as string);
        retried.push(id);
      }
      olderThan = answer.next ?? undefined;
    }
    expect(retried).toEqual([ids[2], ids[0]]);
  });

  test('retries as many runs as the capacity allows, and returns a reason for the others', async () => {
    await using small = await startHub({ QUEUED_RUNS_PER_WORKSPACE: '2' });
    const own = await small.workspace();
    const { id } = await own.api.call('createAutomationWorkflow', {
      body: { name: 'w', stepsJson: [failing as never], limits: { maxConcurrentRuns: 1 } },
    });
    const ids: string[] = [];
    for (let index = 0; index < 4; index += 1) {
      const { runId } = startedRun(await own.api.call('runAutomationWorkflow', { params: { id } }));
      await settledRun(own.api, runId);
      ids.push(runId);
    }
    const { results } = await own.api.call('retryAutomationRuns', { body: { ids } });
    expect(results.map(({ ok, code }) => [ok, code])).toEqual([
      [true, undefined],
      [true, undefined],
      [false, 'queued_runs_limit_reached'],
      [false, 'queued_runs_limit_reached'],
    ]);
  });

  test('by two concurrent callers starts each run once', async () => {
    const workflow = await create(failing);
    const ids = await times(5, () => start(workflow));
    await Promise.all(ids.map(settled));
    const answers = await Promise.all(
      [ids, ids.toReversed()].map((body) => workspace.api.call('retryAutomationRuns', { body: { ids: body } })),
    );
    expect(answers.flatMap(({ results }) => results).filter(({ ok }) => ok)).toHaveLength(5);
  });
});

describe('cancelling and retrying several runs', () => {
  const operations = ['cancel', 'retry'] as const;
  const ofRequests = new Set(
    'lock_flows read_for_retry insert_retries lock_run_trees missed_children cancel_runs cancel_steps audit'.split(' '),
  );

  test.each(operations)('%s needs as many statements for thirty runs as for one', async (operation) => {
    const workflow = await create(operation === 'cancel' ? question : failing);
    const ids = await times(32, () => start(workflow));
    await Promise.all(ids.map(settled));
    const count = async (some: string[]) => {
      using recorder = new StatementRecorder(100);
      const answer = await workspace.api.call(operation === 'cancel' ? 'cancelAutomationRuns' : 'retryAutomationRuns', {
        body: { ids: some },
      });
      expect(answer.results.every(({ ok }) => ok)).toBe(true);
      // Workers claim retried runs meanwhile.
      return recorder.statements
        .map(({ name, text }) => name ?? (text.includes('insert into "audit_log"') ? 'audit' : ''))
        .filter((name) => ofRequests.has(name))
        .toSorted();
    };
    const one = await count(ids.slice(31));
    expect(one).toHaveLength(operation === 'cancel' ? 5 : 4);
    expect(await count(ids.slice(0, 31))).toEqual(one);
  });

  test.each(operations)('%s is done once for an Idempotency-Key', async (operation) => {
    const workflow = await create(operation === 'cancel' ? question : failing);
    const ids = await times(2, () => start(workflow));
    await Promise.all(ids.map(settled));
    const call = () =>
      send(hub.url, 'POST', `/v1/automations/runs/${operation}`, {
        headers: { 'x-api-key': workspace.key, 'idempotency-key': 'many' },
        body: { ids },
      });
    const [first, second] = [await call(), await call()];
    expect(first.body).toMatchObject({ results: [{ ok: true }, { ok: true }] });
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    const [row] = await hub.database.query<{ count: string }>('select count(*) from runs where workflow_id = $1', [
      workflow,
    ]);
    expect(Number(row?.count)).toBe(operation === 'cancel' ? 2 : 4);
  });

  test.each(operations)('%s rejects an invalid body with the problem', async (operation) => {
    for (const [body, path] of [
      [{}, 'body.ids'],
      [{ ids: [], filter: {} }, 'body.ids'],
      [{ ids: [missingId], filter: {} }, 'body.ids'],
      [{ ids: Array.from({ length: 101 }, () => missingId) }, 'body.ids'],
      [{ ids: ['x'] }, 'body.ids[0]'],
      [{ filter: { status: 'succeeded' } }, 'body.filter.status'],
      [{ filter: {}, limit: 101 }, 'body.limit'],
      [{ filter: { from: 'yesterday' } }, 'body.filter.from'],
    ] as const) {
      const answer = await send(hub.url, 'POST', `/v1/automations/runs/${operation}`, {
        headers: { 'x-api-key': workspace.key },
        body,
      });
      expect(answer.status).toBe(400);
      expect(answer.body.details?.map((detail) => detail.path)).toContain(path);
    }
    const agent = await send(hub.url, 'POST', `/v1/automations/runs/${operation}`, { body: { ids: [missingId] } });
    expect(agent.status).toBe(401);
    const wrong = await workspace.createKey({ product: 'chat' });
    const refused = await send(hub.url, 'POST', `/v1/automations/runs/${operation}`, {
      headers: { 'x-api-key': wrong.key },
      body: { ids: [missingId] },
    });
    expect(refused.status).toBe(403);
  });
});
