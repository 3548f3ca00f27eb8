import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { redisAvailable, startRedis } from '../../../test/fixtures/redis.ts';
import type { TestRedis } from '../../../test/fixtures/redis.ts';
import { createBullMqQueue } from './bullmq-queue.ts';
import { queueConformance } from './conformance.ts';

describe.skipIf(!redisAvailable)('the queue on Redis (needs redis-server)', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis[Symbol.asyncDispose]());

  queueConformance({ backend: () => ({ kind: 'redis', url: redis.url }), restart: () => redis.restart() });

  test('a queue whose store does not respond is closed within its deadline', async () => {
    await using silent = await startRedis();
    const queue = await createBullMqQueue({
      backend: { kind: 'redis', url: silent.url },
      name: 'silent',
      logger: pino({ level: 'silent' }),
      closeDeadlineMs: 100,
    });
    silent.pause();
    await expect(queue[Symbol.asyncDispose]()).resolves.toBeUndefined();
    silent.resume();
  });

  test('a worker without a job drains immediately while its connection is reconnecting', async () => {
    await using killed = await startRedis();
    await using queue = await createBullMqQueue({
      backend: { kind: 'redis', url: killed.url },
      name: 'killed',
      logger: pino({ level: 'silent' }),
    });
    const worker = await queue.work({ concurrency: 1, handler: async () => undefined });
    await killed.restart();
    await expect(worker.drain(600_000)).resolves.toBeUndefined();
  });
});
