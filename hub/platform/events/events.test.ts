import { pino } from 'pino';
import { afterAll, beforeAll, describe } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { redisAvailable, startRedis } from '../../../test/fixtures/redis.ts';
import type { TestRedis } from '../../../test/fixtures/redis.ts';
import { eventsConformance } from './conformance.ts';
import { PostgresEvents } from './postgres-events.ts';
import { RedisEvents } from './redis-events.ts';

const logger = pino({ level: 'silent' });

describe('events over PostgreSQL', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await acquireDatabase();
  });
  afterAll(() => database[Symbol.asyncDispose]());
  eventsConformance(
    () => PostgresEvents.connect(database.url, logger),
    async () => {
      await database.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'outrigger-events' and datname = current_database()");
    },
  );
});

describe.skipIf(!redisAvailable)('events over Redis (needs redis-server)', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis[Symbol.asyncDispose]());
  eventsConformance(
    () => RedisEvents.connect(redis.url, logger),
    () => redis.restart(),
  );
});
