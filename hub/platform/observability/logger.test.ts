import { Redis } from 'ioredis';
import { createTransport } from 'nodemailer';
import { fetch as undiciFetch, Headers } from 'undici';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { redisAvailable, startRedis } from '../../../test/fixtures/redis.ts';
import { Database } from '../db/database.ts';
import { eq, sql } from '../db/orm.ts';
import { hubSettings } from '../db/schema.ts';
import { describeError, explainError } from './describe-error.ts';
import { logRecovery, LogThrottle, RecoveryWatch } from './log-throttle.ts';
import { createLogger } from './logger.ts';

const secret = 'S3CRET-of-a-stranger';
const nowhere = 'postgres://nobody@127.0.0.1:1/none';

/** Creates a logger that captures its lines, by default at the most verbose level. */
function captured(options: { now?: () => number; level?: string } = {}) {
  const lines: string[] = [];
  const logger = createLogger(
    { level: options.level ?? 'trace', format: 'json', color: false },
    { write: (line: string) => void lines.push(line) },
    new LogThrottle(options),
  );
  return { logger, lines, parsed: () => lines.map((line) => JSON.parse(line) as Record<string, unknown>) };
}

async function failure(work: () => unknown): Promise<unknown> {
  try {
    await work();
  } catch (error) {
    return error;
  }
  throw new Error('the work was expected to fail');
}

/** Logs an error in all forms, bare and as a cause, and returns all that the log and standard error would contain. */
function logOutput(error: unknown): string {
  const { logger, lines } = captured();
  const wrapped = new Error('outer', {
    cause: new AppError('skill_failed', `remote said ${secret}`, { cause: error }),
  });
  for (const one of [error, wrapped, new AggregateError([error], secret)]) {
    logger.error({ err: one }, 'failed');
    if (one instanceof Error) logger.warn(one, 'failed');
    lines.push(explainError(one));
  }
  return lines.join('\n');
}

describe('an error in the log', () => {
  let database: TestDatabase;
  let db: Database;
  beforeAll(async () => {
    database = await acquireDatabase();
    db = new Database({ url: database.url, maxConnections: 3, applicationName: 'test', onError: () => undefined });
  });
  afterAll(async () => {
    await db[Symbol.asyncDispose]();
    await database[Symbol.asyncDispose]();
  });

  test('has its class, code and stack, and no other fields that libraries add', () => {
    const cause = Object.assign(new Error(`gone ${secret}`), {
      code: '57P01',
      table: 'runs',
      client: { password: secret },
      parameters: [secret],
      detail: secret,
    });
    const described = describeError(
      new AppError('unavailable', 'The database is out of reach.', { cause, internal: { part: 'database' } }),
    );
    expect(described).toMatchObject({
      type: 'AppError',
      message: 'The database is out of reach.',
      code: 'unavailable',
      internal: { part: 'database' },
      cause: {
        type: 'Error',
        code: '57P01',
        table: 'runs',
        stack: expect.stringContaining('logger.test.ts') as string,
      },
    });
    expect(JSON.stringify(described)).not.toContain(secret);
    const loop = new Error('loop');
    loop.cause = loop;
    expect(JSON.stringify(describeError(loop)).length).toBeLessThan(100_000);
    expect(describeError(`thrown ${secret}`)).toEqual({ type: 'string' });
  });

  test('never contains SQL parameters or what PostgreSQL quotes of them', async () => {
    const inserts = () => db.system((tx) => tx.insert(hubSettings).values({ key: secret, value: secret }));
    await inserts();
    const failures: [string, () => unknown][] = [
      ['23505', inserts],
      ['22P02', () => db.system((tx) => tx.execute(sql`select ${secret}::uuid`))],
      ['22P02', () => db.system((tx) => tx.query('bad', 'select $1::int', [secret]))],
      ['22P02', () => db.systemStatement('worse', 'select $1::int', [secret])],
      ['42P01', () => db.system((tx) => tx.execute(sql.raw(`select '${secret}' from none_such`)))],
      [
        '42703',
        () =>
          db.system((tx) =>
            tx
              .select({ x: sql.raw(`"${secret}"`) })
              .from(hubSettings)
              .where(eq(hubSettings.key, secret)),
          ),
      ],
    ];
    for (const [code, work] of failures) {
      const text = logOutput(await failure(work));
      expect(text).toContain(code);
      expect(text).not.toContain(secret);
    }
  });

  test('never contains URLs, headers, passwords or messages of libraries', async () => {
    const unreachableDb = new Database({
      url: `postgres://user:${secret}@127.0.0.1:1/${secret}`,
      maxConnections: 2,
      applicationName: 'test',
      onError: () => undefined,
    });
    const mail = createTransport(`smtp://user:${secret}@127.0.0.1:1`);
    const failures: (() => unknown)[] = [
      () => unreachableDb.systemStatement('x', 'select 1', [secret]),
      () =>
        mail.sendMail({ from: `${secret}@example.org`, to: `${secret}@example.org`, subject: secret, text: secret }),
      () => undiciFetch(`http://127.0.0.1:1/?key=${secret}`, { headers: { authorization: `Bearer ${secret}` } }),
      () => undiciFetch(`http://user:${secret}@127.0.0.1:1/`),
      () => new Headers({ authorization: `Bearer ${secret}\n${secret}` }),
      () => new URL(`:${secret}`),
      () => JSON.parse(`{"a":${secret}`) as unknown,
      () => z.strictObject({ a: z.enum(['x']) }).parse({ a: secret, [secret]: 1 }),
      () => decodeURIComponent(`%${secret}`),
      () =>
        Promise.reject(
          Object.assign(new Error(`first\n    at ${secret} (file.ts:1:1)`), {
            code: secret,
            table: `${secret} x`,
            response: secret,
            command: secret,
          }),
        ),
      // oxlint-disable-next-line no-throw-literal -- some libraries throw strings
      () => Promise.reject(secret as unknown as Error),
    ];
    for (const work of failures) expect(logOutput(await failure(work))).not.toContain(secret);
    await unreachableDb[Symbol.asyncDispose]();
  });

  test.skipIf(!redisAvailable)('never contains arguments of Redis commands (needs redis-server)', async () => {
    await using redis = await startRedis();
    const client = new Redis(redis.url);
    for (const work of [
      () => client.call('NONESUCH', secret),
      () => client.eval(`return redis.error_reply('ERR ' .. ARGV[1])`, 0, secret),
      () => client.call('HSET', secret, secret),
    ])
      expect(logOutput(await failure(work))).not.toContain(secret);
    client.disconnect();
  });
});

describe('repeated log lines', () => {
  test('an outage of the database is logged when it begins, once a minute with a count, and when it ends', async () => {
    await using db = new Database({
      url: nowhere,
      maxConnections: 2,
      applicationName: 'test',
      onError: () => undefined,
    });
    let now = 0;
    const { logger, parsed } = captured({ now: () => now, level: 'info' });
    const error = await failure(() => db.systemStatement('x', 'select 1', []));
    // Eighty minutes in which three periodic tasks, requests and the event connection fail every second.
    for (let second = 0; second < 80 * 60; second += 1, now += 1_000) {
      for (const task of ['runs', 'unknown holders', 'schedules'])
        logger.warn({ err: error, part: `sweep of ${task}` }, 'a periodic task failed and will run again');
      logger.error({ err: error, requestId: String(second) }, 'a request failed');
      logger.warn({ part: 'database', err: new Error('gone') }, 'the connection for events was lost; connecting again');
    }
    expect(parsed()).toHaveLength(80);
    expect(parsed()[1]).toMatchObject({
      part: 'database',
      times: 301,
      forSeconds: 60,
      withheld: 299,
      msg: expect.stringMatching(/^still: /) as string,
    });
    logRecovery(logger, 'database');
    logRecovery(logger, 'database');
    expect(parsed()).toHaveLength(81);
    expect(parsed()[80]).toMatchObject({
      level: 30,
      part: 'database',
      times: 24_000,
      forSeconds: 4_800,
      msg: 'database is available again',
    });
  });

  test('a part that fails and recovers every second is logged at most twice a minute', () => {
    let now = 0;
    const { logger, parsed } = captured({ now: () => now });
    for (let second = 0; second < 600; second += 1, now += 1_000) {
      logger.warn({ part: 'mail' }, 'mail failed');
      logRecovery(logger, 'mail');
    }
    expect(parsed().length).toBeLessThanOrEqual(21);
    expect(
      parsed()
        .slice(0, 2)
        .map(({ msg }) => msg),
    ).toEqual(['mail failed', 'mail is available again']);
  });

  test('other warnings are limited to ten lines a minute per kind and then counted, without effect on other kinds and lower levels', () => {
    let now = 0;
    const { logger, parsed } = captured({ now: () => now });
    const fails = () => logger.error({ err: new TypeError('x') }, 'a job failed');
    for (let count = 0; count < 500; count += 1) {
      fails();
      logger.info({ count }, 'went on');
    }
    logger.error({ err: new RangeError('y') }, 'a job failed');
    expect(parsed().filter(({ level }) => level === 50)).toHaveLength(11);
    expect(parsed().filter(({ level }) => level === 30)).toHaveLength(500);
    now += 60_000;
    fails();
    expect(parsed().at(-1)).toMatchObject({ msg: 'a job failed', withheld: 490 });
  });

  test('only a failed part is checked for recovery', async () => {
    const { logger, parsed } = captured();
    let checks = 0;
    let works = false;
    using _watch = new RecoveryWatch(
      logger,
      { database: () => ((checks += 1), works ? Promise.resolve() : Promise.reject(new Error('away'))) },
      5,
    );
    await new Promise((done) => setImmediate(done));
    expect(checks).toBe(0);
    logger.warn({ part: 'database' }, 'it failed');
    await expect.poll(() => checks).toBeGreaterThan(2);
    expect(parsed()).toHaveLength(1);
    works = true;
    await expect.poll(() => parsed().map(({ msg }) => msg)).toEqual(['it failed', 'database is available again']);
  });
});
