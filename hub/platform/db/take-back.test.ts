import { readFile } from 'node:fs/promises';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { migrateAnew } from '../../../test/fixtures/migrate-anew.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { idBefore, newId } from '../ids.ts';
import { reasonOf } from '../observability/reason-of.ts';
import { migrateDatabase } from './migrate.ts';
import { monthStart } from './months.ts';

const soon = { lockTimeoutMs: 50, backoffMs: 1, maxAttempts: 3 };
const byHand = new URL('../../../migrations/taken-back/0036_bound_run_history.sql', import.meta.url);
/** Until when an upgrade may stand half done that begins now. */
const bound = monthStart(new Date(Date.now() + 7 * 86_400_000), 1);

let database: TestDatabase;
beforeEach(async () => {
  database = await acquireDatabase();
});
afterEach(() => database[Symbol.asyncDispose]());

/** Reads a table until it is told otherwise, as a backup does. */
async function readOn(table: string): Promise<() => Promise<unknown>> {
  const client = new Client({ connectionString: database.url });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  await client.query(`begin; select 1 from ${table}`);
  return () => client.query('commit');
}

/** A run with a step and a line, made so many months after the bound. */
async function makeRun(further: number): Promise<string> {
  const id = `${idBefore(new Date(monthStart(bound, further).getTime() + 86_400_000)).slice(0, 24)}${newId().slice(24)}`;
  await database.query(
    `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at, finished_at)
     values ($1, $1, $1, 1, $1, 'succeeded', '{}', 'live', 1, now(), now())`,
    [id],
  );
  await database.query(
    `insert into run_steps (run_id, index, tenant_id, status, attempts) values ($1, 0, $1, 'succeeded', 1)`,
    [id],
  );
  await database.query(
    `insert into run_logs (id, tenant_id, run_id, step_index, level, message) values ($1, $1, $1, 0, 'info', 'x')`,
    [id],
  );
  return id;
}

const failureOf = (migrated: Promise<void>) =>
  migrated.then(
    () => 'none',
    (error: unknown) => reasonOf(error),
  );
const placesOf = async (table: string) =>
  (await database.query<{ place: string }>(`select tableoid::regclass::text as place from ${table} order by 1`)).map(
    ({ place }) => place,
  );

test('an upgrade that can not be finished leaves a hub of the version before that can write next month, with every row, and is done later', async () => {
  await migrateAnew(database, 36);
  await makeRun(900);
  const end = await readOn('runs');
  expect(await failureOf(migrateDatabase(database.url, soon))).toMatch(/55P03 .* was taken back/);
  await makeRun(0);
  expect([await placesOf('run_steps'), await placesOf('run_logs')]).toEqual([
    ['run_steps', 'run_steps'],
    ['run_logs', 'run_logs'],
  ]);
  await end();
  await migrateDatabase(database.url);
  await makeRun(-1);
  expect([await placesOf('run_steps'), await placesOf('run_logs')]).toEqual([
    ['run_steps_default', 'run_steps_default', 'run_steps_first'],
    ['run_logs_default', 'run_logs_default', 'run_logs_first'],
  ]);
});

test('one that can not be taken back either says until when it may stand and how it ends, and both ways work', async () => {
  await migrateAnew(database, 38);
  const end = await readOn('run_logs');
  const failure = await failureOf(migrateDatabase(database.url, soon));
  expect(failure).toContain(`from ${bound.toISOString().slice(0, 10)} 00:00 UTC on no steps or log lines`);
  expect(failure).toContain('migrations/taken-back/0036_bound_run_history.sql');
  await expect(makeRun(0)).rejects.toThrow('run_steps_bound');
  await end();
  await database.query(await readFile(byHand, 'utf8'));
  await makeRun(0);
  expect(await placesOf('run_logs')).toEqual(['run_logs']);
  await migrateDatabase(database.url);
  expect(await placesOf('run_logs')).toEqual(['run_logs_default']);
});

test('taking back by hand what is finished is refused, and changes nothing', async () => {
  await makeRun(0);
  const count = () => database.query('select 1 from drizzle.__drizzle_migrations');
  const before = (await count()).length;
  await expect(database.query(await readFile(byHand, 'utf8'))).rejects.toThrow('run_steps_bound');
  expect([(await count()).length, await placesOf('run_logs')]).toEqual([before, ['run_logs_default']]);
});
