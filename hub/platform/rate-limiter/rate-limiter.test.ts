import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { redisAvailable, startRedis } from '../../../test/fixtures/redis.ts';
import type { TestRedis } from '../../../test/fixtures/redis.ts';
import { Database } from '../db/database.ts';
import { LocalCounts } from './local-counts.ts';
import { createPostgresRateLimiter } from './postgres-rate-limiter.ts';
import type { RateLimiter } from './rate-limiter.ts';
import { createRedisRateLimiter } from './redis-rate-limiter.ts';

function suite(pair: () => [RateLimiter, RateLimiter]): void {
  // A window of an hour does not end under the test, but for once in thousands of runs.
  const limit = { limit: 60, windowSeconds: 3_600 };

  test('of two hundred at once from two processes exactly the limit is let through', async () => {
    const limiters = pair();
    const key = `k-${Math.random()}`;
    const states = await Promise.all(
      Array.from({ length: 200 }, (_value, index) => limiters[index % 2 === 0 ? 0 : 1].take(key, limit)),
    );
    expect(states.filter(({ allowed }) => allowed)).toHaveLength(60);
    expect(states.every(({ resetAt }) => resetAt.getTime() > Date.now())).toBe(true);
    expect(await limiters[0].peek(key, limit)).toMatchObject({ allowed: false, remaining: 0 });
    expect(await limiters[1].peek(`other-${key}`, limit)).toMatchObject({ allowed: true, remaining: 60 });
  });

  test('a new window begins anew', async () => {
    const [limiter] = pair();
    const key = `w-${Math.random()}`;
    const short = { limit: 1, windowSeconds: 1 };
    await limiter.take(key, short);
    await expect.poll(async () => (await limiter.peek(key, short)).allowed, { timeout: 5_000 }).toBe(true);
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
  suite(() => [createPostgresRateLimiter(pools[0] as Database), createPostgresRateLimiter(pools[1] as Database)]);

  test('every window that is over is forgotten by the next sweep, however many there are, and none that counts', async () => {
    const limiter = createPostgresRateLimiter(pools[0] as Database);
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
      limiters.push(await createRedisRateLimiter(redis.url, pino({ level: 'silent' })));
  });
  afterAll(async () => {
    await Promise.all(limiters.map((limiter) => limiter[Symbol.asyncDispose]()));
    await redis[Symbol.asyncDispose]();
  });
  suite(() => [limiters[0] as RateLimiter, limiters[1] as RateLimiter]);

  test('while Redis is away each process goes on from what it heard last, then lets half through, and never more than the limit', async () => {
    await using store = await startRedis();
    let now = Date.now();
    await using limiter = await createRedisRateLimiter(store.url, pino({ level: 'silent' }), () => now);
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

  test('counts of a process have a bound, whoever sends under however many names', () => {
    const counts = new LocalCounts(Date.now);
    for (let key = 0; key < 50_000; key += 1) counts.count(`address ${key}`, { limit: 1, windowSeconds: 60 }, 1);
    expect(counts.size).toBeLessThanOrEqual(20_000);
    expect(counts.count('address 49999', { limit: 1, windowSeconds: 60 }, 1).allowed).toBe(false);
  });
});
