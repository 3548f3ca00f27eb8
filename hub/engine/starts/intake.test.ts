import { setTimeout as delay } from 'node:timers/promises';
import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { z } from 'zod';
import { entitlementNames } from '../../../shared/contract/define.ts';
import { claimRun, executeRun } from '../../../test/fixtures/claim-run.ts';
import { enginePorts } from '../../../test/fixtures/engine.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { testSecrets } from '../../../test/fixtures/secrets.ts';
import { StatementRecorder } from '../../../test/fixtures/statement-plans.ts';
import { unawaited } from '../../../test/fixtures/unawaited.ts';
import { Database } from '../../platform/db/database.ts';
import { PostgresEvents } from '../../platform/events/postgres-events.ts';
import { newId } from '../../platform/ids.ts';
import { logSkills } from '../../products/automations/logs/skills.ts';
import { findStartable } from '../../products/automations/workflows/store.ts';
import { runEndsLock, lockConcurrencyQueue } from '../limits/concurrency-queue-locks.ts';
import { Engine } from '../runs/engine.ts';
import { releaseRun } from '../runs/store.ts';
import type { ClaimedRun } from '../runs/store.ts';
import { defineSkill } from '../skill.ts';
import type { Skill } from '../skill.ts';
import { RunIntake } from './intake.ts';

const logger = pino({ level: 'silent' });
const never = new AbortController().signal;
let database: TestDatabase;
let db: Database;
let events: PostgresEvents;

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 8, applicationName: 'test', onError: () => undefined });
  events = await PostgresEvents.connect(database.url, testSecrets, logger);
  db.onPublished((topic, payload) => events.publish(topic, payload));
});
afterAll(async () => {
  await events[Symbol.asyncDispose]();
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function workspace(): Promise<string> {
  const tenantId = newId();
  const entitlements = JSON.stringify(Object.fromEntries(entitlementNames.map((name) => [name, true])));
  await database.query('insert into tenants (id, name, entitlements) values ($1, $2, $3)', [
    tenantId,
    tenantId,
    entitlements,
  ]);
  return tenantId;
}

async function workflow(tenantId: string, steps: unknown[] = [{ type: 'log', message: 'x', level: 'info' }]) {
  const id = newId();
  await database.query(
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps, webhook_token_hash) values ($1, $2, 'w', true, 1, '{"type":"manual","schemaVersion":1}', $3, $4)`,
    [id, tenantId, JSON.stringify(steps), Buffer.from(id)],
  );
  await database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', $3)`,
    [id, tenantId, JSON.stringify(steps)],
  );
  return id;
}

async function definitionOf(tenantId: string, id: string) {
  const found = await db.read(tenantId, (tx) => findStartable(tx, tenantId, id));
  if (found === null) throw new Error('the workflow is gone');
  return found;
}

/** An intake and its worker: the runs that began, the open reservations, and the workspaces for which workers were woken. */
function intakeWith(hasCapacity = true) {
  const notified: string[] = [];
  db.onDue((tenantIds) => notified.push(...tenantIds));
  const startedRuns: ClaimedRun[] = [];
  const intake = new RunIntake(db);
  const holderId = newId();
  let reserved = 0;
  intake.preferLocal(() => {
    if (!hasCapacity) return null;
    reserved += 1;
    return {
      holderId,
      // Otherwise the engine would release the run if the test paused for a second.
      begin: (run) => void startedRuns.push({ ...run, held_since: Infinity }),
      [Symbol.dispose]: () => {
        reserved -= 1;
      },
    };
  });
  return { intake, notified, startedRuns, reserved: () => reserved };
}

const start = { trigger: { type: 'manual' }, context: null, payload: null, environment: 'live' } as const;
const rowOf = async (runId: string) =>
  (
    await database.query<Record<string, unknown>>(
      'select status, fence::text, holder_id is not null as leased, started_at is not null as started from runs r where id = $1',
      [runId],
    )
  )[0];
const countOf = async (tenantId: string) =>
  (await database.query<{ n: number }>('select count(*)::int as n from runs where tenant_id = $1', [tenantId]))[0]?.n;

function engineWith(skills: Skill[]): Engine {
  return new Engine({
    db,
    events,
    skills: { find: (id) => skills.find((skill) => skill.id === id), list: () => skills },
    ...enginePorts(db),
    logger,
  });
}

test('a start that waits for a lock does not delay other starts of the workspace', async () => {
  const tenantId = await workspace();
  const [blockedId, freeId] = [await workflow(tenantId), await workflow(tenantId)];
  const [blocked, free] = [await definitionOf(tenantId, blockedId), await definitionOf(tenantId, freeId)];
  await database.query(
    `CREATE FUNCTION await_start() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock(hashtext(NEW.workflow_id::text)); RETURN NEW; END $$`,
  );
  await database.query(
    `CREATE TRIGGER await_start BEFORE INSERT ON runs FOR EACH ROW WHEN (NEW.workflow_id = '${blockedId}') EXECUTE FUNCTION await_start()`,
  );
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: hasLocked } = Promise.withResolvers<void>();
  const locking = db.system(async (tx) => {
    await tx.query('hold_start', 'SELECT pg_advisory_xact_lock(hashtext($1))', [blockedId]);
    hasLocked();
    await released;
  });
  await locked;
  const { intake, startedRuns } = intakeWith();
  const starts = [blocked, free].map((definition) => intake.accept({ ...start, definition }));
  let isBlockedAccepted = false;
  unawaited(starts[0]?.then(() => (isBlockedAccepted = true)));
  try {
    await starts[1];
    expect([startedRuns.map((run) => run.workflow_id), isBlockedAccepted]).toEqual([[freeId], false]);
  } finally {
    release();
    await locking;
  }
  await Promise.all(starts);
  await database.query('DROP TRIGGER await_start ON runs');
  expect(startedRuns.map((run) => run.workflow_id)).toEqual([freeId, blockedId]);
  expect(await countOf(tenantId)).toBe(2);
});

test('a process with capacity holds its runs from the start, and accepts concurrent starts with one statement', async () => {
  const tenantId = await workspace();
  const definition = await definitionOf(tenantId, await workflow(tenantId));
  const { intake, notified, startedRuns, reserved } = intakeWith();
  using recorder = new StatementRecorder(100);
  const payload = { z: 1, aa: [1.5, 'ä'], nested: { b: null } };
  const accepted = await Promise.all(
    Array.from({ length: 20 }, () => intake.accept({ definition, ...start, payload, requestedBy: ['user:1'] })),
  );
  expect(recorder.statements.filter(({ name }) => name === 'accept_runs')).toMatchObject([
    { role: 'outrigger_app', tenantId },
  ]);
  expect([notified, startedRuns.length, reserved()]).toEqual([[], 20, 0]);
  for (const run of accepted)
    expect(await rowOf(run?.runId as string)).toEqual({
      status: 'running',
      fence: '1',
      leased: true,
      started: true,
    });
  // A claim of the same run returns the same values.
  const [run] = startedRuns as [ClaimedRun];
  await db.workspace(tenantId, (tx) =>
    releaseRun(tx, { runId: run.id, fence: run.fence }, tenantId, 0, { isUnstarted: true }),
  );
  const { steps, held_since: _claimedAt, ...claimed } = (await claimRun(db, run.id, run.holder_id)) as ClaimedRun;
  const { steps: ownSteps, held_since: since, ...own } = run;
  expect(typeof since).toBe('number');
  expect(own).toEqual({ ...claimed, fence: '1', wake_count: 0, started_at: own.queued_at });
  expect(claimed.fence).not.toBe(own.fence);
  expect(JSON.stringify(own.payload)).toBe(JSON.stringify(claimed.payload));
  expect(ownSteps).toEqual(steps);
});

test.each([
  ['limits', 'update workflows set limits = \'{"maxConcurrentRuns":1,"onLimit":"queue"}\' where tenant_id = $1'],
  [
    'quiet hours',
    'insert into automation_policies (tenant_id, standing_orders, quiet_hours, approvals_required_for) values ($1, \'\', \'{"from":"00:00","to":"00:00","timezone":"UTC"}\', \'{}\')',
  ],
])(
  'a run that %s can delay is queued and workers are woken, also if this process has capacity',
  async (_what, gate) => {
    const tenantId = await workspace();
    const id = await workflow(tenantId);
    await database.query(gate, [tenantId]);
    const { intake, notified, startedRuns, reserved } = intakeWith();
    const accepted = await intake.accept({ definition: await definitionOf(tenantId, id), ...start });
    const { runId } = accepted as { runId: string };
    expect(await rowOf(runId)).toMatchObject({ status: 'queued', fence: '0', started: false });
    expect([startedRuns, notified, reserved()]).toEqual([[], [tenantId], 0]);
  },
);

test('a run is queued and workers are woken if this process has no capacity', async () => {
  const tenantId = await workspace();
  const { intake, notified } = intakeWith(false);
  const accepted = await intake.accept({
    definition: await definitionOf(tenantId, await workflow(tenantId)),
    ...start,
  });
  expect(await rowOf(accepted?.runId as string)).toMatchObject({ status: 'queued', started: false });
  expect(notified).toEqual([tenantId]);
});

test.each([
  ['is switched off', 'update workflows set active = false where tenant_id = $1'],
  ['is deleted', 'update workflows set deleted_at = now() where tenant_id = $1'],
  ['has other steps', 'update workflows set version = version + 1 where tenant_id = $1'],
  ['has another token', "update workflows set webhook_token_hash = 'other' where tenant_id = $1"],
  [
    'shares its token with another workflow',
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps, webhook_token_hash) select gen_random_uuid(), tenant_id, 'x', true, 1, trigger, steps, webhook_token_hash from workflows where tenant_id = $1`,
  ],
  ['loses an entitlement of its workspace', "update tenants set entitlements = '{}' where id = $1"],
  [
    'is subject to a new policy',
    `insert into automation_policies (tenant_id, standing_orders, approvals_required_for) values ($1, '', '{log.write}')`,
  ],
])('a start with a cached definition is not accepted after the workflow %s', async (_what, change) => {
  const tenantId = await workspace();
  const definition = await definitionOf(tenantId, await workflow(tenantId));
  const { intake, startedRuns, reserved } = intakeWith();
  expect(await intake.accept({ definition, ...start })).not.toBeNull();
  await database.query(change, [tenantId]);
  const before = await countOf(tenantId);
  expect(
    await Promise.all([definition, definition].map((each) => intake.accept({ definition: each, ...start }))),
  ).toEqual([null, null]);
  expect([await countOf(tenantId), startedRuns.length, reserved()]).toEqual([before, 1, 0]);
});

test('a workflow of another workspace cannot be started', async () => {
  const [own, foreign] = [await workspace(), await workspace()];
  const definition = await definitionOf(foreign, await workflow(foreign));
  const { intake } = intakeWith();
  expect(await intake.accept({ definition: { ...definition, tenant_id: own }, ...start })).toBeNull();
  expect([await countOf(own), await countOf(foreign)]).toEqual([0, 0]);
});

/** Accepts runs with these steps and executes them. Returns the names of the statements of the execution. */
async function executeRuns(tenantId: string, steps: unknown[], count: number, skills: Skill[] = logSkills()) {
  const definition = await definitionOf(tenantId, await workflow(tenantId, steps));
  const { intake, startedRuns } = intakeWith();
  await Promise.all(Array.from({ length: count }, () => intake.accept({ definition, ...start })));
  const engine = engineWith(skills);
  using recorder = new StatementRecorder(1_000);
  await Promise.all(startedRuns.map((run) => engine.execute(run, never)));
  return { startedRuns, sent: recorder.statements.map(({ name }) => name) };
}

/** A database with a delay before each transaction of a workspace. */
class SlowDatabase extends Database {
  transactions = 0;
  slowByMs = 0;
  override async workspace<Result>(...args: Parameters<Database['workspace']>): Promise<Result> {
    this.transactions += 1;
    await delay(this.slowByMs);
    return super.workspace(...args) as Promise<Result>;
  }
}

/** Accepts runs with these steps and executes them on a slow database. Returns the number of transactions of the execution. */
async function executeSlowly(
  tenantId: string,
  steps: unknown[],
  { count, slowByMs, skills = [] }: { count: number; slowByMs: number; skills?: Skill[] },
  before: (startedRuns: ClaimedRun[]) => Promise<unknown> = async () => undefined,
) {
  // On a busy machine, leases would be renewed during the execution. Those transactions must not count.
  vi.useFakeTimers({ toFake: ['setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const definition = await definitionOf(tenantId, await workflow(tenantId, steps));
  const { intake, startedRuns } = intakeWith();
  await Promise.all(Array.from({ length: count }, () => intake.accept({ definition, ...start })));
  await before(startedRuns);
  await using slow = new SlowDatabase({
    url: database.url,
    maxConnections: 8,
    applicationName: 'test',
    onError: () => undefined,
  });
  slow.slowByMs = slowByMs;
  const all = [...logSkills(), ...skills];
  const engine = new Engine({
    db: slow,
    events,
    skills: { find: (id) => all.find((skill) => skill.id === id), list: () => all },
    ...enginePorts(slow),
    logger,
  });
  await Promise.all(startedRuns.map((run) => engine.execute(run, never)));
  return { startedRuns, transactions: slow.transactions };
}

const linesOf = (tenantId: string) =>
  database.query<{ lines: string; n: number }>(
    `select lines, count(*)::int as n from (
       select (select string_agg(l.message, '' order by l.step_index, l.id) from run_logs l where l.run_id = r.id) as lines
       from runs r where tenant_id = $1 and status = 'succeeded') each group by 1`,
    [tenantId],
  );

const keeping = defineSkill({
  id: 'test.keeping',
  title: '',
  summary: '',
  requires: [],
  effect: 'pure',
  input: z.strictObject({}),
  output: z.unknown(),
  // A step with its own writes is not batched with other steps.
  execute: async () => ({ output: null, persist: async () => undefined }),
});

const log = (message: string) => ({ type: 'log', message, level: 'info' });

test('runs without external effects are written once at their end, in one batch', async () => {
  const tenantId = await workspace();
  // On a busy machine, a timer would write the steps before their run ends, or renew a lease.
  vi.useFakeTimers({ toFake: ['setTimeout', 'setInterval'] });
  onTestFinished(() => void vi.useRealTimers());
  const { startedRuns, sent } = await executeRuns(tenantId, [log('a'), log('b {{run.id}}'), log('c')], 10);
  expect(sent.toSorted()).toEqual(['advance_all_runs', 'assert_no_lines', 'insert_logs', 'write_steps']);
  for (const { id } of startedRuns) {
    const steps = await database.query<Record<string, unknown>>(
      'select index, status, attempts, output_text, started_at <= finished_at as timed, finished_at <= (select finished_at from runs where id = $1) as within from run_steps where run_id = $1 order by index',
      [id],
    );
    expect(steps).toEqual(
      ['a', `b ${id}`, 'c'].map((text, index) => ({
        index,
        status: 'succeeded',
        attempts: 1,
        output_text: text,
        timed: true,
        within: true,
      })),
    );
    const lines = await database.query<{ message: string }>(
      'select message from run_logs where run_id = $1 order by step_index',
      [id],
    );
    expect(lines.map(({ message }) => message)).toEqual(['a', `b ${id}`, 'c']);
    expect(await rowOf(id)).toMatchObject({ status: 'succeeded', leased: false });
  }
});

const slow = (wait: () => Promise<void>, effect: 'pure' | 'keyed' = 'pure') =>
  defineSkill({
    id: 'test.slow',
    title: '',
    summary: '',
    requires: [],
    effect,
    input: z.strictObject({}),
    output: z.unknown(),
    async execute() {
      await wait();
      return { output: null };
    },
  });

test('completed steps are written while the next step takes long, and not again when the run ends', async () => {
  const tenantId = await workspace();
  const gate = Promise.withResolvers<void>();
  const steps = [log('before'), { type: 'skill', skillId: 'test.slow', input: {} }, log('after')];
  const working = executeRuns(tenantId, steps, 1, [...logSkills(), slow(() => gate.promise)]);
  const written = async () =>
    (await database.query<{ n: number }>('select count(*)::int as n from run_logs where tenant_id = $1', [tenantId]))[0]
      ?.n;
  await expect.poll(written).toBe(1);
  gate.resolve();
  const { sent } = await working;
  expect(await written()).toBe(2);
  expect(sent.filter((name) => name === 'advance_all_runs')).toHaveLength(2);
});

test('completed steps are written before the next step has an external effect', async () => {
  const tenantId = await workspace();
  let seen: unknown;
  const steps = [log('before'), { type: 'skill', skillId: 'test.slow', input: {} }, log('after')];
  const readProgress = async () => {
    seen = (
      await database.query(
        'select next_step, (select count(*)::int from run_logs l where l.run_id = r.id) as lines from runs r where tenant_id = $1',
        [tenantId],
      )
    )[0];
  };
  await executeRuns(tenantId, steps, 1, [...logSkills(), slow(readProgress, 'keyed')]);
  expect(seen).toEqual({ next_step: 1, lines: 1 });
});

test('a cancelled run and a run with a locked row do not delay the end of other runs', async () => {
  const tenantId = await workspace();
  const definition = await definitionOf(tenantId, await workflow(tenantId));
  const { intake, startedRuns } = intakeWith();
  await Promise.all(Array.from({ length: 6 }, () => intake.accept({ definition, ...start })));
  const [cancelled, locked, ...others] = startedRuns.map(({ id }) => id) as [string, string, ...string[]];
  await database.query(
    "update runs set status = 'cancelled', finished_at = now(), fence = fence + 1, holder_id = null, wake_at = null where id = $1",
    [cancelled],
  );
  const isLocked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const holding = db.workspace(tenantId, async (tx) => {
    await tx.query('lock_run', 'SELECT 1 FROM runs WHERE id = $1 FOR UPDATE', [locked]);
    isLocked.resolve();
    await release.promise;
  });
  await isLocked.promise;
  const engine = engineWith(logSkills());
  const working = Promise.all(startedRuns.map((run) => engine.execute(run, never)));
  const statuses = async (ids: string[]) =>
    (await database.query<{ status: string }>('select status from runs where id = any($1)', [ids])).map(
      ({ status }) => status,
    );
  await expect.poll(() => statuses(others)).toEqual(others.map(() => 'succeeded'));
  expect(await statuses([cancelled, locked])).toEqual(expect.arrayContaining(['cancelled', 'running']));
  release.resolve();
  await Promise.all([holding, working]);
  expect(await statuses([locked])).toEqual(['succeeded']);
  const lines = await database.query<{ run_id: string }>('select run_id from run_logs where tenant_id = $1', [
    tenantId,
  ]);
  expect(lines.map(({ run_id: id }) => id).toSorted()).toEqual([locked, ...others].toSorted());
});

test.each([20, 150, 300])(
  'each step and log line is written once, in batches of runs, if a commit takes %i ms',
  async (slowByMs) => {
    const tenantId = await workspace();
    const steps = [log('a'), log('b'), log('c')];
    const { transactions } = await executeSlowly(tenantId, steps, { count: 40, slowByMs }, async ([first]) =>
      // A run that this process has lost rolls back its batch.
      database.query(
        "update runs set status = 'cancelled', finished_at = now(), fence = fence + 1, holder_id = null, wake_at = null where id = $1",
        [first?.id],
      ),
    );
    expect(await linesOf(tenantId)).toEqual([{ lines: 'abc', n: 39 }]);
    expect(transactions).toBeLessThan(10);
  },
);

test('a step that ends during the write of earlier steps is written before the next write of its run', async () => {
  const tenantId = await workspace();
  const steps = [
    log('a'),
    // Longer than the delay before a step is written, shorter than the write.
    { type: 'skill', skillId: 'test.slow', input: {} },
    log('b'),
    { type: 'skill', skillId: 'test.keeping', input: {} },
    log('c'),
    { type: 'skill', skillId: 'test.keeping', input: {} },
  ];
  const seen: number[] = [];
  let hasEnded = false;
  const watching = (async () => {
    while (!hasEnded) {
      const rows = await database.query<{ n: number }>('select next_step as n from runs where tenant_id = $1', [
        tenantId,
      ]);
      for (const { n } of rows) seen.push(n);
      await delay(5);
    }
  })();
  await executeSlowly(tenantId, steps, { count: 1, slowByMs: 200, skills: [slow(() => delay(150)), keeping] });
  hasEnded = true;
  await watching;
  expect(await linesOf(tenantId)).toEqual([{ lines: 'abc', n: 1 }]);
  expect(
    await database.query('select index, status from run_steps where tenant_id = $1 order by index', [tenantId]),
  ).toEqual(steps.map((_step, index) => ({ index, status: 'succeeded' })));
  // The index never goes back, so that no step is repeated after a crash.
  expect(seen).toEqual(seen.toSorted((left, right) => left - right));
});

test('ends of runs with a concurrency limit are written separately, and do not delay other workspaces', async () => {
  const [limited, other] = [await workspace(), await workspace()];
  const { startedRuns } = await executeSlowly(limited, [log('x')], { count: 4, slowByMs: 0 }, async (runs) => {
    const { workflow_id: workflowId } = runs[0] as ClaimedRun;
    await database.query(`update workflows set limits = '{"maxConcurrentRuns":4,"onLimit":"queue"}' where id = $1`, [
      workflowId,
    ]);
  });
  expect(await linesOf(limited)).toEqual([{ lines: 'x', n: 4 }]);
  expect(startedRuns).toHaveLength(4);

  // Another transaction locks the concurrency queue for a long time.
  const definition = await definitionOf(limited, await workflow(limited));
  const { intake, startedRuns: limitedRuns } = intakeWith();
  await Promise.all(Array.from({ length: 8 }, () => intake.accept({ definition, ...start })));
  await database.query(`update workflows set limits = '{"maxConcurrentRuns":4,"onLimit":"queue"}' where id = $1`, [
    definition.id,
  ]);
  const release = Promise.withResolvers<void>();
  const locking = db.workspace(limited, async (tx) => {
    await lockConcurrencyQueue(tx, limited, definition.id);
    await release.promise;
  });
  const engine = engineWith(logSkills());
  const ending = Promise.all(limitedRuns.slice(0, 3).map((run) => engine.execute(run, never)));
  await delay(100);
  const { intake: otherIntake, startedRuns: others } = intakeWith();
  await otherIntake.accept({ definition: await definitionOf(other, await workflow(other)), ...start });
  await engine.execute(others[0] as ClaimedRun, never);
  expect(await linesOf(other)).toEqual([{ lines: 'x', n: 1 }]);
  release.resolve();
  await Promise.all([locking, ending]);
});

test('a run that has waited too long for a slot is claimed again before it begins, and does not begin if it was cancelled', async () => {
  const tenantId = await workspace();
  let calls = 0;
  const skill = slow(async () => void (calls += 1));
  const steps = [{ type: 'skill', skillId: 'test.slow', input: {} }];
  const definition = await definitionOf(tenantId, await workflow(tenantId, steps));
  const { intake, startedRuns } = intakeWith();
  await Promise.all([intake.accept({ definition, ...start }), intake.accept({ definition, ...start })]);
  const [cancelled, other] = startedRuns.map((run) => ({ ...run, held_since: performance.now() - 2_000 })) as [
    ClaimedRun,
    ClaimedRun,
  ];
  await database.query(
    "update runs set status = 'cancelled', finished_at = now(), fence = fence + 1, holder_id = null, wake_at = null where id = $1",
    [cancelled.id],
  );
  const engine = engineWith([skill]);
  await Promise.all([engine.execute(cancelled, never), engine.execute(other, never)]);
  expect(calls).toBe(0);
  expect(await rowOf(other.id)).toMatchObject({ status: 'queued', leased: false, started: false });
  expect(await executeRun(engine, db, other.id, never)).toBe(true);
  expect([calls, await rowOf(other.id)]).toMatchObject([1, { status: 'succeeded' }]);
});

test('a run that has waited too long for a slot starts under the current limits', async () => {
  const tenantId = await workspace();
  const id = await workflow(tenantId);
  const { intake, startedRuns } = intakeWith();
  const accepted = await intake.accept({ definition: await definitionOf(tenantId, id), ...start });
  const { runId } = accepted as { runId: string };
  await database.query(
    'insert into automation_policies (tenant_id, standing_orders, quiet_hours, approvals_required_for) values ($1, \'\', \'{"from":"00:00","to":"00:00","timezone":"UTC"}\', \'{}\')',
    [tenantId],
  );
  const engine = engineWith(logSkills());
  await engine.execute({ ...(startedRuns[0] as ClaimedRun), held_since: performance.now() - 2_000 }, never);
  await executeRun(engine, db, runId, never);
  expect(await rowOf(runId)).toMatchObject({ status: 'queued', started: false, leased: false });
  expect(await linesOf(tenantId)).toEqual([]);
});

test('the end and the log lines of a run are written only after a concurrent change of its limits has committed', async () => {
  const tenantId = await workspace();
  const definition = await definitionOf(tenantId, await workflow(tenantId));
  const { intake, startedRuns } = intakeWith();
  await Promise.all(Array.from({ length: 3 }, () => intake.accept({ definition, ...start })));
  const isLocked = Promise.withResolvers<void>();
  const release = Promise.withResolvers<void>();
  const changing = db.workspace(tenantId, async (tx) => {
    await tx.query('change_limits', `SELECT pg_advisory_xact_lock(${runEndsLock('$1')})`, [definition.id]);
    isLocked.resolve();
    await release.promise;
  });
  await isLocked.promise;
  const engine = engineWith(logSkills());
  const ending = Promise.all(startedRuns.map((run) => engine.execute(run, never)));
  await delay(300);
  expect(await linesOf(tenantId)).toEqual([]);
  release.resolve();
  await Promise.all([changing, ending]);
  expect(await linesOf(tenantId)).toEqual([{ lines: 'x', n: 3 }]);
});
