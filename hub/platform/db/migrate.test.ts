import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { concurrentSteps } from './concurrent-indexes.ts';
import { migrateDatabase, migrationsFolder } from './migrate.ts';
import { readMigrationFiles } from './orm.ts';

/** A database of the newest schema, with a further migration to come. */
let database: TestDatabase;
let folder: string;
let clients: Client[];
beforeEach(async () => {
  database = await acquireDatabase();
  folder = await mkdtemp(join(tmpdir(), 'outrigger-migrations-'));
  clients = [];
  await database.query('CREATE TABLE big (id int PRIMARY KEY, note text)');
  await database.query(`INSERT INTO big SELECT n, 'note ' || n FROM generate_series(1, 2000) n`);
});
afterEach(async () => {
  await Promise.all(clients.map((client) => client.end().catch(() => undefined)));
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

async function connect(): Promise<Client> {
  const client = new Client({ connectionString: database.url });
  client.on('error', () => undefined);
  await client.connect();
  clients.push(client);
  return client;
}

/** Writes the journal and one file for each migration; statements stand apart as drizzle-kit writes them. */
async function writeMigrations(...migrations: string[][]): Promise<void> {
  await mkdir(join(folder, 'meta'), { recursive: true });
  const last = Math.max(...readMigrationFiles({ migrationsFolder }).map((migration) => migration.folderMillis));
  const entries = migrations.map((_statements, idx) => ({
    idx,
    version: '7',
    when: last + 1 + idx,
    tag: `000${idx}_test`,
    breakpoints: true,
  }));
  await writeFile(join(folder, 'meta/_journal.json'), JSON.stringify({ version: '7', dialect: 'postgresql', entries }));
  for (const [index, statements] of migrations.entries())
    await writeFile(join(folder, `000${index}_test.sql`), statements.join('--> statement-breakpoint\n'));
}

const buildIndex = ['CREATE INDEX CONCURRENTLY "big_note" ON "big" USING btree ("note");'];
const indexes = () =>
  database.query<{ name: string; valid: boolean }>(
    `SELECT indexrelid::regclass::text AS name, indisvalid AS valid FROM pg_index WHERE indrelid = 'big'::regclass AND NOT indisprimary`,
  );
const applied = async () =>
  (await database.query<{ n: number }>('SELECT count(*)::int AS n FROM drizzle.__drizzle_migrations'))[0]?.n;
/** Whether a session of the migrator waits for a lock. */
const isWaiting = async () =>
  (
    await database.query(
      `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'outrigger-migrate' AND wait_event_type = 'Lock'`,
    )
  ).length > 0;

test('the migrations of this product are in order, and those that build indexes concurrently do nothing else', () => {
  const times = readMigrationFiles({ migrationsFolder }).map((migration) => {
    concurrentSteps(migration.sql);
    return migration.folderMillis;
  });
  expect(times).toEqual([...new Set(times)].toSorted((a, b) => a - b));
});

test('a database that is at the newest schema is left as it is', async () => {
  const before = await applied();
  await migrateDatabase(database.url);
  expect(await applied()).toBe(before);
});

test('refuses a database that a development version before the baseline created', async () => {
  await database.query('DELETE FROM drizzle.__drizzle_migrations');
  await database.query('INSERT INTO drizzle.__drizzle_migrations (hash, created_at) VALUES ($1, $2)', [
    'old',
    1_795_237_551_977,
  ]);
  await expect(migrateDatabase(database.url)).rejects.toThrow(/development version .* Use a new database/);
});

test('whoever owns neither database nor schema public migrates it, and is told once what its owner may close', async () => {
  const [owner, name] = [`migrator_${process.pid}`, new URL(database.url).pathname.slice(1)];
  await database.query(
    `DROP SCHEMA public CASCADE; DROP SCHEMA drizzle CASCADE; CREATE SCHEMA public; GRANT ALL ON SCHEMA public TO PUBLIC;
     CREATE ROLE ${owner} LOGIN PASSWORD 'p' CREATEROLE; GRANT outrigger_app, outrigger_system TO ${owner} WITH ADMIN OPTION; GRANT CREATE ON DATABASE ${name} TO ${owner}`,
  );
  try {
    const url = Object.assign(new URL(database.url), { username: owner, password: 'p' }).href;
    const notices: string[] = [];
    const onNotice = (line: string) => notices.push(line);
    await migrateDatabase(url, { onNotice });
    await migrateDatabase(url, { onNotice });
    expect(notices).toEqual([
      expect.stringContaining(`REVOKE TEMPORARY ON DATABASE ${name} FROM PUBLIC`),
      expect.stringContaining('REVOKE CREATE ON SCHEMA public FROM PUBLIC'),
    ]);
  } finally {
    await database.query(`DROP OWNED BY ${owner} CASCADE; DROP ROLE ${owner}`);
  }
});

test('writers go on while an index is built', async () => {
  await writeMigrations(buildIndex);
  const older = await connect();
  await older.query(`BEGIN; INSERT INTO big VALUES (-1, 'of an older transaction')`);
  const migrated = migrateDatabase(database.url, { folder });
  await expect.poll(isWaiting).toBe(true);
  const writer = await connect();
  await writer.query(`SET lock_timeout = '5s'`);
  for (let id = 10_000; id < 10_050; id += 1) await writer.query(`INSERT INTO big VALUES ($1, 'during')`, [id]);
  expect(await indexes()).toEqual([{ name: 'big_note', valid: false }]);
  await older.query('COMMIT');
  await migrated;
  expect(await indexes()).toEqual([{ name: 'big_note', valid: true }]);
});

test('a migration that cannot have its lock lets others pass, and is tried again until it can', async () => {
  await writeMigrations(['ALTER TABLE "big" ADD COLUMN "more" text;', `UPDATE "big" SET "more" = 'yes';`]);
  const before = await applied();
  const holder = await connect();
  await holder.query('BEGIN; SELECT count(*) FROM big');
  const notices: string[] = [];
  const migrated = migrateDatabase(database.url, {
    folder,
    lockTimeoutMs: 100,
    backoffMs: 50,
    onNotice: (line) => notices.push(line),
  });
  await expect.poll(() => notices.length).toBeGreaterThan(1);
  const other = await connect();
  await other.query(`SET lock_timeout = '10s'`);
  await other.query(`INSERT INTO big VALUES (-2, 'meanwhile')`);
  expect(await applied()).toBe(before);
  await holder.query('COMMIT');
  await migrated;
  expect(await database.query('SELECT more FROM big WHERE id = -2')).toEqual([{ more: 'yes' }]);
});

test('a lock that is never to be had ends the migration with nothing of it done', async () => {
  await writeMigrations(['CREATE TABLE "small" (id int);', 'ALTER TABLE "big" ADD COLUMN "more" text;']);
  const holder = await connect();
  await holder.query('BEGIN; SELECT count(*) FROM big');
  await expect(
    migrateDatabase(database.url, { folder, lockTimeoutMs: 20, backoffMs: 1, maxAttempts: 3 }),
  ).rejects.toThrow(/lock timeout/);
  expect(await database.query(`SELECT to_regclass('small') AS small`)).toEqual([{ small: null }]);
});

test('what went before a migration that fails stays done', async () => {
  await writeMigrations(['CREATE TABLE "small" (id int);'], ['ALTER TABLE "no_such_table" ADD COLUMN "more" text;']);
  const before = (await applied()) as number;
  await expect(migrateDatabase(database.url, { folder })).rejects.toThrow(/no_such_table/);
  expect(await applied()).toBe(before + 1);
});

test('the build of an index that was cut off is done again, and what was finished is kept', async () => {
  await writeMigrations(['CREATE INDEX CONCURRENTLY "big_first" ON "big" ("note", "id");', ...buildIndex]);
  const older = await connect();
  await database.query('CREATE INDEX big_first ON big (note, id)');
  const [kept] = await database.query<{ node: number }>(`SELECT pg_relation_filenode('big_first') AS node`);
  await older.query('BEGIN; UPDATE big SET note = note WHERE id = 1');
  const cutOff = migrateDatabase(database.url, { folder }).then(
    () => null,
    (error: unknown) => error,
  );
  await expect.poll(isWaiting).toBe(true);
  await database.query(
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND application_name = 'outrigger-migrate'`,
  );
  expect(await cutOff).toBeInstanceOf(Error);
  await older.query('COMMIT');
  expect(await indexes()).toContainEqual({ name: 'big_note', valid: false });
  await migrateDatabase(database.url, { folder });
  expect(await indexes()).toEqual(
    expect.arrayContaining([
      { name: 'big_first', valid: true },
      { name: 'big_note', valid: true },
    ]),
  );
  expect(await database.query(`SELECT pg_relation_filenode('big_first') AS node`)).toEqual([kept]);
});

test('processes that start at once migrate once, also beside one that waits for its turn in a statement', async () => {
  await writeMigrations(
    buildIndex,
    ['DROP INDEX "big_note";', 'CREATE UNIQUE INDEX CONCURRENTLY "big_note" ON "big" USING btree ("note");'],
    ['CREATE TABLE "small" (id int);'],
  );
  const before = (await applied()) as number;
  const older = await connect();
  await older.query('BEGIN; UPDATE big SET note = note WHERE id = 1');
  const all = Array.from({ length: 4 }, () => migrateDatabase(database.url, { folder, backoffMs: 200 }));
  await expect.poll(isWaiting).toBe(true);
  const waiter = await connect();
  // Of a circle, whoever looks first is broken off: here the migrator, which has to come again.
  await waiter.query(`SET deadlock_timeout = '60s'`);
  const turn = waiter
    .query('SELECT pg_advisory_lock(1869968498)')
    .then(() => waiter.query('SELECT pg_advisory_unlock(1869968498)'));
  await older.query('COMMIT');
  await Promise.all([...all, turn]);
  expect(await applied()).toBe(before + 3);
  expect(await indexes()).toEqual([{ name: 'big_note', valid: true }]);
});

test('a migration that builds an index concurrently and does something else is refused before anything of it is done', async () => {
  await writeMigrations([...buildIndex, 'ALTER TABLE "big" ADD COLUMN "more" text;']);
  await expect(migrateDatabase(database.url, { folder })).rejects.toThrow(/nothing but CREATE INDEX CONCURRENTLY/);
  expect(await indexes()).toEqual([]);
});
