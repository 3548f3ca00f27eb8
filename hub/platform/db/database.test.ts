import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { Database } from './database.ts';

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

const settle = (work: Promise<unknown>) => work.then(() => null, (error: unknown) => error);

test('a deadlock and a statement that takes too long are told as a database that is busy, and leave the connection usable', async () => {
  await db.system((tx) => tx.query('insert_a', `INSERT INTO hub_settings (key, value) VALUES ('a', '1'), ('b', '1')`, []));
  const lock = (first: string, second: string) =>
    db.system(async (tx) => {
      await tx.query('lock', 'UPDATE hub_settings SET value = value WHERE key = $1', [first]);
      await new Promise((done) => setTimeout(done, 100));
      await tx.query('lock', 'UPDATE hub_settings SET value = value WHERE key = $1', [second]);
    });
  const both = await Promise.all([settle(lock('a', 'b')), settle(lock('b', 'a'))]);
  expect(both.filter((error) => error === null).length).toBe(1);
  expect(both.find((error) => error !== null)).toMatchObject({ code: 'unavailable', retryAfterSeconds: 1 });
  const slow = await settle(
    db.system(async (tx) => {
      await tx.query('short', `SET LOCAL statement_timeout = '50ms'`, []);
      await tx.query('sleep', 'SELECT pg_sleep(5)', []);
    }),
  );
  expect(slow).toMatchObject({ code: 'unavailable' });
  expect((await db.system((tx) => tx.query<{ n: number }>('count', 'SELECT count(*)::int AS n FROM hub_settings', []))).rows[0]?.n).toBe(2);
});

test('what is wrong by itself stays what it is', async () => {
  expect(await settle(db.system((tx) => tx.query('wrong', 'SELECT no_such_column FROM hub_settings', [])))).toMatchObject({ code: '42703' });
});
