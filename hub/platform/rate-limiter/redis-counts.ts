import { Redis } from 'ioredis';
import { connectRedis } from '../connect-redis.ts';
import type { Logger } from '../observability/logger.ts';
import { LocalCounts } from './local-counts.ts';
import type { RateLimit } from './rate-limiter.ts';
import type { SharedCount, SharedCounts } from './shared-counts.ts';

/**
 * Counts atomically, by the clock of Redis. ARGV: the window in seconds, the amount to add. Returns the count, the
 * start of the window and its remaining time in milliseconds.
 */
const script = `
local time = redis.call('TIME')
local now = tonumber(time[1])
local window = tonumber(ARGV[1])
local start = now - now % window
local key = KEYS[1] .. ':' .. start
local count
if tonumber(ARGV[2]) > 0 then
  count = redis.call('INCRBY', key, ARGV[2])
  redis.call('EXPIRE', key, window + 5)
else
  count = tonumber(redis.call('GET', key) or '0')
end
return { count, start, (start + window - now) * 1000 - math.ceil(tonumber(time[2]) / 1000) }`;

/** After an error, local counts are used for this time before Redis is tried again. */
const retryDelayMs = 1_000;

/**
 * Counts in Redis, shared by all hub processes. While Redis is unavailable, each process continues from the last shared
 * counts. In windows that start meanwhile, each process allows half of the limit. No process allows more than the
 * limit.
 * @param commandTimeout the time limit for a command of Redis, in milliseconds.
 * @throws when Redis is unavailable at the start.
 */
export async function createRedisCounts(
  url: string,
  logger: Logger,
  now: () => number = Date.now,
  commandTimeout = 1_000,
): Promise<SharedCounts> {
  const redis = new Redis(url, {
    maxRetriesPerRequest: 0,
    enableOfflineQueue: false,
    commandTimeout,
    lazyConnect: true,
  });
  const onUnavailable = (error: unknown) =>
    logger.warn({ err: error, part: 'redis' }, 'Redis is unavailable; each process counts rate limits separately');
  await connectRedis(redis, onUnavailable);
  const local = new LocalCounts(now);
  let retryAt = 0;
  const add = async (key: string, limit: RateLimit, amount: number): Promise<SharedCount> => {
    if (redis.status === 'ready' && performance.now() >= retryAt) {
      try {
        const [count, start, leftMs] = (await redis.eval(
          script,
          1,
          `outrigger:rate:${key}`,
          limit.windowSeconds,
          amount,
        )) as [number, number, number];
        local.setShared(key, count, start);
        return { count, limit: limit.limit, resetAt: new Date((start + limit.windowSeconds) * 1000), leftMs };
      } catch (error) {
        retryAt = performance.now() + retryDelayMs;
        onUnavailable(error);
      }
    }
    return local.add(key, limit, amount);
  };
  return {
    add,
    prune: async () => local.prune(),
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  };
}
