import { once } from 'node:events';
import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { Redis } from 'ioredis';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { redisAvailable, startRedis } from '../../../test/fixtures/redis.ts';
import type { TestRedis } from '../../../test/fixtures/redis.ts';
import { testSecrets } from '../../../test/fixtures/secrets.ts';
import { startTcpRelay } from '../../../test/fixtures/tcp-relay.ts';
import { eventsConformance } from './conformance.ts';
import { PostgresEvents } from './postgres-events.ts';
import { RedisEvents } from './redis-events.ts';

describe('events over PostgreSQL', () => {
  let database: TestDatabase;
  const listeners = () =>
    database.query<{ pid: number }>(
      "select pid from pg_stat_activity where application_name = 'outrigger-events' and datname = current_database()",
    );
  beforeAll(async () => {
    database = await acquireDatabase();
  });
  afterAll(() => database[Symbol.asyncDispose]());
  eventsConformance({
    connect: (logger, options) => PostgresEvents.connect(database.url, testSecrets, logger, options),
    restart: async () => {
      for (const { pid } of await listeners()) await database.query('select pg_terminate_backend($1)', [pid]);
    },
    send: async (text) => {
      await database.query("select pg_notify('outrigger_events', $1)", [text]);
    },
    captureChannel: async () => {
      const client = new Client({ connectionString: database.url });
      await client.connect();
      onTestFinished(() => client.end());
      const messages: string[] = [];
      client.on('notification', ({ payload }) => messages.push(payload ?? ''));
      await client.query('LISTEN outrigger_events');
      return messages;
    },
    suspend: async () => {
      const pids = (await listeners()).map(({ pid }) => pid);
      for (const pid of pids) process.kill(pid, 'SIGSTOP');
      return () => {
        for (const pid of pids) process.kill(pid, 'SIGCONT');
      };
    },
    maxMessageLength: 7_999,
  });
});

describe.skipIf(!redisAvailable)('events over Redis (needs redis-server)', () => {
  let redis: TestRedis;
  beforeAll(async () => {
    redis = await startRedis();
  });
  afterAll(() => redis[Symbol.asyncDispose]());
  eventsConformance({
    connect: (logger, options) => RedisEvents.connect(redis.url, testSecrets, logger, options),
    restart: () => redis.restart(),
    send: async (text) => {
      const client = new Redis(redis.url);
      await client.publish('outrigger:events', text);
      client.disconnect();
    },
    captureChannel: async () => {
      const client = new Redis(redis.url);
      onTestFinished(() => client.disconnect());
      const messages: string[] = [];
      client.on('message', (_channel, text) => messages.push(text));
      await client.subscribe('outrigger:events');
      return messages;
    },
    suspend: async () => {
      redis.pause();
      return () => redis.resume();
    },
    maxMessageLength: 20_000_000,
  });

  test('lost events of one process call the reconnect listeners of processes whose connection was never lost', async () => {
    await using relay = await startTcpRelay(redis.url);
    const silent = pino({ level: 'silent' });
    await using steady = await RedisEvents.connect(redis.url, testSecrets, silent);
    await using cut = await RedisEvents.connect(relay.url, testSecrets, silent);
    let reconnects = 0;
    const received: unknown[] = [];
    using _again = steady.onReconnect(() => (reconnects += 1));
    using _topic = steady.subscribe('topic', (payload) => received.push(payload));
    relay.cut();
    await expect.poll(() => cut.isInterrupted).toBe(true);
    cut.publish('topic', { n: 1 });
    expect(steady.isInterrupted).toBe(false);
    expect([reconnects, received]).toEqual([0, []]);
    relay.restore();
    await expect.poll(() => reconnects).toBe(1);
    cut.publish('topic', { n: 2 });
    await expect.poll(() => received).toEqual([{ n: 2 }]);
    expect(reconnects).toBe(1);
  });

  test('disposing during a reconnect leaves no unhandled rejection', async () => {
    const open = new Set<Socket>();
    let swallowed = 0;
    let isBack = false;
    const proxy = createServer((socket) => {
      const upstream = connect(Number(new URL(redis.url).port), '127.0.0.1');
      open.add(socket);
      socket.on('data', (data) => {
        if (isBack && data.includes('subscribe')) swallowed += 1;
        else upstream.write(data);
      });
      upstream.on('data', (data) => socket.write(data));
      for (const each of [socket, upstream]) each.on('error', () => undefined);
      socket.on('close', () => open.delete(socket) && upstream.destroy());
    });
    await once(proxy.listen(0, '127.0.0.1'), 'listening');
    onTestFinished(() => void proxy.close());
    const uncaught: unknown[] = [];
    const onUncaught = (error: unknown) => uncaught.push(error);
    process.on('unhandledRejection', onUncaught);
    onTestFinished(() => void process.off('unhandledRejection', onUncaught));
    const url = `redis://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
    const events = await RedisEvents.connect(url, testSecrets, pino({ level: 'silent' }));
    isBack = true;
    for (const socket of open) socket.destroy();
    await expect.poll(() => swallowed).toBeGreaterThan(0);
    await events[Symbol.asyncDispose]();
    await expect.poll(() => open.size).toBe(0);
    expect(uncaught).toEqual([]);
  });
});
