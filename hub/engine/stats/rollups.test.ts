import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids.ts';
import { readSlices, rollUp } from './rollups.ts';

let database: TestDatabase;
let db: Database;

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 6, applicationName: 'test', onError: () => undefined });
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
afterEach(() => void vi.useRealTimers());

async function workspaceWithRuns(endedMinutesAgo: readonly number[]): Promise<string> {
  const tenantId = newId();
  await database.query(`insert into tenants (id, name, entitlements) values ($1::uuid, $1::text, '{}')`, [tenantId]);
  await addRuns(tenantId, endedMinutesAgo);
  return tenantId;
}

const addRuns = (tenantId: string, endedMinutesAgo: readonly number[]) =>
  database.query(
    `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at, started_at, finished_at)
     select gen_random_uuid(), $1, gen_random_uuid(), 1, gen_random_uuid(), 'succeeded', '{"type":"manual"}', 'live', 1, at, at, at
     from (select now() - minutes * interval '1 minute' as at from unnest($2::int[]) minutes) given`,
    [tenantId, endedMinutesAgo],
  );

async function countSucceeded(tenantId: string): Promise<number> {
  const { slices } = await db.read(tenantId, (tx) => readSlices(tx, tenantId, new Date(0), new Date(8e15)));
  return slices.reduce((sum, slice) => sum + slice.succeeded, 0);
}

test('a process whose clock is ahead does not roll up the current slice', async () => {
  const tenantId = await workspaceWithRuns([0]);
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 86_400_000 });
  await rollUp(db);
  expect(await countSucceeded(tenantId)).toBe(0);
});

test('a workspace whose rollup fails does not prevent the rollups of other workspaces', async () => {
  const broken = await workspaceWithRuns([20]);
  await database.query(
    `create function refuse_slice() returns trigger language plpgsql as $$ begin if new.tenant_id = '${broken}' then raise exception 'this slice cannot be written'; end if; return new; end $$`,
  );
  await database.query(
    'create trigger refuse_slice before insert on run_rollups for each row execute function refuse_slice()',
  );
  try {
    const healthy = await Promise.all([[20], [20], [20], [20], [20]].map(workspaceWithRuns));
    await expect(rollUp(db)).rejects.toThrow(broken);
    expect(await Promise.all(healthy.map(countSucceeded))).toEqual([1, 1, 1, 1, 1]);
  } finally {
    await database.query('drop function refuse_slice() cascade');
  }
  await rollUp(db);
  expect(await countSucceeded(broken)).toBe(1);
});

test('one call rolls up more slices than fit in a batch', async () => {
  const tenantId = await workspaceWithRuns(Array.from({ length: 1_200 }, (_unused, index) => 10 + index * 5));
  expect(await rollUp(db)).toBe(1_200);
  expect(await countSucceeded(tenantId)).toBe(1_200);
  expect(await rollUp(db)).toBe(0);
});
