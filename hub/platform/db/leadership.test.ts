import { pino } from 'pino';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { Leadership } from './leadership.ts';
import type { LeadershipOptions } from './leadership.ts';

let database: TestDatabase;
beforeAll(async () => {
  database = await acquireDatabase();
});
afterAll(() => database[Symbol.asyncDispose]());

const join = (name: string, options: Partial<LeadershipOptions> = {}) =>
  new Leadership({ url: database.url, name, logger: pino({ level: 'silent' }), beatMs: 25, ...options });
const leaders = (candidates: Leadership[]) => candidates.filter((candidate) => candidate.isHeld);

test('of three one leads, and when it leaves another does', async () => {
  const candidates = [join('a'), join('a'), join('a')];
  await using _all = {
    [Symbol.asyncDispose]: async () =>
      void (await Promise.all(candidates.map((candidate) => candidate[Symbol.asyncDispose]()))),
  };
  await expect.poll(() => leaders(candidates).length).toBe(1);
  const [first] = leaders(candidates) as [Leadership];
  await first[Symbol.asyncDispose]();
  expect(first.isHeld).toBe(false);
  await expect.poll(() => leaders(candidates).length).toBe(1);
  expect(leaders(candidates)).not.toContain(first);
});

test('a leader whose connection breaks stops leading at once, and somebody leads again', async () => {
  await using one = join('b');
  await expect.poll(() => one.isHeld).toBe(true);
  await using other = join('b');
  const gained = Promise.withResolvers<void>();
  using _heard = other.onGained(() => gained.resolve());
  // The first does not ask again before the other has its turn, because it has to connect anew.
  while (!other.isHeld) {
    await database.query(
      `SELECT pg_terminate_backend(l.pid) FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    );
    await expect.poll(() => leaders([one, other]).length).toBe(1);
  }
  await gained.promise;
  expect(one.isHeld).toBe(false);
});

test('a leader that hangs loses its turn to another, and knows it first', async () => {
  await using hanging = join('c', { beatMs: 600_000 });
  const gained = Promise.withResolvers<void>();
  using _gained = hanging.onGained(() => gained.resolve());
  await gained.promise;
  const seen: boolean[] = [];
  await using other = join('c', { silenceMs: 60_000 });
  using _heard = other.onGained(() => seen.push(hanging.isHeld));
  await expect.poll(() => other.isHeld).toBe(true);
  expect(seen).toEqual([false]);
});

test('what is named differently is led by each', async () => {
  await using one = join('d');
  await using other = join('e');
  await expect.poll(() => leaders([one, other]).length).toBe(2);
});
