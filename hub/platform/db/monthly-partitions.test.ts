import { Client } from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { startHub } from '../../../test/fixtures/hub.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { idBefore, newId } from '../ids.ts';
import { MonthlyPartitions, monthStart } from './monthly-partitions.ts';
import { retentionTasks } from './row-retention.ts';

const tables = [
  { table: 'run_steps', key: 'run_id' },
  { table: 'run_logs', key: 'id', days: 30 },
];
const logger = pino({ level: 'silent' });
const [tenantId, otherTenantId] = [newId(), newId()];
const now = new Date('2031-05-20T12:00:00Z');
/** An id as it would be made on the 9th, so many months away from then. */
const idOf = (further: number) =>
  `${idBefore(new Date(monthStart(now, further).getTime() + 8 * 86_400_000)).slice(0, 24)}${newId().slice(24)}`;

let database: TestDatabase;
let months: MonthlyPartitions;
beforeEach(async () => {
  database = await acquireDatabase();
  months = new MonthlyPartitions({ url: database.url, logger });
});
afterEach(() => database[Symbol.asyncDispose]());

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: database.url });
  client.on('error', () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** A run with a step and a line. */
async function makeRun(id: string, lineId = id): Promise<string> {
  await database.query(
    `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, queued_at, finished_at)
     values ($1, $2, $1, 1, $1, 'succeeded', '{}', 'live', 1, now(), now())`,
    [id, tenantId],
  );
  await database.query(
    `insert into run_steps (run_id, index, tenant_id, status, attempts) values ($1, 0, $2, 'succeeded', 1)`,
    [id, tenantId],
  );
  await database.query(
    `insert into run_logs (id, tenant_id, run_id, step_index, level, message) values ($1, $2, $3, 0, 'info', 'x')`,
    [lineId, tenantId, id],
  );
  return id;
}

/** Where step and line of a run lie. */
const placesOf = async (runId: string) =>
  (
    await database.query<{ place: string }>(
      `select tableoid::regclass::text as place from run_steps where run_id = $1 union all select tableoid::regclass::text from run_logs where run_id = $1`,
      [runId],
    )
  ).map(({ place }) => place);
const partsOf = async (table: string) => (await months.partsBefore(table, 'ffffffff')).map(({ name }) => name);
const isWaiting = async () =>
  (
    await database.query(
      `select 1 from pg_stat_activity where datname = current_database() and application_name = 'outrigger-months' and wait_event_type = 'Lock'`,
    )
  ).length > 0;

test('steps and lines land in the month of their run and of their own, and one of a step may be in the month after', async () => {
  await months.make(tables, undefined, now);
  expect(await partsOf('run_logs')).toEqual([
    'run_logs_first',
    'run_logs_2031_05',
    'run_logs_2031_06',
    'run_logs_2031_07',
  ]);
  expect(await placesOf(await makeRun(idOf(0)))).toEqual(['run_steps_2031_05', 'run_logs_2031_05']);
  expect(await placesOf(await makeRun(idOf(0), idOf(1)))).toEqual(['run_steps_2031_05', 'run_logs_2031_06']);
  expect(await placesOf(await makeRun(newId()))).toEqual(['run_steps_first', 'run_logs_first']);
});

test('what is written by a clock far ahead is kept and found, and lies in its month once there is one', async () => {
  const [far, farther] = [await makeRun(idOf(3)), await makeRun(idOf(900))];
  expect(await placesOf(far)).toEqual(['run_steps_default', 'run_logs_default']);
  await months.make(tables, undefined, monthStart(now, 1));
  expect(await placesOf(far)).toEqual(['run_steps_2031_08', 'run_logs_2031_08']);
  expect(await placesOf(farther)).toEqual(['run_steps_default', 'run_logs_default']);
  await database.query('delete from runs where id = any($1)', [[far, farther]]);
  expect([await placesOf(far), await placesOf(farther)]).toEqual([[], []]);
});

test('two processes make the months at the same time, each of them once, and go on where one left off', async () => {
  await Promise.all(
    [1, 2, 3].map(() => new MonthlyPartitions({ url: database.url, logger }).make(tables, undefined, now)),
  );
  await months.make(tables, undefined, monthStart(now, 1));
  expect(await partsOf('run_steps')).toEqual([
    'run_steps_first',
    ...['05', '06', '07', '08'].map((month) => `run_steps_2031_${month}`),
  ]);
});

test('of what was there before there were months lines go one by one', async () => {
  const [old, young] = [await makeRun(idOf(-100)), await makeRun(newId())];
  expect(await months.dropOver(tables)).toEqual([]);
  expect([await placesOf(old), await placesOf(young)]).toEqual([
    ['run_steps_first'],
    ['run_steps_first', 'run_logs_first'],
  ]);
});

test('a month of which too much was written before it could be made stays in the default part, and keeps no other from being made', async () => {
  const run = await makeRun(idOf(1));
  await database.query(
    `insert into run_logs (id, tenant_id, run_id, step_index, level, message) select overlay(id::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, tenant_id, run_id, 0, 'info', 'x' from run_logs, generate_series(1, 10001) n`,
  );
  await months.make(tables, undefined, now);
  expect(await partsOf('run_logs')).toEqual(['run_logs_first', 'run_logs_2031_05', 'run_logs_2031_07']);
  await database.query('delete from run_logs where id in (select id from run_logs limit 5)');
  await months.make(tables, undefined, now);
  expect(await partsOf('run_logs')).toHaveLength(4);
  expect(new Set(await placesOf(run))).toEqual(new Set(['run_steps_2031_06', 'run_logs_2031_06']));
});

/** Lets a statement fail that removes rows from a table, as one that takes too long does, or otherwise. */
async function failRemovals(table: string, code: string): Promise<void> {
  await database.query(
    `create function fail() returns trigger language plpgsql as $$ begin raise exception 'no' using errcode = '${code}'; end $$`,
  );
  await database.query(`create trigger fail before delete on ${table} for each row execute function fail()`);
}

test('a month that takes too long to make is left to the next turn, and keeps no other from being made', async () => {
  const run = await makeRun(idOf(1));
  await failRemovals('run_steps_default', '57014');
  await months.make(tables, undefined, now);
  expect(await partsOf('run_steps')).toEqual(['run_steps_first', 'run_steps_2031_05', 'run_steps_2031_07']);
  expect(await placesOf(run)).toEqual(['run_steps_default', 'run_logs_2031_06']);
});

test('where months can not be made, those that are over go all the same, and a hub starts', async () => {
  await database.query('drop table run_steps_first, run_logs_first');
  await months.make(tables, undefined, monthStart(new Date(), -5));
  await makeRun(newId());
  await failRemovals('run_steps_default', 'XX000');
  await expect(months.make(tables)).rejects.toThrow('no');
  await using hub = await startHub({ LOG_RETENTION_DAYS: '0' }, database);
  const before = await partsOf('run_logs');
  const [task] = retentionTasks({ db: hub.app.db, logger, months }, [{ monthly: tables }]);
  await expect(task?.run(new AbortController().signal)).rejects.toThrow('no');
  expect(before.length - (await partsOf('run_logs')).length).toBeGreaterThan(1);
});

test('no month is made while so much lies in the default part that reading it would hold up everybody', async () => {
  const run = await makeRun(idOf(900));
  await database.query(
    `insert into run_logs (id, tenant_id, run_id, step_index, level, message) select overlay(id::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, tenant_id, run_id, 0, 'info', 'x' from run_logs, generate_series(1, 100000) n`,
  );
  // With the lock on it nobody could be told how much there is.
  const writer = await connect();
  await writer.query(`begin; update run_logs set message = 'y' where id = '${run}'`);
  const lines: string[] = [];
  await new MonthlyPartitions({
    url: database.url,
    logger: pino({ level: 'warn' }, { write: (line) => void lines.push(line) }),
  }).make(tables, undefined, now);
  expect(lines.map((line) => (JSON.parse(line) as { outcome: string }).outcome)).toEqual(
    Array.from({ length: 3 }, () => 'more than 100000 rows lie in the default part'),
  );
  expect([await partsOf('run_logs'), (await partsOf('run_steps')).length]).toEqual([['run_logs_first'], 4]);
});

test('lines that somebody holds are passed by, and all others that are over go', async () => {
  const [locked, free] = [await makeRun(idOf(-100)), await makeRun(idOf(-100))];
  const holder = await connect();
  await holder.query(`begin; select 1 from run_logs where run_id = '${locked}' for update`);
  await months.dropOver(tables);
  expect([await placesOf(locked), await placesOf(free)]).toEqual([
    ['run_steps_first', 'run_logs_first'],
    ['run_steps_first'],
  ]);
});

test('a month that lies wholly before what is kept is dropped, and takes nothing that is kept', async () => {
  await months.make(tables, undefined, now);
  const runs = await Promise.all([idOf(0), idOf(1), idOf(2)].map((id) => makeRun(id)));
  const day = (iso: string) => new Date(`${iso}T00:00:00Z`);
  expect(await months.dropOver(tables, undefined, day('2031-06-30'))).toEqual(['run_logs_first']);
  expect(await months.dropOver(tables, undefined, day('2031-07-02'))).toEqual(['run_logs_2031_05']);
  expect(await Promise.all(runs.map(placesOf))).toEqual([
    ['run_steps_2031_05'],
    ['run_steps_2031_06', 'run_logs_2031_06'],
    ['run_steps_2031_07', 'run_logs_2031_07'],
  ]);
  // A clock that is behind by months costs nobody a line, but for as long as the next turn takes.
  const late = await makeRun(idOf(-60), idOf(-60));
  expect(await placesOf(late)).toEqual(['run_steps_first', 'run_logs_default']);
  expect(await months.dropOver(tables, undefined, day('2031-07-02'))).toEqual([]);
  expect(await placesOf(late)).toEqual(['run_steps_first']);
  expect(await months.dropOver([{ table: 'run_steps', key: 'run_id', days: 0 }], undefined, day('2050-01-01'))).toEqual(
    [],
  );
});

test('a drop waits a moment only, so that others go on; one whose process is killed leaves all, and the next turn drops it', async () => {
  await months.make(tables, undefined, now);
  const run = await makeRun(idOf(0));
  const reader = await connect();
  await reader.query('begin; select 1 from run_logs');
  const killed = months.drop('run_logs', 'run_logs_2031_05').catch(() => 'killed');
  await expect.poll(isWaiting).toBe(true);
  // It stands before this writer in the line for the table, and leaves.
  await makeRun(idOf(1));
  await expect
    .poll(() =>
      database.query(
        `select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and application_name = 'outrigger-months'`,
      ),
    )
    .toHaveLength(1);
  expect(await killed).toBe('killed');
  expect(await placesOf(run)).toEqual(['run_steps_2031_05', 'run_logs_2031_05']);
  await reader.query('commit');
  expect(await months.drop('run_logs', 'run_logs_2031_05')).toBe(true);
  expect(await months.drop('run_logs', 'run_logs_2031_05')).toBe(false);
  expect(await placesOf(run)).toEqual(['run_steps_2031_05']);
});

test('neither a table nor a part by its name shows the rows of another workspace, and nobody but the owner drops one', async () => {
  await months.make(tables, undefined, now);
  await makeRun(idOf(0));
  await makeRun(newId());
  await makeRun(idOf(900));
  const parts = await database.query<{ name: string }>(
    `select inhrelid::regclass::text as name from pg_inherits where inhparent in ('run_steps'::regclass, 'run_logs'::regclass)`,
  );
  expect(parts).toHaveLength(10);
  const client = await connect();
  const seen = async (role: string, tenant: string, name: string) => {
    await client.query(`begin; set local role ${role}; set local outrigger.tenant_id = '${tenant}'`);
    try {
      return (await client.query(`select 1 from ${name}`)).rowCount;
    } catch (error) {
      return (error as Error).message;
    } finally {
      await client.query('rollback');
    }
  };
  for (const { table } of tables)
    expect([
      await seen('outrigger_app', tenantId, table),
      await seen('outrigger_app', otherTenantId, table),
      await seen('outrigger_system', otherTenantId, table),
    ]).toEqual([3, 0, 3]);
  for (const { name } of parts) {
    for (const role of ['outrigger_app', 'outrigger_system'])
      expect(await seen(role, tenantId, name)).toBe(`permission denied for table ${name}`);
    // Were it granted by mistake, it would show nothing yet.
    await client.query(`grant select on ${name} to outrigger_app, outrigger_system`);
    expect([await seen('outrigger_app', tenantId, name), await seen('outrigger_system', tenantId, name)]).toEqual([
      0, 0,
    ]);
  }
});
