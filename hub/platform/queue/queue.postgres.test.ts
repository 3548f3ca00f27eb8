import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe } from 'vitest';
import { startPostgresServer } from '../postgres-server/server.ts';
import type { PostgresServer } from '../postgres-server/server.ts';
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
    // Its owner starts it again by itself.
    restart: async () => {
      process.kill(Number(readFileSync(join(home, 'postgres/data/postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL');
    },
  });
});
