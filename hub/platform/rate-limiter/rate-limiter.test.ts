import fc from 'fast-check';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { redisAvailable, startRedis } from '../../../test/fixtures/redis.ts';
import type { TestRedis } from '../../../test/fixtures/redis.ts';
import { Database } from '../db/database.ts';
import { LeasingRateLimiter } from './leasing-rate-limiter.ts';
import { LocalCounts } from './local-counts.ts';
import { createPostgresCounts } from './postgres-counts.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { createRedisCounts } from './redis-counts.ts';
import type { SharedCounts } from './shared-counts.ts';

/** Longer than a process of a busy machine is held up. After it, the limiter counts locally. */
const commandTimeoutMs = 60_000;

function suite(pair: () => [RateLimiter, RateLimiter]): void {
  // A window of an hour ends during the test only once in thousands of runs.
  const limit = { limit: 60, windowSeconds: 3_600 };

  test('200 concurrent requests of two processes are allowed up to the limit, less an unused lease', async () => {
    const limiters = pair();
    const key = `k-${Math.random()}`;
    const states = await Promise.all(
      Array.from({ length: 200 }, (_value, index) => limiters[index % 2 === 0 ? 0 : 1].take(key, limit)),
    );
    const allowed = states.filter((state) => state.allowed).length;
    expect(allowed).toBeLessThanOrEqual(60);
    expect(allowed).toBeGreaterThanOrEqual(57);
    expect(states.every(({ resetAt }) => resetAt.getTime() > Date.now())).toBe(true);
    expect(await limiters[0].peek(key, limit)).toMatchObject({ allowed: false, remaining: 0 });
    expect(await limiters[1].peek(`other-${key}`, limit)).toMatchObject({ allowed: true, remaining: 60 });
  });

  test('a new window starts with a count of zero', async () => {
    const [limiter] = pair();
    const key = `w-${Math.random()}`;
    const short = { limit: 1, windowSeconds: 1 };
    await limiter.take(key, short);
    await expect.poll(async () => (await limiter.peek(key, short)).allowed).toBe(true);
  });
}

describe('the rate limiter on PostgreSQL', () => {
  let database: TestDatabase;
  const pools: Database[] = [];
  beforeAll(async () => {
    database = await acquireDatabase();
    for (let index = 0; index < 2; index += 1)
      pools.push(
        new Database({ url: database.url, maxConnections: 9, applicationName: 'test', onError: () => undefined }),
      );
  });
  afterAll(async () => {
    await Promise.all(pools.map((pool) => pool[Symbol.asyncDispose]()));
    await database[Symbol.asyncDispose]();
  });
  suite(() => [
    new LeasingRateLimiter(createPostgresCounts(pools[0] as Database)),
    new LeasingRateLimiter(createPostgresCounts(pools[1] as Database)),
  ]);

  test('pruning deletes all ended windows, also thousands of them, and no current window', async () => {
    const limiter = new LeasingRateLimiter(createPostgresCounts(pools[0] as Database));
    const limit = { limit: 1, windowSeconds: 3_600 };
    await limiter.take('counts', limit);
    await limiter.take('is over', limit);
    await database.query(
      `update rate_limits set window_start = window_start - interval '1 hour', expires_at = expires_at - interval '1 hour' where key = 'is over'`,
    );
    await database.query(
      `insert into rate_limits (key, window_start, count, expires_at) select 'address ' || n, now() - interval '61 seconds', 1, now() - interval '1 second' from generate_series(1, 2500) n`,
    );
    await database.query(
      `insert into rate_limits (key, window_start, count, expires_at) values ('comes back', now() - interval '2 hours', 7, now() - interval '1 hour')`,
    );
    expect(await limiter.take('comes back', limit)).toMatchObject({ allowed: true, remaining: 0 });
    await limiter.prune();
    const left = await database.query<{ key: string }>(
      `select key from rate_limits where key like 'address %' or key in ('counts', 'is over', 'comes back') order by key`,
    );
    expect(left.map(({ key }) => key)).toEqual(['comes back', 'counts']);
    expect(await limiter.peek('counts', limit)).toMatchObject({ allowed: false });
  });
});

describe.skipIf(!redisAvailable)('the rate limiter on Redis (needs redis-server)', () => {
  let redis: TestRedis;
  const limiters: RateLimiter[] = [];
  beforeAll(async () => {
    redis = await startRedis();
    for (let index = 0; index < 2; index += 1)
      limiters.push(
        new LeasingRateLimiter(
          await createRedisCounts(redis.url, pino({ level: 'silent' }), Date.now, commandTimeoutMs),
        ),
      );
  });
  afterAll(async () => {
    await Promise.all(limiters.map((limiter) => limiter[Symbol.asyncDispose]()));
    await redis[Symbol.asyncDispose]();
  });
  suite(() => [limiters[0] as RateLimiter, limiters[1] as RateLimiter]);

  test('while Redis is unavailable, a process continues from the last count, then allows half of the limit per window', async () => {
    await using store = await startRedis();
    let now = Date.now();
    await using limiter = new LeasingRateLimiter(
      await createRedisCounts(store.url, pino({ level: 'silent' }), () => now, commandTimeoutMs),
      () => now,
    );
    const limit = { limit: 10, windowSeconds: 3_600 };
    const take = async (key: string, times: number) => {
      let allowed = 0;
      for (let count = 0; count < times; count += 1) allowed += (await limiter.take(key, limit)).allowed ? 1 : 0;
      return allowed;
    };
    expect(await take('known', 7)).toBe(7);
    await store.stop();
    expect(await take('known', 10)).toBe(3);
    expect(await take('fresh', 20)).toBe(5);
    expect(await limiter.peek('fresh', limit)).toMatchObject({ allowed: false, remaining: 0 });
    now += 3_600_000;
    expect(await take('known', 20)).toBe(5);
  });

  test('the number of local counts is limited, also with many keys', () => {
    const counts = new LocalCounts(Date.now);
    for (let key = 0; key < 50_000; key += 1) counts.add(`address ${key}`, { limit: 1, windowSeconds: 60 }, 1);
    expect(counts.size).toBeLessThanOrEqual(20_000);
    expect(counts.add('address 49999', { limit: 1, windowSeconds: 60 }, 1).count).toBe(2);
  });
});

describe('leases of a limit', () => {
  /** A store in memory with a clock that the test sets. It counts its accesses. */
  function memoryCounts(clock: { now: number }): SharedCounts & { accesses: number } {
    const counts = new Map<string, number>();
    return {
      accesses: 0,
      async add(key, { limit, windowSeconds }, amount) {
        this.accesses += 1;
        const windowMs = windowSeconds * 1000;
        const start = clock.now - (clock.now % windowMs);
        const name = `${key}:${start}`;
        const count = (counts.get(name) ?? 0) + amount;
        counts.set(name, count);
        await Promise.resolve();
        return { count, limit, resetAt: new Date(start + windowMs), leftMs: start + windowMs - clock.now };
      },
      prune: async () => undefined,
      [Symbol.asyncDispose]: async () => undefined,
    };
  }

  test('never allow more requests in a window than the limit, in any order of processes and times', async () => {
    const command = fc.record({
      process: fc.integer({ min: 0, max: 3 }),
      times: fc.integer({ min: 1, max: 40 }),
      waitMs: fc.constantFrom(0, 0, 0, 10, 400, 1_000),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 300 }),
        fc.array(command, { maxLength: 30 }),
        async (maxRequests, commands) => {
          const clock = { now: 5_000 };
          const counts = memoryCounts(clock);
          const processes = Array.from({ length: 4 }, () => new LeasingRateLimiter(counts, () => clock.now));
          const limit = { limit: maxRequests, windowSeconds: 1 };
          const allowed = new Map<number, number>();
          for (const { process, times, waitMs } of commands) {
            clock.now += waitMs;
            const states = await Promise.all(
              Array.from({ length: times }, () => (processes[process] as LeasingRateLimiter).take('k', limit)),
            );
            const window = Math.floor(clock.now / 1000);
            const allowedNow = states.filter((state) => state.allowed).length;
            allowed.set(window, (allowed.get(window) ?? 0) + allowedNow);
            expect(states.every(({ remaining }) => remaining >= 0 && remaining < maxRequests)).toBe(true);
          }
          expect([...allowed.values()].every((count) => count <= maxRequests)).toBe(true);
        },
      ),
    );
  });

  test('keep the accesses to the store few for a frequent key, and zero for a key above its limit', async () => {
    const clock = { now: 0 };
    const counts = memoryCounts(clock);
    const limiter = new LeasingRateLimiter(counts, () => clock.now);
    const limit = { limit: 600, windowSeconds: 60 };
    let allowed = 0;
    for (let index = 0; index < 2_000; index += 1) allowed += (await limiter.take('k', limit)).allowed ? 1 : 0;
    expect(allowed).toBe(600);
    expect(counts.accesses).toBeLessThanOrEqual(26);
    clock.now += 60_000;
    expect(await limiter.take('k', limit)).toMatchObject({ allowed: true, remaining: 599 });
  });

  test('have the size 1 for a small limit, so that it is counted exactly', async () => {
    const counts = memoryCounts({ now: 0 });
    const limiters = [new LeasingRateLimiter(counts, () => 0), new LeasingRateLimiter(counts, () => 0)];
    const limit = { limit: 20, windowSeconds: 60 };
    const states = [];
    for (let index = 0; index < 30; index += 1)
      states.push(await (limiters[index % 2] as LeasingRateLimiter).take('k', limit));
    expect(states.map(({ allowed }) => allowed)).toEqual(Array.from({ length: 30 }, (_none, index) => index < 20));
    expect(states.slice(0, 20).map(({ remaining }) => remaining)).toEqual(
      Array.from({ length: 20 }, (_none, index) => 19 - index),
    );
  });

  test('that the store fails to grant reject the waiting requests, and no later requests', async () => {
    const counts = memoryCounts({ now: 0 });
    const limiter = new LeasingRateLimiter(counts, () => 0);
    const { add } = counts;
    counts.add = () => Promise.reject(new Error('unavailable'));
    const limit = { limit: 600, windowSeconds: 60 };
    const failed = await Promise.allSettled([limiter.take('k', limit), limiter.take('k', limit)]);
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
    counts.add = add;
    expect(await limiter.take('k', limit)).toMatchObject({ allowed: true });
  });
});
