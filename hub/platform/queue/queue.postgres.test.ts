import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import { startPostgresServer } from '../postgres-server/server.ts';
import type { PostgresServer } from '../postgres-server/server.ts';
import { createBullMqQueue } from './bullmq-queue.ts';
import { queueConformance } from './conformance.ts';

describe('the queue on PostgreSQL', () => {
  let home: string;
  let server: PostgresServer;
  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'outrigger-queue-'));
    server = await startPostgresServer({ home, onNotice: () => undefined });
  });
  afterAll(async () => {
    await server[Symbol.asyncDispose]();
    await rm(home, { recursive: true, force: true });
  });

  queueConformance({
    backend: () => ({ kind: 'postgres', url: server.url }),
    // `startPostgresServer` restarts the killed server.
    restart: async () => {
      process.kill(Number(readFileSync(join(home, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL');
    },
  });
});

test('starting a worker fails while the database refuses connections, and does not block the event loop', async () => {
  const database = await acquireDatabase();
  const admin = new Client({ connectionString: database.url.replace(/\/[^/]+$/, '/postgres') });
  await admin.connect();
  const name = new URL(database.url).pathname.slice(1);
  const queue = await createBullMqQueue({
    backend: { kind: 'postgres', url: database.url },
    name: 'refused',
    logger: pino({ level: 'silent' }),
    closeDeadlineMs: 500,
  });
  try {
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS false`);
    await admin.query('SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = $1', [name]);
    await expect(queue.work({ concurrency: 1, handler: async () => undefined })).rejects.toThrow('out of reach');
    let ticks = 0;
    const timer = setInterval(() => (ticks += 1), 1);
    await expect.poll(() => ticks).toBeGreaterThan(20);
    clearInterval(timer);
    // After the database accepts connections again, workers can start.
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    const done = Promise.withResolvers<string>();
    const worker = await queue.work({ concurrency: 1, handler: async ({ id }) => done.resolve(id) });
    await queue.add([{ name: 'job', id: 'one', data: {} }]);
    expect(await done.promise).toBe('one');
    await worker.drain(1_000);
  } finally {
    await admin.query(`ALTER DATABASE ${name} ALLOW_CONNECTIONS true`);
    await queue[Symbol.asyncDispose]();
    await admin.end();
    await database[Symbol.asyncDispose]();
  }
});
