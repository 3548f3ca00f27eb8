import { Redis } from 'ioredis';
import { AppError } from '../../../shared/errors.ts';
import type { Logger } from '../logger.ts';
import { stateOf } from './rate-limiter.ts';
import type { RateLimit, RateLimiter } from './rate-limiter.ts';

/** Counts by Redis's own clock, in one step; ARGV: window in seconds, what to add. Answers the count and the window's start. */
const script = `
local now = tonumber(redis.call('TIME')[1])
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
return { count, start }`;

/** Counts in Redis, shared by all hub processes. */
export function createRedisRateLimiter(url: string, logger: Logger): RateLimiter {
  const redis = new Redis(url, { maxRetriesPerRequest: 1 });
  redis.on('error', (error: Error) => logger.warn({ err: error }, 'the Redis connection of the rate limiter had an error'));
  const run = async (key: string, limit: RateLimit, add: 0 | 1) => {
    try {
      const [count, start] = (await redis.eval(script, 1, `outrigger:rate:${key}`, limit.windowSeconds, add)) as [number, number];
      return stateOf(count, limit, new Date((start + limit.windowSeconds) * 1000), add === 0);
    } catch (error) {
      throw new AppError('unavailable', 'Redis is out of reach; try again shortly.', { cause: error, retryAfterSeconds: 1 });
    }
  };
  return {
    take: (key, limit) => run(key, limit, 1),
    peek: (key, limit) => run(key, limit, 0),
    prune: async () => undefined,
    [Symbol.asyncDispose]: async () => redis.disconnect(),
  };
}
