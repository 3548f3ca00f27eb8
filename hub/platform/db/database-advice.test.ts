import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { adviseOnDatabase, connectionsOfProcess } from './database-advice.ts';
import { Database } from './database.ts';

let database: TestDatabase;
let db: Database;
beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 3, applicationName: 'outrigger', onError: () => undefined });
});
afterAll(async () => {
  await database.query(`ALTER DATABASE ${name()} CONNECTION LIMIT -1`);
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
const name = () => `"${new URL(database.url).pathname.slice(1)}"`;
const advise = (more: { poolSize?: number; hasRedis?: boolean; isExternal?: boolean } = {}) =>
  adviseOnDatabase(db, { poolSize: 20, hasRedis: false, isExternal: true, ...more });

test('a process opens its pool and 6 connections more, or 2 with Redis', () => {
  expect([connectionsOfProcess(10, false), connectionsOfProcess(10, true)]).toEqual([16, 12]);
});

test('advice counts connections in use against those that are allowed', async () => {
  const { summary, warnings } = await advise({ isExternal: false });
  expect(summary).toMatch(/^\d+ of \d+ connections in use \(\d+ by hubs\); one process opens up to 26$/);
  expect(warnings).toEqual([]);
});

test('advice warns when the limit of the database leaves no room for another process', async () => {
  await database.query(`ALTER DATABASE ${name()} CONNECTION LIMIT 25`);
  const { summary, warnings } = await advise({ isExternal: false });
  expect(summary).toContain(' of 25 connections');
  expect(warnings).toEqual([expect.stringMatching(/allows 25 connections .* up to 26\. Raise max_connections/)]);
  await database.query(`ALTER DATABASE ${name()} CONNECTION LIMIT -1`);
});

test('advice warns of an external login that row-level security does not bind', async () => {
  const own = new Database({
    url: database.url,
    maxConnections: 3,
    applicationName: 'outrigger',
    onError: () => undefined,
  });
  const isUnlimited = (
    await database.query<{ is: boolean }>(
      `SELECT rolsuper OR rolbypassrls AS is FROM pg_roles WHERE rolname = session_user`,
    )
  )[0]?.is;
  const { warnings } = await adviseOnDatabase(own, { poolSize: 20, hasRedis: false, isExternal: true });
  expect(warnings.some((warning) => warning.includes('SUPERUSER or has BYPASSRLS'))).toBe(isUnlimited);
  expect((await advise({ isExternal: false })).warnings).toEqual([]);
  await own[Symbol.asyncDispose]();
});
