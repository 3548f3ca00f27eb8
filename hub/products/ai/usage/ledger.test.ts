import { randomUUID } from 'node:crypto';
import { pino } from 'pino';
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { avoidPeriodEnd, hourMs } from '../../../../test/fixtures/avoid-period-end.ts';
import { fastClock } from '../../../../test/fixtures/fast-clock.ts';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import { StatementRecorder } from '../../../../test/fixtures/statement-plans.ts';
import { Database, DatabaseOutage } from '../../../platform/db/database.ts';
import { costMicrosOf } from './cost.ts';
import { UsageLedger } from './ledger.ts';

const database = await acquireDatabase();
const db = new Database({ url: database.url, maxConnections: 4, applicationName: 'test', onError: () => undefined });
const clock = fastClock(20);
const logger = pino({ level: 'silent' });
afterAll(async () => {
  for (const part of [db, database]) await part[Symbol.asyncDispose]();
});

// The calls of an hour are one row.
beforeAll(() => avoidPeriodEnd(hourMs));
let tenantId: string;
beforeEach(async () => {
  tenantId = randomUUID();
  await database.query(`INSERT INTO tenants (id, name, entitlements) VALUES ($1, $2, '{}')`, [tenantId, tenantId]);
});

const prices = { inputMicros: 1_250_000, outputMicros: 10_000_000, currency: 'USD' };
const call = (of = tenantId, outcome = 'answered') => ({
  tenantId: of,
  modelId: 'main',
  model: 'alpha',
  connection: 'first',
  prices,
  outcome,
  ms: 300,
  usage: { inputTokens: 10, outputTokens: 5 },
  isEstimated: false,
});
const counted = () =>
  database.query(
    `SELECT calls, failed, input_tokens::int AS tokens_in, output_tokens::int AS tokens_out, cost_micros::int AS cost, outcomes FROM ai_usage WHERE tenant_id = $1`,
    [tenantId],
  );
/** Wraps the database so that a test decides the outcome of statements. */
const over = (statement: (write: () => Promise<unknown[]>, tries: number) => Promise<unknown[]>) => {
  let tries = 0;
  return {
    systemStatement: (...args: Parameters<Database['systemStatement']>) =>
      statement(() => db.systemStatement(...args), (tries += 1)),
  } as Database;
};

test('calls that end during a write are counted together in the next write, each once', async () => {
  await using ledger = new UsageLedger({ db, logger, clock });
  // A new connection proves its role by a statement of its own.
  await db.systemStatement('open_connection', 'SELECT 1', []);
  using recorder = new StatementRecorder(100);
  for (let index = 0; index < 50; index += 1) ledger.add(call(tenantId, index === 0 ? 'http_500' : 'answered'));
  await ledger.written();
  expect(recorder.statements).toHaveLength(1);
  const later = Array.from({ length: 50 }, async () => {
    ledger.add(call());
    await ledger.written();
  });
  await Promise.all(later);
  // A caller waits for a limited time. The write continues after it.
  await expect.poll(counted).toEqual([
    {
      calls: 100,
      failed: 1,
      tokens_in: 1_000,
      tokens_out: 500,
      cost: 6_300,
      outcomes: { answered: 99, http_500: 1 },
    },
  ]);
  expect(recorder.statements.length).toBeLessThan(5);
});

test('a batch with a lost commit response is counted once, and a refused batch is counted later', async () => {
  const [lost, refused] = [1, 2];
  await using ledger = new UsageLedger({
    db: over(async (write, tries) => {
      const rows = tries === refused ? [] : await write();
      if (tries === lost || tries === refused) throw new DatabaseOutage('away', null);
      return rows;
    }),
    logger,
    clock,
  });
  ledger.add(call());
  await expect.poll(counted).toMatchObject([{ calls: 1 }]);
  ledger.add(call());
  await expect.poll(counted).toMatchObject([{ calls: 2 }]);
});

test('disposing the ledger writes all pending calls first', async () => {
  const free = Promise.withResolvers<void>();
  const ledger = new UsageLedger({ db: over(async (write) => free.promise.then(write)), logger, clock });
  ledger.add(call());
  ledger.add(call(randomUUID()));
  const ended = ledger[Symbol.asyncDispose]();
  free.resolve();
  await ended;
  // A removed workspace does not prevent the others from being counted.
  expect(await counted()).toMatchObject([{ calls: 1 }]);
});

test('costMicrosOf returns whole millionths, rounded half up, also for large counts', () => {
  const cost = (inputTokens: number, outputTokens: number, inputMicros: number, outputMicros: number) =>
    costMicrosOf({ inputTokens, outputTokens }, { inputMicros, outputMicros, currency: 'USD' });
  expect(cost(1, 0, 499_999, 0)).toBe(0n);
  expect(cost(1, 0, 500_000, 0)).toBe(1n);
  expect(cost(3, 7, 150_000, 600_000)).toBe(5n);
  expect(cost(100_000_000, 100_000_000, 100_000_000_000, 99_999_999_999)).toBe(19_999_999_999_900n);
});
