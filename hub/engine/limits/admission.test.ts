import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { createInterface } from 'node:readline';
import { pathToFileURL } from 'node:url';
import { Client as Postgres } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { entitlementNames } from '../../../shared/contract/define.ts';
import { claimRun, executeRun } from '../../../test/fixtures/claim-run.ts';
import { enginePorts } from '../../../test/fixtures/engine.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { inheritedEnv } from '../../../test/fixtures/processes.ts';
import { testSecrets } from '../../../test/fixtures/secrets.ts';
import { unawaited } from '../../../test/fixtures/unawaited.ts';
import { Database } from '../../platform/db/database.ts';
import { PostgresEvents } from '../../platform/events/postgres-events.ts';
import { newId } from '../../platform/ids.ts';
import { MemoryBudget } from '../../platform/process/memory-budget.ts';
import { Runs } from '../../products/automations/runs/index.ts';
import { admitWaitingRuns, reevaluateConcurrencyQueues, wakeStalledConcurrencyQueues } from '../index.ts';
import { repairRuns } from '../queue/sweeper.ts';
import { Engine } from '../runs/engine.ts';
import { defineSkill } from '../skill.ts';
import { acceptRuns, prepareRun } from '../starts/accept-runs.ts';
import { admitClaimedRun } from './admission.ts';

const logger = pino({ level: 'silent' });
const never = new AbortController().signal;
let database: TestDatabase;
let db: Database;
let events: PostgresEvents;
/** Workspaces for which transactions of the test have woken workers. Accepting runs does not count. */
const notified = new Set<string>();

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 12, applicationName: 'test', onError: () => undefined });
  db.onDue((tenantIds) => tenantIds.forEach((id) => notified.add(id)));
  events = await PostgresEvents.connect(database.url, testSecrets, logger);
  db.onPublished((topic, payload) => events.publish(topic, payload));
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

beforeEach(() => {
  notified.clear();
});

async function workspace(): Promise<string> {
  const tenantId = newId();
  await database.query('insert into tenants (id, name, entitlements) values ($1, $2, $3)', [
    tenantId,
    tenantId,
    JSON.stringify(Object.fromEntries(entitlementNames.map((name) => [name, true]))),
  ]);
  return tenantId;
}

async function workflow(
  tenantId: string,
  limits: Record<string, unknown> | null,
  schedule?: Record<string, unknown>,
): Promise<string> {
  const id = newId();
  const steps = JSON.stringify([{ type: 'skill', skillId: 'test.gate', input: {} }]);
  const trigger = JSON.stringify(
    schedule === undefined ? { schemaVersion: 1, type: 'manual' } : { schemaVersion: 1, type: 'schedule', schedule },
  );
  await database.query(
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps, limits) values ($1, $2, 'w', true, 1, $3, $4, $5)`,
    [id, tenantId, trigger, steps, limits === null ? null : JSON.stringify(limits)],
  );
  await database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', $3)`,
    [id, tenantId, steps],
  );
  return id;
}

/** Accepts runs. Returns their ids in the order of the concurrency queue. */
async function accept(
  tenantId: string,
  workflowId: string,
  count: number,
  notBefore: Date | null = null,
): Promise<string[]> {
  const accepted = await db.workspace(tenantId, (tx) =>
    acceptRuns(
      tx,
      Array.from({ length: count }, () =>
        prepareRun({
          tenantId,
          workflowId,
          workflowVersion: 1,
          trigger: { type: 'manual' },
          context: null,
          payload: null,
          environment: 'live' as const,
          notBefore,
        }),
      ),
    ),
  );
  const ids = accepted.flatMap((run) => (run === null ? [] : [run.runId])).toSorted();
  expect(ids).toHaveLength(count);
  notified.delete(tenantId);
  return ids;
}

/** A worker that executes the runs that the test chooses. Each run waits in its only step until `release`. */
class Worker {
  readonly inProgress: string[] = [];
  readonly done = new Map<string, Promise<boolean>>();
  maxInProgress = 0;
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();
  readonly #reached = new Map<string, PromiseWithResolvers<void>>();
  readonly engine: Engine;

  constructor() {
    const skill = defineSkill({
      id: 'test.gate',
      title: '',
      summary: '',
      requires: [],
      effect: 'pure',
      input: z.strictObject({}),
      output: z.unknown(),
      execute: async (_input, { runId }) => {
        const gate = Promise.withResolvers<void>();
        this.#gates.set(runId, gate);
        this.inProgress.push(runId);
        this.#reached.get(runId)?.resolve();
        this.maxInProgress = Math.max(this.maxInProgress, this.inProgress.length);
        await gate.promise;
        this.inProgress.splice(this.inProgress.indexOf(runId), 1);
        return { output: null };
      },
    });
    this.engine = new Engine({
      db,
      events,
      skills: { find: () => skill, list: () => [skill] },
      ...enginePorts(db),
      logger,
    });
  }

  /** Starts to execute runs. Resolves once each run is in its step, or waits in its concurrency queue. */
  async start(ids: readonly string[]): Promise<void> {
    await Promise.all(
      ids.map(async (id) => {
        const reached = Promise.withResolvers<void>();
        this.#reached.set(id, reached);
        const done = this.execute(id);
        this.done.set(id, done);
        await Promise.race([done, reached.promise]);
      }),
    );
  }

  /** Executes a run. Resolves when the run has ended, or waits in its concurrency queue. */
  execute(runId: string): Promise<boolean> {
    return executeRun(this.engine, db, runId, never);
  }

  /** Ends the step of a run. */
  release(runId: string): void {
    this.#gates.get(runId)?.resolve();
  }
}

/** Returns the due runs of the workspaces for which workers were woken since the last call. */
async function takeWoken(): Promise<string[]> {
  const tenantIds = [...notified];
  notified.clear();
  const rows = await database.query<{ id: string }>(
    `select id from runs where tenant_id = any($1) and wake_at <= now() and holder_id is null and status in ('queued', 'running') order by id`,
    [tenantIds],
  );
  return rows.map(({ id }) => id);
}

const urlOf = (path: string) => JSON.stringify(pathToFileURL(resolve(path)).href);

/**
 * Starts another process with a clock that differs from the clock of the database. It claims and admits the runs that the test
 * chooses. The clock of this process must not change, because later ids would stay ahead.
 * @returns a function that resolves to whether a run has started.
 */
async function startWithWrongClock(offsetMs: number): Promise<(runId: string) => Promise<boolean>> {
  const program = `
    const RealDate = Date;
    globalThis.Date = class extends RealDate {
      constructor(...parts) {
        super(...(parts.length === 0 ? [RealDate.now() + ${offsetMs}] : parts));
      }
      static now() {
        return RealDate.now() + ${offsetMs};
      }
    };
    const { createInterface } = await import('node:readline');
    const { Database } = await import(${urlOf('hub/platform/db/database.ts')});
    const { admitClaimed } = await import(${urlOf('hub/engine/limits/admit-claimed.ts')});
    const { claimRun } = await import(${urlOf('test/fixtures/claim-run.ts')});
    await using db = new Database({
      url: ${JSON.stringify(database.url)},
      maxConnections: 2,
      applicationName: 'test',
      onError: () => undefined,
    });
    await db.prove();
    console.log('ready');
    for await (const runId of createInterface({ input: process.stdin })) {
      const isStarted = await admitClaimed(db, await claimRun(db, runId));
      console.log(isStarted ? 'started' : 'waits');
    }`;
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program], { env: inheritedEnv() });
  onTestFinished(() => void child.kill('SIGKILL'));
  let stderr = '';
  child.stderr.on('data', (chunk: Buffer) => (stderr += chunk.toString()));
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]();
  const read = async (...expected: string[]) => {
    const { value } = await lines.next();
    if (!expected.includes(value as string)) throw new Error(`the process printed ${value}: ${stderr}`);
    return value as string;
  };
  await read('ready');
  return async (runId) => {
    child.stdin.write(`${runId}\n`);
    return (await read('started', 'waits')) === 'started';
  };
}

const runService = () =>
  new Runs({
    tracing: null,
    db,
    events,
    live: undefined as never,
    cursors: undefined as never,
    answerMemory: new MemoryBudget({ limitBytes: 16 * 1024 * 1024, waitMs: 60_000 }),
    heartbeatSeconds: 30,
    maxQueued: 0,
    onCancel: async () => undefined,
  });

interface QueuedRow {
  id: string;
  waits_for: string | null;
  wake_at: Date | null;
  started_at: Date | null;
  holder_id: string | null;
  status: string;
}
const rowsOf = (workflowId: string) =>
  database.query<QueuedRow>(
    'select id, waits_for, wake_at, started_at, holder_id, status from runs where workflow_id = $1 order by id',
    [workflowId],
  );

describe('concurrency queue', () => {
  test('waiting runs have no wake-up time, and the transaction that ends a run starts the next one in order', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxConcurrentRuns: 2, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 6);
    const worker = new Worker();
    for (const runId of ids) await worker.start([runId]);
    expect(worker.inProgress.length).toBe(2);
    const started = worker.inProgress.slice();
    const waiting = ids.filter((runId) => !started.includes(runId));
    const waitingRows = (await rowsOf(id)).filter(({ started_at }) => started_at === null);
    expect(waitingRows.map((row) => [row.id, row.status, row.wake_at, row.holder_id])).toEqual(
      waiting.map((runId) => [runId, 'queued', null, null]),
    );
    expect(waitingRows.map(({ waits_for }) => waits_for)).toEqual([
      'max_concurrent_runs',
      'earlier_runs',
      'earlier_runs',
      'earlier_runs',
    ]);
    for (const next of waiting) {
      expect(await takeWoken()).toEqual([]);
      const [ending] = worker.inProgress;
      worker.release(ending as string);
      await expect.poll(() => notified.size).toBe(1);
      // The run counts as started before a worker claims it.
      expect((await rowsOf(id)).find((row) => row.id === next)).toMatchObject({
        waits_for: null,
        status: 'queued',
        started_at: expect.any(Date) as Date,
      });
      expect(await takeWoken()).toEqual([next]);
      await worker.start([next]);
    }
    for (const open of worker.inProgress) worker.release(open);
    await expect.poll(async () => (await rowsOf(id)).map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'));
    expect(worker.maxInProgress).toBe(2);
  });

  test('runs start in order, also while another transaction has locked the first one', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 4);
    const worker = new Worker();
    for (const runId of ids) await worker.start([runId]);
    const startedIds = async () =>
      (await rowsOf(id)).filter(({ started_at }) => started_at !== null).map((row) => row.id);
    const other = new Postgres({ connectionString: database.url });
    await other.connect();
    await other.query('BEGIN');
    await other.query('SELECT 1 FROM runs WHERE id = $1 FOR UPDATE', [ids[1]]);
    worker.release(ids[0] as string);
    await worker.done.get(ids[0] as string);
    expect(await startedIds()).toEqual([ids[0]]);
    await other.query('COMMIT');
    await other.end();
    await db.workspace(tenantId, (tx) =>
      admitWaitingRuns(tx, [{ tenant_id: tenantId, workflow_id: id, environment: 'live' }]),
    );
    expect(await startedIds()).toEqual(ids.slice(0, 2));
  });

  test('concurrent starts and ends never exceed the limit and start every run', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxConcurrentRuns: 3, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 60);
    const worker = new Worker();
    const loop = async () => {
      for (const runId of await takeWoken()) unawaited(worker.execute(runId));
      for (const runId of worker.inProgress) if (Math.random() < 0.5) worker.release(runId);
    };
    for (const runId of ids) unawaited(worker.execute(runId));
    const timer = setInterval(() => unawaited(loop()), 5);
    await expect.poll(async () => (await rowsOf(id)).filter(({ status }) => status === 'succeeded').length).toBe(60);
    clearInterval(timer);
    expect(worker.maxInProgress).toBeLessThanOrEqual(3);
  });

  test('the end of another run does not start a run before its earliest start time', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, null, {
      kind: 'interval',
      everySeconds: 60,
      overlap: 'queue',
      jitterSeconds: 3600,
    });
    const [first] = await accept(tenantId, id, 1);
    const [later] = await accept(tenantId, id, 1, new Date(Date.now() + 1_800_000));
    const worker = new Worker();
    await worker.start([first as string]);
    worker.release(first as string);
    await worker.done.get(first as string);
    expect(await takeWoken()).toEqual([]);
    expect((await rowsOf(id)).find((row) => row.id === later)).toMatchObject({
      started_at: null,
      waits_for: null,
      status: 'queued',
    });
    await worker.execute(later as string);
    expect((await rowsOf(id)).find((row) => row.id === later)).toMatchObject({ started_at: null, status: 'queued' });
  });

  test('cancelling the run in progress starts the next one, and cancelling the first waiting run moves up the next one', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 3);
    const worker = new Worker();
    const runs = runService();
    await worker.start(ids);
    notified.clear();
    const [inProgress] = worker.inProgress;
    const [next, last] = ids.filter((runId) => runId !== inProgress);
    await runs.cancel(tenantId, next as string, { actor: 'user:test', environment: 'live' });
    expect([...notified]).toEqual([]);
    expect((await rowsOf(id)).find((row) => row.id === last)).toMatchObject({
      waits_for: 'max_concurrent_runs',
      wake_at: null,
    });
    await runs.cancel(tenantId, inProgress as string, { actor: 'user:test', environment: 'live' });
    expect(await takeWoken()).toEqual([last]);
  });

  test('raising or removing the limit starts as many runs as the new limit allows', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 6);
    const worker = new Worker();
    await worker.start(ids);
    const change = async (limits: string | null) => {
      await db.workspace(tenantId, async (tx) => {
        await tx.query(`change_limits_${limits === null}`, 'UPDATE workflows SET limits = $2 WHERE id = $1', [
          id,
          limits,
        ]);
        return reevaluateConcurrencyQueues(tx, tenantId, id);
      });
      await worker.start(await takeWoken());
      await worker.start(await takeWoken());
    };
    await change(JSON.stringify({ maxConcurrentRuns: 3, onLimit: 'queue' }));
    expect(worker.inProgress.length).toBe(3);
    expect(
      (await rowsOf(id))
        .filter(({ started_at }) => started_at !== null)
        .map((row) => row.id)
        .every((runId) => worker.inProgress.includes(runId)),
    ).toBe(true);
    await change(null);
    expect(worker.inProgress.length).toBe(6);
    for (const runId of worker.inProgress) worker.release(runId);
  });

  describe('a run that waits for a limit which was set during an earlier run starts when the earlier run ends', () => {
    const limit = async (tenantId: string, id: string) => {
      await db.workspace(tenantId, async (tx) => {
        await tx.query(
          'set_limits',
          `UPDATE workflows SET limits = '{"maxConcurrentRuns":1,"onLimit":"queue"}' WHERE id = $1`,
          [id],
        );
        await reevaluateConcurrencyQueues(tx, tenantId, id);
      });
    };
    const waitsFor = async (kind: 'advisory' | 'relation') =>
      (
        await database.query(
          'select 1 from pg_locks where not granted and locktype = $1 and database = (select oid from pg_database where datname = current_database())',
          [kind],
        )
      ).length > 0;

    test('also if the earlier run ended before the next run had joined the queue', async () => {
      const tenantId = await workspace();
      const id = await workflow(tenantId, null);
      const [first, next] = (await accept(tenantId, id, 2)) as [string, string];
      const worker = new Worker();
      await worker.start([first]);
      await limit(tenantId, id);
      const claimed = await claimRun(db, next);
      const evaluated = Promise.withResolvers<void>();
      const mayCommit = Promise.withResolvers<void>();
      const holding = db.workspace(tenantId, async (tx) => {
        const isStarted = await admitClaimedRun(
          tx,
          { tenantId, workflowId: id, environment: 'live' },
          {
            id: next,
            fence: claimed?.fence as string,
            holderId: newId(),
          },
        );
        evaluated.resolve();
        await mayCommit.promise;
        return isStarted;
      });
      await evaluated.promise;
      let hasEnded = false;
      worker.release(first);
      unawaited(worker.done.get(first)?.then(() => (hasEnded = true)));
      await expect.poll(async () => hasEnded || (await waitsFor('advisory'))).toBe(true);
      mayCommit.resolve();
      expect(await holding).toBe(false);
      await worker.done.get(first);
      expect(await takeWoken()).toEqual([next]);
    });

    test('also if the limit was set before the end of the earlier run was committed', async () => {
      const tenantId = await workspace();
      const id = await workflow(tenantId, null);
      const [first, next] = (await accept(tenantId, id, 2)) as [string, string];
      const worker = new Worker();
      await worker.start([first]);
      const mayWrite = Promise.withResolvers<void>();
      const locked = Promise.withResolvers<void>();
      const blocking = db.system(async (tx) => {
        await tx.query('block_steps', 'LOCK TABLE run_steps IN SHARE ROW EXCLUSIVE MODE', []);
        locked.resolve();
        await mayWrite.promise;
      });
      await locked.promise;
      worker.release(first);
      await expect.poll(() => waitsFor('relation')).toBe(true);
      const setting = limit(tenantId, id);
      // No run can be delayed by the new limit while a run is ending that does not see this limit.
      await expect.poll(() => waitsFor('advisory')).toBe(true);
      mayWrite.resolve();
      await Promise.all([blocking, setting, worker.done.get(first)]);
      await worker.start([next]);
      expect(worker.inProgress).toEqual([next]);
      worker.release(next);
    });
  });

  test('the sweep wakes only the first run of a queue with a lost wake-up', async () => {
    const tenantId = await workspace();
    const [stalled, full] = [
      await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' }),
      await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' }),
    ];
    const worker = new Worker();
    for (const id of [stalled, full]) await worker.start(await accept(tenantId, id, 3));
    const sweep = async () => {
      notified.clear();
      await db.system((tx) => wakeStalledConcurrencyQueues(tx));
      return await takeWoken();
    };
    expect(await sweep()).toEqual([]);
    // As if the transaction that ended the run had not seen the limit.
    await database.query(
      `update runs set status = 'succeeded', finished_at = now(), wake_at = null, holder_id = null where workflow_id = $1 and started_at is not null`,
      [stalled],
    );
    const [head] = (await rowsOf(stalled)).filter(({ started_at }) => started_at === null);
    expect(await sweep()).toEqual([head?.id]);
    await worker.start([head?.id as string]);
    expect(await sweep()).toEqual([]);
    expect(worker.inProgress).toContain(head?.id);
  });
});

describe('rate limits', () => {
  test('only the first run of a queue has a wake-up time, at which there is capacity', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxRunsPerMinute: 2, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 8);
    const worker = new Worker();
    for (const runId of ids) await worker.start([runId]);
    expect(worker.inProgress.length).toBe(2);
    const waitingRows = (await rowsOf(id)).filter(({ started_at }) => started_at === null);
    expect(waitingRows.map(({ waits_for }) => waits_for)).toEqual([
      'max_runs_per_minute',
      ...Array.from({ length: 5 }, () => 'earlier_runs'),
    ]);
    expect(waitingRows.map(({ wake_at }) => wake_at !== null)).toEqual([true, false, false, false, false, false]);
    const oldest = await database.query<{ at: Date }>(
      'select min(last_at) as at from run_starts where scope_id = $1 and count > 0',
      [id],
    );
    expect(waitingRows[0]?.wake_at?.getTime()).toBe((oldest[0]?.at.getTime() ?? 0) + 60_000);
    // A minute later, the next two runs can start.
    await database.query(
      `update run_starts set last_at = last_at - interval '1 minute', slice_at = slice_at - interval '1 minute' where scope_id = $1`,
      [id],
    );
    await database.query('update runs set wake_at = now() where id = $1', [waitingRows[0]?.id]);
    notified.clear();
    await worker.start([waitingRows[0]?.id as string]);
    expect(await takeWoken()).toEqual([waitingRows[1]?.id]);
    expect(
      (await rowsOf(id))
        .filter(({ started_at }) => started_at === null)
        .map((row) => [row.id, row.waits_for, row.wake_at !== null]),
    ).toEqual(
      waitingRows
        .slice(2)
        .map((row, index) => [row.id, index === 0 ? 'max_runs_per_minute' : 'earlier_runs', index === 0]),
    );
    for (const runId of worker.inProgress) worker.release(runId);
  });

  test('only the first run of a queue has a wake-up time, also if runs join the queue in another order', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxRunsPerMinute: 1, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 5);
    const worker = new Worker();
    for (const runId of ids.toReversed()) await worker.start([runId]);
    expect(worker.inProgress).toEqual([ids[4]]);
    const waitingRows = (await rowsOf(id)).filter(({ started_at }) => started_at === null);
    expect(waitingRows.map((row) => [row.id, row.waits_for, row.wake_at !== null])).toEqual(
      ids.slice(0, 4).map((runId, index) => [runId, index === 0 ? 'max_runs_per_minute' : 'earlier_runs', index === 0]),
    );
    worker.release(ids[4] as string);
  });

  test('the workflows of a workspace share the hourly limit, and only one of their queues has a wake-up time', async () => {
    const tenantId = await workspace();
    await database.query(
      `insert into automation_policies (tenant_id, standing_orders, max_runs_per_hour, approvals_required_for) values ($1, '', 2, '{}')`,
      [tenantId],
    );
    const [one, other] = [await workflow(tenantId, null), await workflow(tenantId, null)];
    const worker = new Worker();
    const ofOne = await accept(tenantId, one, 3);
    const ofOther = await accept(tenantId, other, 2);
    for (const runId of [...ofOne, ...ofOther]) await worker.start([runId]);
    expect(worker.inProgress.toSorted()).toEqual(ofOne.slice(0, 2));
    const timers = async () =>
      (
        await database.query<{ id: string; waits_for: string; timer: boolean }>(
          'select id, waits_for, wake_at is not null as timer from runs where tenant_id = $1 and started_at is null order by id',
          [tenantId],
        )
      ).map((row) => [row.id, row.waits_for, row.timer]);
    expect(await timers()).toEqual([
      [ofOne[2], 'max_runs_per_hour', true],
      [ofOther[0], 'max_runs_per_hour', false],
      [ofOther[1], 'earlier_runs', false],
    ]);
    // An hour later, the woken run also starts runs of the other workflow.
    await database.query(
      `update run_starts set last_at = last_at - interval '1 hour', slice_at = slice_at - interval '1 hour' where scope_id = $1`,
      [tenantId],
    );
    await database.query('update runs set wake_at = now() where id = $1', [ofOne[2]]);
    notified.clear();
    await worker.start([ofOne[2] as string]);
    expect(await takeWoken()).toEqual([ofOther[0]]);
    expect(await timers()).toEqual([[ofOther[1], 'max_runs_per_hour', true]]);
    for (const runId of worker.inProgress) worker.release(runId);
  });

  test('cancelling the only run with a wake-up time for the hourly limit gives it to the queue of another workflow', async () => {
    const tenantId = await workspace();
    await database.query(
      `insert into automation_policies (tenant_id, standing_orders, max_runs_per_hour, approvals_required_for) values ($1, '', 1, '{}')`,
      [tenantId],
    );
    const [one, other] = [await workflow(tenantId, null), await workflow(tenantId, null)];
    const worker = new Worker();
    const ofOne = await accept(tenantId, one, 2);
    const ofOther = await accept(tenantId, other, 2);
    for (const runId of [...ofOne, ...ofOther]) await worker.start([runId]);
    const timers = async () =>
      (
        await database.query<{ id: string; wake_at: Date | null }>(
          'select id, wake_at from runs where tenant_id = $1 and waits_for is not null order by id',
          [tenantId],
        )
      ).map((row) => [row.id, row.wake_at]);
    const [timer] = await timers();
    expect(timer).toEqual([ofOne[1], expect.any(Date)]);
    notified.clear();
    await runService().cancel(tenantId, ofOne[1] as string, { actor: 'user:test', environment: 'live' });
    expect(await timers()).toEqual([
      [ofOther[0], timer?.[1]],
      [ofOther[1], null],
    ]);
    // No wake-up is needed: workers find runs that become due later.
    expect([...notified]).toEqual([]);
    worker.release(ofOne[0] as string);
  });

  test.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ])(
    'starts are counted by the clock of the database if the clock of the process is an hour %s',
    async (_direction, offsetMs) => {
      const tenantId = await workspace();
      const id = await workflow(tenantId, { maxRunsPerMinute: 1, onLimit: 'queue' });
      const [first, second, third] = (await accept(tenantId, id, 3)) as [string, string, string];
      const admit = await startWithWrongClock(offsetMs);
      const worker = new Worker();
      await worker.start([first]);
      expect(await admit(second)).toBe(false);
      const [start] = await database.query<{ at: Date }>(
        'select max(last_at) as at from run_starts where scope_id = $1 and count > 0',
        [id],
      );
      expect((await rowsOf(id)).find((row) => row.id === second)).toMatchObject({
        waits_for: 'max_runs_per_minute',
        wake_at: new Date((start?.at.getTime() ?? 0) + 60_000),
        started_at: null,
      });
      // A minute later there is capacity for one run.
      await database.query(
        `update run_starts set last_at = last_at - interval '1 minute', slice_at = slice_at - interval '1 minute' where scope_id = $1`,
        [id],
      );
      await database.query('update runs set wake_at = now() where id = $1', [second]);
      expect(await admit(second)).toBe(true);
      expect(await admit(third)).toBe(false);
      worker.release(first);
    },
  );

  test('starts before the limit was set are counted once', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, null);
    const worker = new Worker();
    await worker.start(await accept(tenantId, id, 3));
    await database.query(
      `insert into automation_policies (tenant_id, standing_orders, max_runs_per_hour, approvals_required_for) values ($1, '', 4, '{}')`,
      [tenantId],
    );
    const later = await accept(tenantId, id, 3);
    for (const runId of later) await worker.start([runId]);
    expect(worker.inProgress.length).toBe(4);
    expect(await database.query('select sum(count)::int as n from run_starts where scope_id = $1', [tenantId])).toEqual(
      [{ n: 4 }],
    );
    for (const runId of worker.inProgress) worker.release(runId);
  });

  test('starts while there was no limit are counted when a limit is set again', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxRunsPerMinute: 3, onLimit: 'queue' });
    const change = (limits: string | null) =>
      db.workspace(tenantId, async (tx) => {
        await tx.query('change_limits_by_time', 'UPDATE workflows SET limits = $2 WHERE id = $1', [id, limits]);
        return reevaluateConcurrencyQueues(tx, tenantId, id);
      });
    const worker = new Worker();
    const startRuns = async (count: number) => {
      for (const runId of await accept(tenantId, id, count)) await worker.start([runId]);
    };
    await startRuns(1);
    await change(null);
    await startRuns(2);
    await change(JSON.stringify({ maxRunsPerMinute: 3, onLimit: 'queue' }));
    await startRuns(1);
    expect(worker.inProgress.length).toBe(3);
    for (const runId of worker.inProgress) worker.release(runId);
  });
});

test('sweeps and starts read few rows, also with 10,000 waiting runs', async () => {
  await database.query('delete from runs');
  const tenantId = await workspace();
  const id = await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' });
  const worker = new Worker();
  const [first, second] = await accept(tenantId, id, 2);
  await worker.start([first as string]);
  await worker.start([second as string]);
  await database.query(
    `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, waits_for, queued_at)
     select ('ffffffff-0000-7000-8000-' || lpad(to_hex(n), 12, '0'))::uuid, $1, $2, 1, (select flow_id from runs where id = $3), 'queued', '{"type":"manual"}', 'live', 1, 'earlier_runs', now() from generate_series(1, 10000) n`,
    [tenantId, id, first],
  );
  await database.query('analyze runs');
  const rowsRead = async (work: () => Promise<unknown>) => {
    const read = async () =>
      (
        await database.query<{ n: number }>(
          `select (seq_tup_read + idx_tup_fetch)::int as n from pg_stat_user_tables where relname = 'runs'`,
        )
      )[0]?.n ?? 0;
    // A connection reports its statistics after it has been idle for a moment, or on request.
    const settled = async () => {
      let before = -1;
      for (let now = await read(); now !== before; now = await read()) {
        before = now;
        await Promise.all(
          Array.from({ length: 12 }, () =>
            db.system((tx) => tx.query('flush_statistics', 'SELECT pg_stat_force_next_flush()', [])),
          ),
        );
        await new Promise((tick) => setTimeout(tick, 100));
      }
      return before;
    };
    const before = await settled();
    await work();
    return (await settled()) - before;
  };
  expect(
    await rowsRead(async () => {
      for (let sweep = 0; sweep < 20; sweep += 1) {
        expect(await repairRuns(db)).toEqual([]);
        await db.system((tx) => wakeStalledConcurrencyQueues(tx));
        expect([...notified]).toEqual([]);
      }
    }),
    // 20 scans of all rows would read 200,000. PostgreSQL itself can read some pages meanwhile.
  ).toBeLessThan(2_000);
  const read = await rowsRead(async () => {
    worker.release(first as string);
    await worker.done.get(first as string);
  });
  expect(await takeWoken()).toEqual([second]);
  // A scan of all rows would read 10,000. PostgreSQL itself can read a few pages meanwhile.
  expect(read).toBeLessThan(1_000);
  worker.release(second as string);
});
