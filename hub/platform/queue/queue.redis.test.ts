import { afterAll, beforeAll, describe } from 'vitest';
import { redisAvailable, startRedis } from '../../../test/fixtures/redis.ts';
import type { TestRedis } from '../../../test/fixtures/redis.ts';
import { queueConformance } from './conformance.ts';

describe.skipIf(!redisAvailable)('the queue on Redis (needs redis-server)', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis[Symbol.asyncDispose]());

  queueConformance({ backend: () => ({ kind: 'redis', url: redis.url }), restart: () => redis.restart() });
});
