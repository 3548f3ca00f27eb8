import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { pino } from 'pino';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { acquireDatabase } from '../../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../../test/fixtures/postgres.ts';
import { explainAll, planRulesOf, StatementRecorder } from '../../../../test/fixtures/statement-plans.ts';
import { lockForRetry } from '../../../engine/index.ts';
import { engineRetention } from '../../../engine/queue/upkeep.ts';
import { createFileBlobs } from '../../../platform/blobs/blobs.ts';
import { Database } from '../../../platform/db/database.ts';
import { MonthlyPartitions, monthStart } from '../../../platform/db/monthly-partitions.ts';
import { removeAged } from '../../../platform/db/row-retention.ts';
import { idBefore, newId } from '../../../platform/ids.ts';
import { MonthRetention } from './month-retention.ts';
import { asReplay, asRetry, rerunRuns } from './rerun.ts';
import { RunRetention } from './retention.ts';

const logger = pino({ level: 'silent' });
const dayMs = 86_400_000;
const [plain, own] = [newId(), newId()];
const workflowId = newId();
const tables = engineRetention.monthly ?? [];

let database: TestDatabase;
let db: Database;
let months: MonthlyPartitions;
let folder: string;
/** Months with their own partitions, all of them older than 60 days. */
let old: Date[];
beforeEach(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 6, applicationName: 'test', onError: () => undefined });
  months = new MonthlyPartitions({ url: database.url, logger });
  folder = await mkdtemp(join(tmpdir(), 'outrigger-months-'));
  await database.query('drop table run_steps_first');
  // January and February have 59 days, so that the month before them ends less than 60 days before March.
  old = [-6, -5, -4].map((further) => monthStart(new Date(), further));
  await months.make(tables, undefined, old[0]);
  for (const [name, id] of Object.entries({ plain, own }))
    await database.query(`insert into tenants (id, name, entitlements) values ($1, $2, '{}')`, [id, name]);
  await database.query(
    `insert into automation_policies (tenant_id, standing_orders, approvals_required_for, retention) values ($1, '', '{}', '{"maxAgeDays": 1000}')`,
    [own],
  );
  await database.query(
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps) values ($1, $2, 'w', true, 1, '{}', '[]')`,
    [workflowId, plain],
  );
  await database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', '[{},{}]')`,
    [workflowId, plain],
  );
});
afterEach(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

interface Made {
  tenantId?: string;
  /** When the run ended: immediately when omitted, never when null. */
  endedAt?: Date | null;
  parentId?: string;
}

/** A run of the 9th of a month that failed at its second step. */
async function makeRun(month: Date | undefined, { tenantId = plain, endedAt, parentId }: Made = {}): Promise<string> {
  const at = new Date((month as Date).getTime() + 8 * dayMs);
  const id = `${idBefore(at).slice(0, 24)}${newId().slice(24)}`;
  const end = endedAt === undefined ? at : endedAt;
  await database.query('insert into flows (id, tenant_id, workflow_id, revision) values ($1, $2, $3, 1)', [
    id,
    tenantId,
    workflowId,
  ]);
  await database.query(
    `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, next_step, queued_at, started_at, finished_at, parent_run_id)
     values ($1, $2, $3, 1, $1, $4, '{"type":"manual"}', 'live', 1, 1, $5, $5, $6, $7)`,
    [id, tenantId, workflowId, end === null ? 'running' : 'failed', at, end, parentId ?? null],
  );
  await database.query(
    `insert into run_steps (run_id, index, tenant_id, status, attempts) values ($1, 0, $2, 'succeeded', 1)`,
    [id, tenantId],
  );
  return id;
}

const prune = async (days: number) =>
  new RunRetention({ db, months, blobs: await createFileBlobs(folder), logger, days }).prune();
const runIds = async () =>
  (await database.query<{ id: string }>('select id from runs order by id')).map(({ id }) => id);
const stepsOf = async (runId: string) =>
  (await database.query('select 1 from run_steps where run_id = $1', [runId])).length;
const parts = async () => (await months.partsBefore('run_steps', 'ffffffff')).map(({ from }) => from);

test('the step partition of a month without kept runs is dropped, then its runs are removed; other months stay', async () => {
  await makeRun(old[0]);
  await makeRun(old[1]);
  const kept = await makeRun(monthStart(new Date(), 0), { endedAt: new Date() });
  const before = await parts();
  expect(await prune(0)).toBe(0);
  expect(await parts()).toEqual(before);
  expect(await prune(60)).toBe(2);
  expect([await parts(), await runIds(), await stepsOf(kept)]).toEqual([[], [kept], 1]);
});

test.each<[string, (month: Date | undefined) => Promise<unknown>]>([
  ['is open', (month) => makeRun(month, { endedAt: null })],
  ['is kept by the policy of its workspace', (month) => makeRun(month, { tenantId: own })],
  [
    'is waited for by an open one',
    async (month) => makeRun(month, { parentId: await makeRun(monthStart(new Date()), { endedAt: null }) }),
  ],
])(
  'a month in which a run %s keeps its partition, and its other runs are removed one by one',
  async (_what, makeKept) => {
    const gone = await makeRun(old[0]);
    await makeKept(old[0]);
    await makeRun(old[1]);
    const kept = (await runIds()).filter((id) => id !== gone);
    expect(await prune(60)).toBe(2);
    const left = await runIds();
    expect(left).toEqual(kept.filter((id) => left.includes(id)));
    expect([await parts(), await stepsOf(gone)]).toEqual([[idBefore(old[0] as Date)], 0]);
    for (const id of left) expect(await stepsOf(id)).toBe(1);
  },
);

test('a month waits a week for runs that ended after it, then its runs are removed one by one', async () => {
  const until = old.at(-1) as Date;
  const days = Math.floor((Date.now() - until.getTime()) / dayMs) - 2;
  const [early, late] = [
    await makeRun(old[1]),
    await makeRun(old[1], { endedAt: new Date(until.getTime() + 12 * dayMs) }),
  ];
  expect(await prune(days)).toBe(0);
  expect([await stepsOf(early), await stepsOf(late)]).toEqual([1, 1]);
  expect(await prune(days - 8)).toBe(1);
  expect([await runIds(), await stepsOf(late)]).toEqual([[late], 1]);
});

test('a month too large for one scan is scanned in parts, each continuing where the previous one ended', async () => {
  for (let runs = 0; runs < 4; runs += 1) await makeRun(old[1]);
  const retention = new MonthRetention({ db, months, logger, days: 60, scan: { runs: 2, ms: 0 } });
  for (let looks = 0; looks < 3; looks += 1) {
    expect(await retention.settle()).toEqual(old[1]);
    expect(await parts()).toEqual([old[1], old[2]].map((month) => idBefore(month as Date)));
  }
  expect(await retention.settle()).toEqual(monthStart(new Date(Date.now() - 60 * dayMs)));
  expect(await parts()).toEqual([]);
});

test('the scan of a large month finds a run that ended late at any position', async () => {
  const until = old.at(-1) as Date;
  const days = Math.floor((Date.now() - until.getTime()) / dayMs) - 2;
  for (const endedAt of [undefined, undefined, new Date(until.getTime() + 12 * dayMs)])
    await makeRun(old[1], endedAt === undefined ? {} : { endedAt });
  const retention = new MonthRetention({ db, months, logger, days, scan: { runs: 2, ms: 60_000 } });
  expect(await retention.settle()).toEqual(old[1]);
  expect(await parts()).toContain(idBefore(old[1] as Date));
});

test('a process whose clock is ahead removes no run, step or log line that the clock of the database keeps', async () => {
  const id = await makeRun(monthStart(new Date()));
  await database.query(
    `insert into run_logs (id, tenant_id, run_id, step_index, level, message) values ($1, $2, $1, 0, 'info', 'x')`,
    [id, plain],
  );
  const counts = async () =>
    (
      await database.query<Record<string, number>>(
        'select (select count(*)::int from runs) as runs, (select count(*)::int from run_steps) as steps, (select count(*)::int from run_logs) as lines',
      )
    )[0];
  const before = await counts();
  expect(before).toMatchObject({ runs: 1, lines: 1 });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + 200 * dayMs });
  try {
    await months.make(tables);
    await months.dropOver(tables.map((table) => ({ ...table, days: 60 })));
    await removeAged({ db, logger }, [{ table: 'run_logs', days: 60 }]);
    await prune(60);
  } finally {
    vi.useRealTimers();
  }
  expect(await counts()).toEqual(before);
});

test('the query for runs that must be kept does not read the whole month', async () => {
  await makeRun(monthStart(new Date()), { endedAt: null });
  const id = await makeRun(old[0]);
  await database.query(
    `insert into runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, environment, attempt, next_step, queued_at, started_at, finished_at)
     select overlay(id::text placing lpad(to_hex(n), 12, '0') from 25)::uuid, tenant_id, workflow_id, 1, flow_id, status, trigger, environment, 1, 1, queued_at, started_at, finished_at from runs, generate_series(1, 5000) n where id = $1`,
    [id],
  );
  await database.query('vacuum analyze runs');
  using recorder = new StatementRecorder();
  await new MonthRetention({ db, months, logger, days: 60 }).settle();
  const statements = recorder.statements.filter(({ text }) => text.includes('AS stays'));
  expect(statements.length).toBeGreaterThan(0);
  const found = await explainAll(database, statements, await planRulesOf(database, 1_000, 100));
  expect(found.map(({ problems }) => problems)).toEqual([]);
});

test('when months cannot be scanned, retention policies still apply, and the next scan is delayed', async () => {
  await database.query(`update automation_policies set retention = '{"maxAgeDays": 1}'`);
  await makeRun(old[0], { tenantId: own });
  const kept = await makeRun(old[0]);
  const lines: string[] = [];
  const retention = new RunRetention({
    db,
    months: new MonthlyPartitions({ url: `${database.url}_missing`, logger }),
    blobs: await createFileBlobs(folder),
    logger: pino({ level: 'warn' }, { write: (line) => void lines.push(line) }),
    days: 60,
  });
  expect([await retention.prune(), await runIds()]).toEqual([1, [kept]]);
  expect([await retention.prune(), lines.length]).toEqual([0, 1]);
});

test('runs are kept while a reader prevents the drop of their month', async () => {
  await makeRun(old[0]);
  const reader = new Client({ connectionString: database.url });
  await reader.connect();
  try {
    await reader.query('begin; select 1 from run_steps');
    expect(await prune(60)).toBe(0);
    await reader.query('commit');
  } finally {
    await reader.end();
  }
  expect(await prune(60)).toBe(1);
  expect(await parts()).toEqual([]);
});

test('a run whose steps were dropped with their month cannot be retried from a later step', async () => {
  const [bare, whole] = [await makeRun(old[0]), await makeRun(old[1])];
  await months.drop('run_steps', `run_steps_${(old[0] as Date).toISOString().slice(0, 7).replace('-', '_')}`);
  const found = await db.workspace(plain, (tx) => lockForRetry(tx, plain, [bare, whole]));
  expect(new Map(found.map((run) => [run.id, [run.is_bare, run.first_open]]))).toEqual(
    new Map([
      [bare, [true, 0]],
      [whole, [false, 1]],
    ]),
  );
  const queueCapacity = { reserve: async (_tx: unknown, _tenantId: string, wanted: number) => wanted } as never;
  const again = (plan: Parameters<typeof rerunRuns>[5]) =>
    db.workspace(plain, async (tx) =>
      (await rerunRuns(tx, queueCapacity, plain, [bare], { actor: 'cli', environment: 'live' } as never, plan)).get(
        bare,
      ),
    );
  expect(await again(asRetry())).toMatchObject({ refusal: { code: 'run_not_retryable' } });
  expect(await again(asReplay({ fromStep: 0 }))).toMatchObject({ runId: expect.any(String) });
});
