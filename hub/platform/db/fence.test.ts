import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { nextFence, numberFenceBits } from './fence.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await acquireDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

/** What many holders would get who all read the same value, since the commits of those before were lost. */
const raised = async (from: string, bits?: number) =>
  (
    await database.query<{ fence: string }>(
      `SELECT ${nextFence('held.fence', bits)}::text AS fence FROM (SELECT $1::bigint AS fence) held, generate_series(1, 100)`,
      [from],
    )
  ).map(({ fence }) => BigInt(fence));

/** As a clock that was set back by a century left it. */
const ahead = (BigInt(Date.UTC(2126, 0)) << 20n).toString();

test.each([
  ['a new row', '0'],
  ['a row of an earlier version, which counted', '41'],
  ['a row from before the clock was set back', ahead],
])(
  'a fence that is raised from %s again, because the first commit was lost, is larger and another one',
  async (_of, from) => {
    const fences = await raised(from);
    // Two fences of one millisecond are the same once in 2^20 times.
    expect(new Set(fences).size).toBeGreaterThan(95);
    expect(fences.every((fence) => fence > BigInt(from))).toBe(true);
  },
);

test('a fence that is raised a millisecond later is larger than every one that a lost commit could have written', async () => {
  const [first] = await database.query<{ most: string; ms: string }>(
    `SELECT max(${nextFence('0::bigint')})::text AS most, max((extract(epoch FROM clock_timestamp()) * 1000)::bigint)::text AS ms FROM generate_series(1, 1000)`,
  );
  const { most, ms } = first as { most: string; ms: string };
  await expect
    .poll(
      async () =>
        (
          await database.query<{ late: boolean }>(
            `SELECT extract(epoch FROM clock_timestamp()) * 1000 >= $1::bigint + 1 AS late`,
            [ms],
          )
        )[0],
    )
    .toEqual({ late: true });
  expect((await raised('0')).every((fence) => fence > BigInt(most))).toBe(true);
});

test('a fence with fewer random bits is a number that JavaScript holds exactly', async () => {
  for (const fence of await raised('0', numberFenceBits)) expect(Number.isSafeInteger(Number(fence))).toBe(true);
});
