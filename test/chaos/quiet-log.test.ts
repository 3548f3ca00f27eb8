import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import type { Server, Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createApp } from '../../hub/app.ts';
import { parseConfig } from '../../hub/config.ts';
import { LogThrottle } from '../../hub/platform/observability/log-throttle.ts';
import { createLogger } from '../../hub/platform/observability/logger.ts';
import { acquireDatabase } from '../fixtures/postgres.ts';
import { redisAvailable, startRedis } from '../fixtures/redis.ts';
import { until } from '../fixtures/until.ts';

const secret = 'S3CRET-of-a-stranger';
/** The clock of the log is 60 times as fast as real time. */
const clock = () => performance.now() * 60;

/** A relay to a server that a test can cut. */
class Gate {
  readonly #target: { host: string; port: number };
  readonly #sockets = new Set<Socket>();
  #server: Server | undefined;
  port = 0;

  constructor(target: URL) {
    this.#target = { host: target.hostname, port: Number(target.port) };
  }

  async open(): Promise<void> {
    const server = createServer((socket) => {
      const onward = connect(this.#target);
      for (const [from, to] of [
        [socket, onward],
        [onward, socket],
      ] as const) {
        this.#sockets.add(from);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          this.#sockets.delete(from);
          to.destroy();
        });
        from.pipe(to);
      }
    });
    await new Promise<void>((done) => server.listen(this.port, '127.0.0.1', done));
    this.port = (server.address() as AddressInfo).port;
    this.#server = server;
  }

  async cut(): Promise<void> {
    const closed = new Promise((done) => this.#server?.close(done));
    for (const socket of this.#sockets) socket.destroy();
    await closed;
  }
}

interface Line {
  level: number;
  msg: string;
  part?: string;
  times?: number;
}

async function start(env: Record<string, string>) {
  const lines: string[] = [];
  const home = mkdtempSync(join(tmpdir(), 'outrigger-quiet-'));
  onTestFinished(() => rmSync(home, { recursive: true, force: true }));
  const config = parseConfig(
    {
      env: {
        PORT: '0',
        OUTRIGGER_HOME: home,
        SECRET_KEY: 'ab'.repeat(32),
        NODE_ENV: 'test',
        DATABASE_POOL_SIZE: '6',
        ...env,
      },
      readFile: () => '',
    },
    { role: 'all', isTerminal: false },
  );
  const logger = createLogger(
    { level: 'info', format: 'json', color: false },
    { write: (line: string) => void lines.push(line) },
    new LogThrottle({ now: clock }),
  );
  const app = await createApp(config, { logger, onNotice: () => undefined });
  const ask = (path: string) =>
    fetch(`${app.url}${path}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-service-automation-token': secret, 'x-api-key': secret },
      body: JSON.stringify({ event: 'a.b', payload: { text: secret } }),
      signal: AbortSignal.timeout(60_000),
    });
  return {
    app,
    lines,
    ask,
    troubles: () =>
      lines
        .map((line) => JSON.parse(line) as Line)
        .filter(({ level, part }) => level >= 40 || part !== undefined)
        // Ignores the warning about the superuser, whom the tests log in as.
        .filter(({ msg }) => !msg.startsWith('The login ')),
  };
}

async function expectOneOutage(
  gate: Gate,
  part: string,
  { lines, troubles, ask }: Awaited<ReturnType<typeof start>>,
): Promise<void> {
  expect(troubles()).toEqual([]);
  const from = clock();
  await gate.cut();
  await until(
    async () => {
      await ask('/v1/automations/hooks/inbound').catch(() => undefined);
      return troubles().length >= 5 && troubles().some(({ times = 0 }) => times > 1);
    },
    () => lines.join(''),
  );
  const during = troubles();
  const minutes = (clock() - from) / 60_000;
  expect(
    during.map((line) => line.part),
    lines.join(''),
  ).toEqual(during.map(() => part));
  // The first line, and one per minute of the log's clock.
  expect(during.length).toBeLessThanOrEqual(2 + minutes);
  await gate.open();
  await until(
    () => troubles().some(({ msg }) => msg === `${part} is available again`),
    () => lines.join(''),
  );
  expect(lines.join('')).not.toContain(secret);
}

describe('the log of a running hub', () => {
  test('reports a database outage at its start, once a minute and at its end, and contains nothing from requests', async () => {
    await using database = await acquireDatabase();
    const url = new URL(database.url);
    const gate = new Gate(url);
    await gate.open();
    url.port = String(gate.port);
    const hub = await start({ DATABASE_URL: url.href });
    try {
      await expectOneOutage(gate, 'database', hub);
    } finally {
      await hub.app[Symbol.asyncDispose]();
      await gate.cut();
    }
  });

  test.skipIf(!redisAvailable)('reports a Redis outage in the same way (needs redis-server)', async () => {
    await using database = await acquireDatabase();
    await using redis = await startRedis();
    const gate = new Gate(new URL(redis.url));
    await gate.open();
    const hub = await start({ DATABASE_URL: database.url, REDIS_URL: `redis://127.0.0.1:${gate.port}` });
    try {
      await expectOneOutage(gate, 'redis', hub);
    } finally {
      await hub.app[Symbol.asyncDispose]();
      await gate.cut();
    }
  });
});
