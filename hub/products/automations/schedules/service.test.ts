import { pino } from 'pino';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
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

test('what one batch of fires has started is handed over although the next one fails', async () => {
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
      onMissed: 'skip',
      maxCatchUp: 1,
      jitterSeconds: 0,
    },
  });
  // One more than a batch; they are looked at in the order of their time.
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
  const dispatched: string[] = [];
  const schedules = new Schedules({
    db,
    logger: pino({ level: 'silent' }),
    dispatch: (jobs) => dispatched.push(...jobs.map((job) => job.jobId)),
    runs: { admit: async () => () => undefined, takeRoom: async (_tx, _tenantId, wanted) => wanted },
    intake: null,
    validateSteps: () => undefined,
  });
  await expect(schedules.fireDue()).rejects.toThrow(/refused|Failed query/);
  expect(dispatched.length).toBe(1_000);
  expect(await database.query('SELECT count(*)::int AS n FROM runs')).toEqual([{ n: 1_000 }]);
});

test('the schedules of a workspace with many stand before nobody: of each the first fires before the second of any', async () => {
  await database.query('DROP TRIGGER refuse ON schedule_fires; UPDATE workflows SET next_run_at = NULL');
  const trigger = JSON.stringify({
    type: 'schedule',
    schemaVersion: 1,
    schedule: {
      kind: 'interval',
      everySeconds: 3600,
      overlap: 'allow',
      onMissed: 'skip',
      maxCatchUp: 1,
      jitterSeconds: 0,
    },
  });
  const [flooding, other] = [newId(), newId()];
  // Those of the other workspace fell due last.
  for (const [tenantId, count, agoMs] of [
    [flooding, 1_500, 5_000],
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
  const takeRoom = async (_tx: unknown, tenantId: string, count: number) => {
    batches.push({ tenantId, count });
    return count;
  };
  const schedules = new Schedules({
    db,
    logger: pino({ level: 'silent' }),
    dispatch: () => undefined,
    runs: { admit: async () => () => undefined, takeRoom },
    intake: null,
    validateSteps: () => undefined,
  });
  expect(await schedules.fireDue()).toBe(1_503);
  expect(batches).toEqual([
    { tenantId: flooding, count: 997 },
    { tenantId: other, count: 3 },
    { tenantId: flooding, count: 503 },
  ]);
});

test('a workflow whose steps can not even be looked at keeps no other schedule from firing', async () => {
  await database.query('UPDATE workflows SET next_run_at = NULL');
  const tenantId = newId();
  const trigger = JSON.stringify({
    type: 'schedule',
    schemaVersion: 1,
    schedule: {
      kind: 'interval',
      everySeconds: 3600,
      overlap: 'allow',
      onMissed: 'skip',
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
    dispatch: () => undefined,
    runs: { admit: async () => () => undefined, takeRoom: async (_tx, _tenantId, wanted) => wanted },
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
