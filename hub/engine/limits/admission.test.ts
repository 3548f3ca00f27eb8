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
/** Workspaces of which the transactions of the test told workers, except for accepted runs. */
const told = new Set<string>();

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 12, applicationName: 'test', onError: () => undefined });
  db.onDue((tenantIds) => tenantIds.forEach((id) => told.add(id)));
  events = await PostgresEvents.connect(database.url, testSecrets, logger);
  db.onPublished((topic, payload) => events.publish(topic, payload));
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

beforeEach(() => {
  told.clear();
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

/** Accepts runs; answers their ids in the order in which they stand in line. */
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
  told.delete(tenantId);
  return ids;
}

/** A worker that executes the runs that the test names. Each run waits in its only step until `release`. */
class Worker {
  readonly underWay: string[] = [];
  readonly done = new Map<string, Promise<boolean>>();
  most = 0;
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
        this.underWay.push(runId);
        this.#reached.get(runId)?.resolve();
        this.most = Math.max(this.most, this.underWay.length);
        await gate.promise;
        this.underWay.splice(this.underWay.indexOf(runId), 1);
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

  /** Takes runs; resolves once each stands in its step, or was held back. */
  async take(ids: readonly string[]): Promise<void> {
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

  /** Executes a run. It resolves at its end, or once it was held back. */
  execute(runId: string): Promise<boolean> {
    return executeRun(this.engine, db, runId, never);
  }

  /** Ends the step of a run. */
  release(runId: string): void {
    this.#gates.get(runId)?.resolve();
  }
}

/** The due runs of the workspaces of which workers were told since the last call. */
async function woken(): Promise<string[]> {
  const tenantIds = [...told];
  told.clear();
  const rows = await database.query<{ id: string }>(
    `select id from runs where tenant_id = any($1) and wake_at <= now() and holder_id is null and status in ('queued', 'running') order by id`,
    [tenantIds],
  );
  return rows.map(({ id }) => id);
}

const urlOf = (path: string) => JSON.stringify(pathToFileURL(resolve(path)).href);

/**
 * Starts another process whose clock differs from that of the database, and which claims and admits the runs that the
 * test names. The clock of this process must not move: ids never go back, so later ids would stay ahead.
 * @returns a function that resolves to whether a run began.
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
      const began = await admitClaimed(db, await claimRun(db, runId));
      console.log(began ? 'began' : 'waits');
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
    return (await read('began', 'waits')) === 'began';
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

interface Held {
  id: string;
  waits_for: string | null;
  wake_at: Date | null;
  started_at: Date | null;
  holder_id: string | null;
  status: string;
}
const rowsOf = (workflowId: string) =>
  database.query<Held>(
    'select id, waits_for, wake_at, started_at, holder_id, status from runs where workflow_id = $1 order by id',
    [workflowId],
  );

describe('a line of held runs', () => {
  test('is held without a time to look again, and each end begins the next one in order, in its own transaction', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxConcurrentRuns: 2, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 6);
    const worker = new Worker();
    for (const runId of ids) await worker.take([runId]);
    expect(worker.underWay.length).toBe(2);
    const begun = worker.underWay.slice();
    const waiting = ids.filter((runId) => !begun.includes(runId));
    const held = (await rowsOf(id)).filter(({ started_at }) => started_at === null);
    expect(held.map((row) => [row.id, row.status, row.wake_at, row.holder_id])).toEqual(
      waiting.map((runId) => [runId, 'queued', null, null]),
    );
    expect(held.map(({ waits_for }) => waits_for)).toEqual([
      'max_concurrent_runs',
      'earlier_runs',
      'earlier_runs',
      'earlier_runs',
    ]);
    for (const next of waiting) {
      expect(await woken()).toEqual([]);
      const [ending] = worker.underWay;
      worker.release(ending as string);
      await expect.poll(() => told.size).toBe(1);
      // It counts from the moment that it was let in, whenever a worker takes it.
      expect((await rowsOf(id)).find((row) => row.id === next)).toMatchObject({
        waits_for: null,
        status: 'queued',
        started_at: expect.any(Date) as Date,
      });
      expect(await woken()).toEqual([next]);
      await worker.take([next]);
    }
    for (const open of worker.underWay) worker.release(open);
    await expect.poll(async () => (await rowsOf(id)).map(({ status }) => status)).toEqual(ids.map(() => 'succeeded'));
    expect(worker.most).toBe(2);
  });

  test('is entered in its order, also while somebody else has the first of it in hand', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 4);
    const worker = new Worker();
    for (const runId of ids) await worker.take([runId]);
    const begun = async () => (await rowsOf(id)).filter(({ started_at }) => started_at !== null).map((row) => row.id);
    const taker = new Postgres({ connectionString: database.url });
    await taker.connect();
    await taker.query('BEGIN');
    await taker.query('SELECT 1 FROM runs WHERE id = $1 FOR UPDATE', [ids[1]]);
    worker.release(ids[0] as string);
    await worker.done.get(ids[0] as string);
    expect(await begun()).toEqual([ids[0]]);
    await taker.query('COMMIT');
    await taker.end();
    await db.workspace(tenantId, (tx) =>
      admitWaitingRuns(tx, [{ tenant_id: tenantId, workflow_id: id, environment: 'live' }]),
    );
    expect(await begun()).toEqual(ids.slice(0, 2));
  });

  test('never has more under way than its limit, and none is left behind, however ends and starts meet', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxConcurrentRuns: 3, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 60);
    const worker = new Worker();
    const loop = async () => {
      for (const runId of await woken()) unawaited(worker.execute(runId));
      for (const runId of worker.underWay) if (Math.random() < 0.5) worker.release(runId);
    };
    for (const runId of ids) unawaited(worker.execute(runId));
    const timer = setInterval(() => unawaited(loop()), 5);
    await expect.poll(async () => (await rowsOf(id)).filter(({ status }) => status === 'succeeded').length).toBe(60);
    clearInterval(timer);
    expect(worker.most).toBeLessThanOrEqual(3);
  });

  test('leaves a run that is not due yet to its time, whoever ends', async () => {
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
    await worker.take([first as string]);
    worker.release(first as string);
    await worker.done.get(first as string);
    expect(await woken()).toEqual([]);
    expect((await rowsOf(id)).find((row) => row.id === later)).toMatchObject({
      started_at: null,
      waits_for: null,
      status: 'queued',
    });
    await worker.execute(later as string);
    expect((await rowsOf(id)).find((row) => row.id === later)).toMatchObject({ started_at: null, status: 'queued' });
  });

  test('is moved on by a cancel of what it waits for, and closes up when one of its own is cancelled', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 3);
    const worker = new Worker();
    const runs = runService();
    await worker.take(ids);
    told.clear();
    const [underWay] = worker.underWay;
    const [next, last] = ids.filter((runId) => runId !== underWay);
    await runs.cancel(tenantId, next as string, { actor: 'user:test', environment: 'live' });
    expect([...told]).toEqual([]);
    expect((await rowsOf(id)).find((row) => row.id === last)).toMatchObject({
      waits_for: 'max_concurrent_runs',
      wake_at: null,
    });
    await runs.cancel(tenantId, underWay as string, { actor: 'user:test', environment: 'live' });
    expect(await woken()).toEqual([last]);
  });

  test('moves on when its limit is raised or taken away, and only as far', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 6);
    const worker = new Worker();
    await worker.take(ids);
    const change = async (limits: string | null) => {
      await db.workspace(tenantId, async (tx) => {
        await tx.query(`change_limits_${limits === null}`, 'UPDATE workflows SET limits = $2 WHERE id = $1', [
          id,
          limits,
        ]);
        return reevaluateConcurrencyQueues(tx, tenantId, id);
      });
      await worker.take(await woken());
      await worker.take(await woken());
    };
    await change(JSON.stringify({ maxConcurrentRuns: 3, onLimit: 'queue' }));
    expect(worker.underWay.length).toBe(3);
    expect(
      (await rowsOf(id))
        .filter(({ started_at }) => started_at !== null)
        .map((row) => row.id)
        .every((runId) => worker.underWay.includes(runId)),
    ).toBe(true);
    await change(null);
    expect(worker.underWay.length).toBe(6);
    for (const runId of worker.underWay) worker.release(runId);
  });

  describe('of a limit that is set while a run is under way which began without one, moves on when that run ends', () => {
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

    test('although that end looked for others before the next one stood in line', async () => {
      const tenantId = await workspace();
      const id = await workflow(tenantId, null);
      const [first, next] = (await accept(tenantId, id, 2)) as [string, string];
      const worker = new Worker();
      await worker.take([first]);
      await limit(tenantId, id);
      const claimed = await claimRun(db, next);
      const judged = Promise.withResolvers<void>();
      const mayCommit = Promise.withResolvers<void>();
      const holding = db.workspace(tenantId, async (tx) => {
        const began = await admitClaimedRun(
          tx,
          { tenantId, workflowId: id, environment: 'live' },
          {
            id: next,
            fence: claimed?.fence as string,
            holderId: newId(),
          },
        );
        judged.resolve();
        await mayCommit.promise;
        return began;
      });
      await judged.promise;
      let hasEnded = false;
      worker.release(first);
      unawaited(worker.done.get(first)?.then(() => (hasEnded = true)));
      await expect.poll(async () => hasEnded || (await waitsFor('advisory'))).toBe(true);
      mayCommit.resolve();
      expect(await holding).toBe(false);
      await worker.done.get(first);
      expect(await woken()).toEqual([next]);
    });

    test('although the limit came before that end was committed', async () => {
      const tenantId = await workspace();
      const id = await workflow(tenantId, null);
      const [first, next] = (await accept(tenantId, id, 2)) as [string, string];
      const worker = new Worker();
      await worker.take([first]);
      const mayWrite = Promise.withResolvers<void>();
      const locked = Promise.withResolvers<void>();
      const keepingOut = db.system(async (tx) => {
        await tx.query('keep_out', 'LOCK TABLE run_steps IN SHARE ROW EXCLUSIVE MODE', []);
        locked.resolve();
        await mayWrite.promise;
      });
      await locked.promise;
      worker.release(first);
      await expect.poll(() => waitsFor('relation')).toBe(true);
      const setting = limit(tenantId, id);
      // Nobody can be held by the new limit while an end is under way that knows nothing of it.
      await expect.poll(() => waitsFor('advisory')).toBe(true);
      mayWrite.resolve();
      await Promise.all([keepingOut, setting, worker.done.get(first)]);
      await worker.take([next]);
      expect(worker.underWay).toEqual([next]);
      worker.release(next);
    });
  });

  test('whose wake-up was lost is found by the sweep, and one that rightly waits is not', async () => {
    const tenantId = await workspace();
    const [lost, rightly] = [
      await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' }),
      await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' }),
    ];
    const worker = new Worker();
    for (const id of [lost, rightly]) await worker.take(await accept(tenantId, id, 3));
    const sweep = async () => {
      told.clear();
      await db.system((tx) => wakeStalledConcurrencyQueues(tx));
      return await woken();
    };
    expect(await sweep()).toEqual([]);
    // As if whoever ended had known of no limit.
    await database.query(
      `update runs set status = 'succeeded', finished_at = now(), wake_at = null, holder_id = null where workflow_id = $1 and started_at is not null`,
      [lost],
    );
    const [head] = (await rowsOf(lost)).filter(({ started_at }) => started_at === null);
    expect(await sweep()).toEqual([head?.id]);
    await worker.take([head?.id as string]);
    expect(await sweep()).toEqual([]);
    expect(worker.underWay).toContain(head?.id);
  });
});

describe('limits by time', () => {
  test('wake the first of a line alone, at the time at which there is room', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxRunsPerMinute: 2, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 8);
    const worker = new Worker();
    for (const runId of ids) await worker.take([runId]);
    expect(worker.underWay.length).toBe(2);
    const held = (await rowsOf(id)).filter(({ started_at }) => started_at === null);
    expect(held.map(({ waits_for }) => waits_for)).toEqual([
      'max_runs_per_minute',
      ...Array.from({ length: 5 }, () => 'earlier_runs'),
    ]);
    expect(held.map(({ wake_at }) => wake_at !== null)).toEqual([true, false, false, false, false, false]);
    const oldest = await database.query<{ at: Date }>(
      'select min(last_at) as at from run_starts where scope_id = $1 and count > 0',
      [id],
    );
    expect(held[0]?.wake_at?.getTime()).toBe((oldest[0]?.at.getTime() ?? 0) + 60_000);
    // A minute later two more may, in order.
    await database.query(
      `update run_starts set last_at = last_at - interval '1 minute', slice_at = slice_at - interval '1 minute' where scope_id = $1`,
      [id],
    );
    await database.query('update runs set wake_at = now() where id = $1', [held[0]?.id]);
    told.clear();
    await worker.take([held[0]?.id as string]);
    expect(await woken()).toEqual([held[1]?.id]);
    expect(
      (await rowsOf(id))
        .filter(({ started_at }) => started_at === null)
        .map((row) => [row.id, row.waits_for, row.wake_at !== null]),
    ).toEqual(
      held.slice(2).map((row, index) => [row.id, index === 0 ? 'max_runs_per_minute' : 'earlier_runs', index === 0]),
    );
    for (const runId of worker.underWay) worker.release(runId);
  });

  test('leave one timer to a line, also when runs come to it in another order than that of their ids', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxRunsPerMinute: 1, onLimit: 'queue' });
    const ids = await accept(tenantId, id, 5);
    const worker = new Worker();
    for (const runId of ids.toReversed()) await worker.take([runId]);
    expect(worker.underWay).toEqual([ids[4]]);
    const held = (await rowsOf(id)).filter(({ started_at }) => started_at === null);
    expect(held.map((row) => [row.id, row.waits_for, row.wake_at !== null])).toEqual(
      ids.slice(0, 4).map((runId, index) => [runId, index === 0 ? 'max_runs_per_minute' : 'earlier_runs', index === 0]),
    );
    worker.release(ids[4] as string);
  });

  test('of a workspace are shared by its workflows, and one of their lines is woken for the hour', async () => {
    const tenantId = await workspace();
    await database.query(
      `insert into automation_policies (tenant_id, standing_orders, max_runs_per_hour, approvals_required_for) values ($1, '', 2, '{}')`,
      [tenantId],
    );
    const [one, other] = [await workflow(tenantId, null), await workflow(tenantId, null)];
    const worker = new Worker();
    const ofOne = await accept(tenantId, one, 3);
    const ofOther = await accept(tenantId, other, 2);
    for (const runId of [...ofOne, ...ofOther]) await worker.take([runId]);
    expect(worker.underWay.toSorted()).toEqual(ofOne.slice(0, 2));
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
    // An hour later: the one that is woken lets the other workflow's line in too.
    await database.query(
      `update run_starts set last_at = last_at - interval '1 hour', slice_at = slice_at - interval '1 hour' where scope_id = $1`,
      [tenantId],
    );
    await database.query('update runs set wake_at = now() where id = $1', [ofOne[2]]);
    told.clear();
    await worker.take([ofOne[2] as string]);
    expect(await woken()).toEqual([ofOther[0]]);
    expect(await timers()).toEqual([[ofOther[1], 'max_runs_per_hour', true]]);
    for (const runId of worker.underWay) worker.release(runId);
  });

  test('wake the line of another workflow for the hour at once, when a cancel emptied the line that had the timer', async () => {
    const tenantId = await workspace();
    await database.query(
      `insert into automation_policies (tenant_id, standing_orders, max_runs_per_hour, approvals_required_for) values ($1, '', 1, '{}')`,
      [tenantId],
    );
    const [one, other] = [await workflow(tenantId, null), await workflow(tenantId, null)];
    const worker = new Worker();
    const ofOne = await accept(tenantId, one, 2);
    const ofOther = await accept(tenantId, other, 2);
    for (const runId of [...ofOne, ...ofOther]) await worker.take([runId]);
    const timers = async () =>
      (
        await database.query<{ id: string; wake_at: Date | null }>(
          'select id, wake_at from runs where tenant_id = $1 and waits_for is not null order by id',
          [tenantId],
        )
      ).map((row) => [row.id, row.wake_at]);
    const [timer] = await timers();
    expect(timer).toEqual([ofOne[1], expect.any(Date)]);
    told.clear();
    await runService().cancel(tenantId, ofOne[1] as string, { actor: 'user:test', environment: 'live' });
    expect(await timers()).toEqual([
      [ofOther[0], timer?.[1]],
      [ofOther[1], null],
    ]);
    // Workers look for runs that become due at a time.
    expect([...told]).toEqual([]);
    worker.release(ofOne[0] as string);
  });

  test.each([
    ['ahead', 3_600_000],
    ['behind', -3_600_000],
  ])('count by the clock of the database in a process whose clock is an hour %s', async (_direction, offsetMs) => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxRunsPerMinute: 1, onLimit: 'queue' });
    const [first, second, third] = (await accept(tenantId, id, 3)) as [string, string, string];
    const admit = await startWithWrongClock(offsetMs);
    const worker = new Worker();
    await worker.take([first]);
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
  });

  test('count what began before they were set, once', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, null);
    const worker = new Worker();
    await worker.take(await accept(tenantId, id, 3));
    await database.query(
      `insert into automation_policies (tenant_id, standing_orders, max_runs_per_hour, approvals_required_for) values ($1, '', 4, '{}')`,
      [tenantId],
    );
    const later = await accept(tenantId, id, 3);
    for (const runId of later) await worker.take([runId]);
    expect(worker.underWay.length).toBe(4);
    expect(await database.query('select sum(count)::int as n from run_starts where scope_id = $1', [tenantId])).toEqual(
      [{ n: 4 }],
    );
    for (const runId of worker.underWay) worker.release(runId);
  });

  test('count anew what began while they were taken away', async () => {
    const tenantId = await workspace();
    const id = await workflow(tenantId, { maxRunsPerMinute: 3, onLimit: 'queue' });
    const change = (limits: string | null) =>
      db.workspace(tenantId, async (tx) => {
        await tx.query('change_limits_by_time', 'UPDATE workflows SET limits = $2 WHERE id = $1', [id, limits]);
        return reevaluateConcurrencyQueues(tx, tenantId, id);
      });
    const worker = new Worker();
    const take = async (count: number) => {
      for (const runId of await accept(tenantId, id, count)) await worker.take([runId]);
    };
    await take(1);
    await change(null);
    await take(2);
    await change(JSON.stringify({ maxRunsPerMinute: 3, onLimit: 'queue' }));
    await take(1);
    expect(worker.underWay.length).toBe(3);
    for (const runId of worker.underWay) worker.release(runId);
  });
});

test('10,000 held runs are no work for the sweeps, and their line moves on as quickly as a short one', async () => {
  await database.query('delete from runs');
  const tenantId = await workspace();
  const id = await workflow(tenantId, { maxConcurrentRuns: 1, onLimit: 'queue' });
  const worker = new Worker();
  const [first, second] = await accept(tenantId, id, 2);
  await worker.take([first as string]);
  await worker.take([second as string]);
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
    // Each connection tells what it read when it has been idle for a moment, or is asked.
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
      for (let beat = 0; beat < 20; beat += 1) {
        expect(await repairRuns(db)).toEqual([]);
        await db.system((tx) => wakeStalledConcurrencyQueues(tx));
        expect([...told]).toEqual([]);
      }
    }),
    // Far from 20 times the 10,000; PostgreSQL may look through some pages for itself meanwhile.
  ).toBeLessThan(2_000);
  const read = await rowsRead(async () => {
    worker.release(first as string);
    await worker.done.get(first as string);
  });
  expect(await woken()).toEqual([second]);
  // Far from the 10,000; PostgreSQL may look through a page or two for itself meanwhile.
  expect(read).toBeLessThan(1_000);
  worker.release(second as string);
});
