import { pino } from 'pino';
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { RunIntake } from '../../../engine/starts/intake.ts';
import { Database } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { Schedules } from './service.ts';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 4, applicationName: 'test', onError: () => undefined });
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

test('workers are told of the runs of a committed batch of fires although the next batch fails', async () => {
  const tenantId = newId();
  await database.query(
    `INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'schedules', '{"automations":true}')`,
    [tenantId],
  );
  const trigger = JSON.stringify({
    type: 'schedule',
    schemaVersion: 1,
    schedule: {
      kind: 'interval',
      everySeconds: 3600,
      overlap: 'allow',
      onMissed: 'last',
      maxCatchUp: 1,
      jitterSeconds: 0,
    },
  });
  // One more than a batch. They fire in the order of their times.
  await database.query(
    `INSERT INTO workflows (id, tenant_id, name, active, version, trigger, steps, next_run_at)
     SELECT gen_random_uuid(), $1, 'w', true, 1, $2, '[{"type":"log","message":"x"}]', now() - interval '1 second' + n * interval '1 microsecond' FROM generate_series(1, 1001) n`,
    [tenantId, trigger],
  );
  await database.query(
    `UPDATE workflows SET next_run_at = now() WHERE id = (SELECT id FROM workflows ORDER BY next_run_at DESC LIMIT 1)`,
  );
  const [last] = await database.query<{ id: string }>('SELECT id FROM workflows ORDER BY next_run_at DESC LIMIT 1');
  await database.query(
    `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.workflow_id = '${last?.id}' THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END $$`,
  );
  await database.query('CREATE TRIGGER refuse BEFORE INSERT ON schedule_fires FOR EACH ROW EXECUTE FUNCTION refuse()');
  const wokenTenants: string[] = [];
  db.onDue((tenantIds) => wokenTenants.push(...tenantIds));
  const schedules = new Schedules({
    db,
    logger: pino({ level: 'silent' }),
    runs: { admit: async () => undefined, reserveQueueSlots: async (_tx, _queue, wanted) => wanted },
    intake: null,
    validateSteps: () => undefined,
  });
  await expect(schedules.fireDue()).rejects.toThrow(/refused|Failed query/);
  expect(wokenTenants).toEqual([tenantId]);
  expect(await database.query('SELECT count(*)::int AS due FROM runs WHERE wake_at <= now()')).toEqual([
    { due: 1_000 },
  ]);
  expect(await database.query('SELECT count(*)::int AS n FROM runs')).toEqual([{ n: 1_000 }]);
});

test('a workspace with many schedules does not delay others: the first schedule of each workspace fires before the second of any', async () => {
  await database.query('DROP TRIGGER refuse ON schedule_fires; UPDATE workflows SET next_run_at = NULL');
  const trigger = JSON.stringify({
    type: 'schedule',
    schemaVersion: 1,
    schedule: {
      kind: 'interval',
      everySeconds: 3600,
      overlap: 'allow',
      onMissed: 'last',
      maxCatchUp: 1,
      jitterSeconds: 0,
    },
  });
  const [flooding, other] = [newId(), newId()];
  // The schedules of the other workspace are the last to be due.
  for (const [tenantId, count, agoMs] of [
    [flooding, 1_100, 5_000],
    [other, 3, 1_000],
  ] as const) {
    await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, $2, '{"automations":true}')`, [
      tenantId,
      tenantId,
    ]);
    await database.query(
      `INSERT INTO workflows (id, tenant_id, name, active, version, trigger, steps, next_run_at)
       SELECT gen_random_uuid(), $1, 'w', true, 1, $2, '[{"type":"log","message":"x"}]', now() - $3 * interval '1 millisecond' + n * interval '1 microsecond' FROM generate_series(1, $4) n`,
      [tenantId, trigger, agoMs, count],
    );
  }
  const batches: { tenantId: string; count: number }[] = [];
  const reserveQueueSlots = async (_tx: unknown, { tenantId }: { tenantId: string }, count: number) => {
    batches.push({ tenantId, count });
    return count;
  };
  const schedules = new Schedules({
    db,
    logger: pino({ level: 'silent' }),
    runs: { admit: async () => undefined, reserveQueueSlots },
    intake: null,
    validateSteps: () => undefined,
  });
  expect(await schedules.fireDue()).toBe(1_103);
  expect(batches).toEqual([
    { tenantId: flooding, count: 997 },
    { tenantId: other, count: 3 },
    { tenantId: flooding, count: 103 },
  ]);
});

test('a workflow with steps that cannot be validated does not block other schedules', async () => {
  await database.query('UPDATE workflows SET next_run_at = NULL');
  const tenantId = newId();
  const trigger = JSON.stringify({
    type: 'schedule',
    schemaVersion: 1,
    schedule: {
      kind: 'interval',
      everySeconds: 3600,
      overlap: 'allow',
      onMissed: 'last',
      maxCatchUp: 1,
      jitterSeconds: 0,
    },
  });
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, 'faulty', '{"automations":true}')`, [
    tenantId,
  ]);
  await database.query(
    `INSERT INTO workflows (id, tenant_id, name, active, version, trigger, steps, next_run_at)
     SELECT id, $1, 'w', true, 1, $2, '[{"type":"log","message":"x"}]', now() - interval '1 second' FROM unnest($3::uuid[]) AS id`,
    [tenantId, trigger, [newId(), newId(), newId()]],
  );
  const validateSteps = vi
    .fn<() => void>()
    .mockReturnValueOnce(undefined)
    .mockImplementationOnce(() => {
      throw new TypeError('steps of another time');
    });
  const schedules = new Schedules({
    db,
    logger: pino({ level: 'silent' }),
    runs: { admit: async () => undefined, reserveQueueSlots: async (_tx, _queue, wanted) => wanted },
    intake: null,
    validateSteps,
  });
  expect(await schedules.fireDue()).toBe(2);
  expect(
    await database.query(
      'SELECT count(*)::int AS n, outcome FROM schedule_fires WHERE tenant_id = $1 GROUP BY outcome ORDER BY outcome',
      [tenantId],
    ),
  ).toEqual([
    { n: 1, outcome: 'refused' },
    { n: 2, outcome: 'started' },
  ]);
});

/** A workspace with `count` due schedules. */
async function dueSchedules(count: number, more: { limits?: object; jitterSeconds?: number } = {}): Promise<string> {
  await database.query('UPDATE workflows SET next_run_at = NULL');
  const tenantId = newId();
  const schedule = { kind: 'interval', everySeconds: 3600, overlap: 'allow', onMissed: 'last', maxCatchUp: 1 };
  const trigger = {
    type: 'schedule',
    schemaVersion: 1,
    schedule: { ...schedule, jitterSeconds: more.jitterSeconds ?? 0 },
  };
  await database.query(
    `INSERT INTO tenants (id, name, entitlements) VALUES ($1::uuid, $1::text, '{"automations":true}')`,
    [tenantId],
  );
  await database.query(
    `INSERT INTO workflows (id, tenant_id, name, active, version, trigger, steps, limits, next_run_at)
     SELECT gen_random_uuid(), $1, 'w', true, 1, $2, '[{"type":"log","message":"x"}]', $3, now() - interval '1 second' FROM generate_series(1, $4)`,
    [tenantId, JSON.stringify(trigger), more.limits === undefined ? null : JSON.stringify(more.limits), count],
  );
  return tenantId;
}

/** Schedules in a process whose worker has `slots` free slots. */
function schedulesWithWorker(slots: number, meanwhile: () => Promise<void> = async () => undefined) {
  const startedRunIds: string[] = [];
  let reservedSlots = 0;
  const intake = new RunIntake(db);
  const holderId = newId();
  intake.preferLocal(() => {
    if (reservedSlots + startedRunIds.length >= slots) return null;
    reservedSlots += 1;
    let isOpen = true;
    const end = () => {
      if (isOpen) reservedSlots -= 1;
      isOpen = false;
    };
    return { holderId, begin: ({ id }) => (end(), void startedRunIds.push(id)), [Symbol.dispose]: end };
  });
  const schedules = new Schedules({
    db,
    logger: pino({ level: 'silent' }),
    runs: {
      admit: async () => undefined,
      reserveQueueSlots: async (_tx, _queue, wanted) => (await meanwhile(), wanted),
    },
    intake,
    validateSteps: () => undefined,
  });
  return { schedules, startedRunIds, reservedSlots: () => reservedSlots };
}

const runsOf = (tenantId: string) =>
  database.query<{ id: string; status: string; leased: boolean; fires: number }>(
    `SELECT r.id, r.status, r.holder_id IS NOT NULL AND r.fence = 1 AS leased,
       (SELECT count(*)::int FROM schedule_fires f WHERE f.run_id = r.id AND f.workflow_id = r.workflow_id) AS fires FROM runs r WHERE tenant_id = $1 ORDER BY r.status, r.id`,
    [tenantId],
  );

test('the worker of the process executes the runs of fires up to its free slots, and the other runs are queued', async () => {
  const tenantId = await dueSchedules(5);
  const { schedules, startedRunIds, reservedSlots } = schedulesWithWorker(3);
  expect(await schedules.fireDue()).toBe(5);
  const runs = await runsOf(tenantId);
  const queued = { status: 'queued', leased: false, fires: 1 };
  const running = { status: 'running', leased: true, fires: 1 };
  expect(runs.map(({ id: _id, ...run }) => run)).toEqual([queued, queued, running, running, running]);
  expect(startedRunIds.toSorted()).toEqual(
    runs.flatMap(({ id, status }) => (status === 'running' ? [id] : [])).toSorted(),
  );
  expect(reservedSlots()).toBe(0);
});

// A clock that is ahead would also put the ids of later tests in this worker ahead.
test.each([-86_400_000, -3_600_000])(
  'a process whose clock is off by %i ms fires a due schedule once and sets the next time one interval later',
  async (offsetMs) => {
    const tenantId = await dueSchedules(1);
    const { schedules } = schedulesWithWorker(0);
    vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + offsetMs });
    onTestFinished(() => void vi.useRealTimers());
    expect(await schedules.fireDue()).toBe(1);
    expect(await schedules.fireDue()).toBe(0);
    expect(
      await database.query(
        `SELECT next_run_at > now() AND next_run_at <= now() + interval '1 hour' AS "isNext" FROM workflows WHERE tenant_id = $1`,
        [tenantId],
      ),
    ).toEqual([{ isNext: true }]);
  },
);

test.each([
  ['limits may delay', { limits: { maxConcurrentRuns: 1, onLimit: 'queue' } }],
  ['start later', { jitterSeconds: 60 }],
])('runs of schedules that %s are queued although the worker has free slots', async (_what, more) => {
  const tenantId = await dueSchedules(3, more);
  const { schedules, startedRunIds, reservedSlots } = schedulesWithWorker(10);
  expect(await schedules.fireDue()).toBe(3);
  expect((await runsOf(tenantId)).map(({ status }) => status)).toEqual(['queued', 'queued', 'queued']);
  expect([startedRunIds, reservedSlots()]).toEqual([[], 0]);
});

test.each([
  ['quiet hours', `quiet_hours = '{"from":"00:00","to":"00:00","timezone":"UTC"}'`],
  ['approvals', `approvals_required_for = '{log}'`],
])(
  'runs of schedules whose policy gets new %s while they fire are queued and start under the new policy',
  async (_what, change) => {
    const tenantId = await dueSchedules(3);
    await database.query(
      `INSERT INTO automation_policies (tenant_id, standing_orders, approvals_required_for) VALUES ($1, '', '{}')`,
      [tenantId],
    );
    // Another workspace fires in the same transaction.
    const others = newId();
    await database.query(
      `INSERT INTO tenants (id, name, entitlements) VALUES ($1::uuid, $1::text, '{"automations":true}')`,
      [others],
    );
    await database.query(
      `INSERT INTO workflows (id, tenant_id, name, active, version, trigger, steps, next_run_at)
     SELECT gen_random_uuid(), $1, 'w', true, 1, trigger, steps, next_run_at FROM workflows WHERE tenant_id = $2`,
      [others, tenantId],
    );
    const { schedules, startedRunIds, reservedSlots } = schedulesWithWorker(10, async () => {
      await database.query(`UPDATE automation_policies SET ${change} WHERE tenant_id = $1`, [tenantId]);
    });
    expect(await schedules.fireDue()).toBe(6);
    const statusesOf = async (id: string) => (await runsOf(id)).map(({ status, fires }) => [status, fires]);
    expect(await statusesOf(tenantId)).toEqual(Array.from({ length: 3 }, () => ['queued', 1]));
    expect(await statusesOf(others)).toEqual(Array.from({ length: 3 }, () => ['running', 1]));
    expect([startedRunIds.length, reservedSlots()]).toEqual([3, 0]);
  },
);

test('a schedule whose fire cannot be stored fails alone and releases its worker slot', async () => {
  const tenantId = await dueSchedules(20);
  const [poison] = await database.query<{ id: string }>('SELECT id FROM workflows WHERE tenant_id = $1 LIMIT 1', [
    tenantId,
  ]);
  await database.query(
    `CREATE OR REPLACE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN IF NEW.workflow_id = '${poison?.id}' THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW; END $$`,
  );
  await database.query('CREATE TRIGGER refuse BEFORE INSERT ON schedule_fires FOR EACH ROW EXECUTE FUNCTION refuse()');
  const { schedules, startedRunIds, reservedSlots } = schedulesWithWorker(100);
  await expect(schedules.fireDue()).rejects.toThrow('refused');
  expect([startedRunIds.length, reservedSlots()]).toEqual([19, 0]);
  expect((await runsOf(tenantId)).map(({ leased, fires }) => [leased, fires])).toEqual(
    Array.from({ length: 19 }, () => [true, 1]),
  );
  // The failed schedule does not block schedules that are due later.
  expect(await schedules.fireDue()).toBe(0);
  await database.query('DROP TRIGGER refuse ON schedule_fires');
});

test('two processes that fire the same schedules start each run once', async () => {
  const tenantId = await dueSchedules(200);
  const both = [schedulesWithWorker(50), schedulesWithWorker(50)];
  const counts = await Promise.all(both.map(({ schedules }) => schedules.fireDue()));
  const left = await Promise.all(both.map(({ schedules }) => schedules.fireDue()));
  expect([...counts, ...left].reduce((sum, count) => sum + count, 0)).toBe(200);
  const runs = await runsOf(tenantId);
  expect(runs.length).toBe(200);
  expect(runs.every(({ fires }) => fires === 1)).toBe(true);
});

/** Schedules whose runs wait for a row that another transaction has locked, as a run that replaces an open run does. */
async function schedulesWithLock(isLocked: (workflowId: string) => boolean) {
  const holder = newId();
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1::uuid, $1::text, '{}')`, [holder]);
  const { promise: released, resolve: release } = Promise.withResolvers<void>();
  const { promise: locked, resolve: hasLocked } = Promise.withResolvers<void>();
  const over = db.system(async (tx) => {
    await tx.query('hold_row', 'SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE', [holder]);
    hasLocked();
    await released;
  });
  await locked;
  const admit: ConstructorParameters<typeof Schedules>[0]['runs']['admit'] = async (tx, { id }) => {
    if (isLocked(id)) await tx.query('want_row', 'SELECT 1 FROM tenants WHERE id = $1 FOR UPDATE', [holder]);
    return undefined;
  };
  const schedules = new Schedules({
    db,
    logger: pino({ level: 'silent' }),
    runs: { admit, reserveQueueSlots: async (_tx, _queue, wanted) => wanted },
    intake: null,
    validateSteps: () => undefined,
  });
  return { schedules, release: () => (release(), over) };
}

test.each([1, 3])(
  'schedules that wait for a lock (%i of 40) do not block others, and fire when the lock is released',
  async (count) => {
    const tenantId = await dueSchedules(40, { limits: { maxConcurrentRuns: 1, onLimit: 'replace' } });
    const lockedIds = (
      await database.query<{ id: string }>('SELECT id FROM workflows WHERE tenant_id = $1 ORDER BY id LIMIT $2', [
        tenantId,
        count,
      ])
    ).map(({ id }) => id);
    const { schedules, release } = await schedulesWithLock((id) => lockedIds.includes(id));
    const firedOf = async () =>
      (
        await database.query<{ workflow_id: string }>('SELECT workflow_id FROM schedule_fires WHERE tenant_id = $1', [
          tenantId,
        ])
      ).map(({ workflow_id }) => workflow_id);
    try {
      let started = 0;
      // Each pass detects more of the waiting schedules.
      for (let looks = 0; looks < 5 && started < 40 - count; looks += 1) started += await schedules.fireDue();
      expect(started).toBe(40 - count);
      const fired = await firedOf();
      expect([fired.length, fired.filter((id) => lockedIds.includes(id))]).toEqual([40 - count, []]);
      // A schedule that is due later is not blocked either.
      await database.query('UPDATE workflows SET next_run_at = now() WHERE id = $1', [fired[0]]);
      expect(await schedules.fireDue()).toBe(1);
    } finally {
      await release();
    }
    let late = 0;
    // A pass has limited time for schedules that waited.
    for (let looks = 0; looks < 20 && late < count; looks += 1) late += await schedules.fireDue();
    expect(late).toBe(count);
    expect((await firedOf()).length).toBe(41);
    expect(await schedules.fireDue()).toBe(0);
  },
);

test('a pass ends while all fires wait for locks, and later passes fire them', async () => {
  const tenantId = await dueSchedules(64, { limits: { maxConcurrentRuns: 1, onLimit: 'replace' } });
  const { schedules, release } = await schedulesWithLock(() => true);
  try {
    expect(await schedules.fireDue()).toBe(0);
  } finally {
    await release();
  }
  let started = 0;
  for (let looks = 0; looks < 20 && started < 64; looks += 1) started += await schedules.fireDue();
  expect([started, (await runsOf(tenantId)).length]).toEqual([64, 64]);
});

test('batches of schedules are limited by bytes; large definitions fire one by one after small ones, and workspaces take turns', async () => {
  await database.query('UPDATE workflows SET next_run_at = NULL');
  const trigger = JSON.stringify({
    type: 'schedule',
    schemaVersion: 1,
    schedule: {
      kind: 'interval',
      everySeconds: 3600,
      overlap: 'allow',
      onMissed: 'last',
      maxCatchUp: 1,
      jitterSeconds: 0,
    },
  });
  const [flooding, other] = [newId(), newId()];
  // The schedules of the other workspace are the last to be due. A repetitive text has few bytes on disk.
  for (const [tenantId, count, length, agoMs] of [
    [flooding, 3, 2_000_000, 6_000],
    [flooding, 300, 60_000, 5_000],
    [other, 1, 2_000_000, 2_000],
    [other, 1, 1, 1_000],
  ] as const) {
    await database.query(
      `INSERT INTO tenants (id, name, entitlements) VALUES ($1, $2, '{"automations":true}') ON CONFLICT DO NOTHING`,
      [tenantId, tenantId],
    );
    await database.query(
      `INSERT INTO workflows (id, tenant_id, name, active, version, trigger, steps, next_run_at)
       SELECT gen_random_uuid(), $1, 'w', true, 1, $2, jsonb_build_array(jsonb_build_object('type', 'log', 'message', repeat('x', $5))), now() - $3 * interval '1 millisecond' + n * interval '1 microsecond'
       FROM generate_series(1, $4) n`,
      [tenantId, trigger, agoMs, count, length],
    );
  }
  const batches: { tenantId: string; count: number }[] = [];
  const reserveQueueSlots = async (_tx: unknown, { tenantId }: { tenantId: string }, count: number) => {
    batches.push({ tenantId, count });
    return count;
  };
  const schedules = new Schedules({
    db,
    logger: pino({ level: 'silent' }),
    runs: { admit: async () => undefined, reserveQueueSlots },
    intake: null,
    validateSteps: () => undefined,
  });
  // On a slow machine one pass may not fire all large definitions.
  for (let fired = 0; fired < 305;) fired += await schedules.fireDue();
  expect(batches).toEqual([
    // 8 MiB each, with the small definition of the other workspace in the first batch.
    { tenantId: flooding, count: 139 },
    { tenantId: other, count: 1 },
    { tenantId: flooding, count: 139 },
    { tenantId: flooding, count: 22 },
    { tenantId: flooding, count: 1 },
    { tenantId: other, count: 1 },
    { tenantId: flooding, count: 1 },
    { tenantId: flooding, count: 1 },
  ]);
});
