import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startHub } from '../../../test/fixtures/hub.ts';
import { startPgBouncer } from '../../../test/fixtures/pgbouncer.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { newId } from '../ids.ts';
import { startPostgresServer } from '../postgres-server/server.ts';
import type { PostgresServer } from '../postgres-server/server.ts';
import { Database } from './database.ts';
import { migrateDatabase } from './migrate.ts';

let database: TestDatabase;
const [first, second] = [newId(), newId()];
beforeAll(async () => {
  database = await acquireDatabase();
  for (const id of [first, second])
    await database.query(`insert into tenants (id, name, entitlements) values ($1, $2, '{}')`, [id, id]);
});
afterAll(() => database[Symbol.asyncDispose]());

const seen = (db: Database) =>
  db.workspace(first, async (tx) => (await tx.query<{ id: string }>('bare', 'SELECT id FROM tenants', [])).rows);
const open = (url: string) =>
  new Database({ url, maxConnections: 3, applicationName: 'test', onError: () => undefined });

describe.each(['session', 'transaction'] as const)('behind PgBouncer in %s mode', (mode) => {
  test.each([
    ['ignores the start-up options', 'options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout'],
    ['refuses the start-up options', 'statement_timeout,lock_timeout,idle_in_transaction_session_timeout'],
  ])('that %s the hub does not start, and says why and what to do', async (_how, ignored) => {
    const bouncer = await startPgBouncer(database.url, { mode, ignored });
    onTestFinished(() => bouncer[Symbol.asyncDispose]());
    await expect(startHub({ DATABASE_URL: bouncer.url }, database)).rejects.toThrow(
      /start-up options of connections.*DATABASE_URL must lead to PostgreSQL itself/,
    );
  });

  test('no query sees the rows of another workspace', async () => {
    const ignored = 'options,statement_timeout,lock_timeout,idle_in_transaction_session_timeout';
    const bouncer = await startPgBouncer(database.url, { mode, ignored });
    onTestFinished(() => bouncer[Symbol.asyncDispose]());
    const db = open(bouncer.url);
    onTestFinished(() => db[Symbol.asyncDispose]());
    await expect(seen(db)).rejects.toThrow();
    await expect(db.systemStatement('bare', 'SELECT id FROM tenants', [])).rejects.toThrow();
    await expect(db.prove()).rejects.toThrow(/works as \w+ and not as outrigger_app/);
  });
});

test.each(['lockTimeoutMs', 'statementTimeoutMs'] as const)('a connection without %s is refused', async (limit) => {
  const db = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'test',
    onError: () => undefined,
    // The value 0 is not sent, as if a pooler had dropped the setting.
    [limit]: 0,
  });
  onTestFinished(() => db[Symbol.asyncDispose]());
  await expect(db.prove()).rejects.toThrow('has no time-outs');
});

test('a transaction works under the role that it sets, whatever role its connection was left with', async () => {
  const db = open(database.url);
  onTestFinished(() => db[Symbol.asyncDispose]());
  // As a pooler would that gives one session to several.
  await db.workspace(first, async (tx) => {
    await tx.query('leave_role', 'SELECT set_config($1, $2, false)', ['role', 'outrigger_system']);
  });
  expect(await seen(db)).toEqual([{ id: first }]);
});

test('options in DATABASE_URL that replace those of the hub keep it from starting', async () => {
  await expect(startHub({ DATABASE_URL: `${database.url}?options=-c%20jit%3Doff` }, database)).rejects.toThrow(
    /must not set "options"/,
  );
});

describe('on a server where row-level security does not apply to a role of the hub', () => {
  let server: PostgresServer;
  let home: string;
  // Roles belong to the whole server, which other tests use at the same time.
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'outrigger-proof-'));
    server = await startPostgresServer({ home, onNotice: () => undefined, settings: { fsync: 'off' } });
    await migrateDatabase(server.url);
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });
  async function startAndStop(): Promise<void> {
    await using _hub = await startHub({ DATABASE_URL: server.url }, database);
  }

  test.each([
    ['outrigger_app', 'ALTER ROLE outrigger_app SUPERUSER', 'ALTER ROLE outrigger_app NOSUPERUSER'],
    ['outrigger_app', 'ALTER ROLE outrigger_app BYPASSRLS', 'ALTER ROLE outrigger_app NOBYPASSRLS'],
    ['outrigger_app', 'ALTER TABLE tenants OWNER TO outrigger_app', 'ALTER TABLE tenants OWNER TO outrigger_hub'],
    ['outrigger_system', 'ALTER ROLE outrigger_system BYPASSRLS', 'ALTER ROLE outrigger_system NOBYPASSRLS'],
  ])('the hub does not start, and names the role and the remedy (%s: %s)', async (role, change, restore) => {
    const query = async (text: string) => {
      const client = new Client({ connectionString: server.superuserUrl });
      await client.connect();
      await client.query(text);
      await client.end();
    };
    await query(change);
    onTestFinished(() => query(restore));
    await expect(startAndStop()).rejects.toThrow(
      `Row-level security does not apply to the role ${role}: take SUPERUSER and BYPASSRLS from it, and let it own no table.`,
    );
  });

  test('the hub starts once the roles are as the remedy says', async () => {
    await expect(startAndStop()).resolves.toBeUndefined();
  });
});
