import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { startHub } from '../../../test/fixtures/hub.ts';
import { startPgBouncer } from '../../../test/fixtures/pgbouncer.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { newId } from '../ids.ts';
import { Database } from './database.ts';

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
