import { pino } from 'pino';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { entitlementNames } from '../../../shared/contract/define.ts';
import { acceptManualRun } from '../../../test/fixtures/accepted-run.ts';
import { claimRun } from '../../../test/fixtures/claim-run.ts';
import { acquireDatabase } from '../../../test/fixtures/postgres.ts';
import type { TestDatabase } from '../../../test/fixtures/postgres.ts';
import { startTcpRelay } from '../../../test/fixtures/tcp-relay.ts';
import { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids.ts';
import { LeaseLost } from '../failure.ts';
import { advanceRun } from '../runs/store.ts';
import type { ClaimedRun, RunClaim } from '../runs/store.ts';
import { ExecutingRuns } from './executing-runs.ts';
import { enterUnknownHolders, repairRuns } from './sweeper.ts';
import { leaseSeconds, renewalSeconds, WorkerLease } from './worker-lease.ts';

const logger = pino({ level: 'silent' });
let database: TestDatabase;
let db: Database;
const [tenantId, workflowId] = [newId(), newId()];

beforeAll(async () => {
  database = await acquireDatabase();
  db = new Database({ url: database.url, maxConnections: 8, applicationName: 'test', onError: () => undefined });
  const entitlements = Object.fromEntries(entitlementNames.map((name) => [name, true]));
  await database.query("insert into tenants (id, name, entitlements) values ($1, 'lease', $2)", [
    tenantId,
    JSON.stringify(entitlements),
  ]);
  await database.query(
    `insert into workflows (id, tenant_id, name, active, version, trigger, steps) values ($1, $2, 'w', true, 1, '{"type":"manual","schemaVersion":1}', '[]')`,
    [workflowId, tenantId],
  );
  await database.query(
    `insert into workflow_versions (workflow_id, version, tenant_id, name, steps) values ($1, 1, $2, 'w', '[]')`,
    [workflowId, tenantId],
  );
});
afterEach(async () => {
  vi.useRealTimers();
  await database.query('delete from runs');
});
afterAll(async () => {
  await db[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});

async function claim(lease: WorkerLease): Promise<RunClaim> {
  const runId = await acceptManualRun(db, { tenantId, workflowId });
  const { fence } = (await claimRun(db, runId, lease.id)) as ClaimedRun;
  return { runId, fence };
}

const runOf = async ({ runId }: RunClaim) =>
  (
    await database.query<{ holder_id: string | null; lost_leases: number; is_due: boolean }>(
      'select holder_id, lost_leases, wake_at <= now() as is_due from runs where id = $1',
      [runId],
    )
  )[0];

const leaseOf = async ({ id }: WorkerLease) =>
  (
    await database.query<{ is_valid: boolean }>(
      'select lease_expires_at > now() as is_valid from worker_processes where id = $1',
      [id],
    )
  )[0];

/** Expires a lease, as if the process had been paused for longer than its duration. */
const expire = ({ id }: WorkerLease) =>
  database.query(`update worker_processes set lease_expires_at = now() - interval '1 second' where id = $1`, [id]);

test('only the runs of a process with an expired lease are freed', async () => {
  await using dead = await WorkerLease.acquire(db, new ExecutingRuns(), logger);
  await using live = await WorkerLease.acquire(db, new ExecutingRuns(), logger);
  const [lost, kept] = [await claim(dead), await claim(live)];
  expect(await repairRuns(db)).toEqual([]);
  await expire(dead);
  expect(await repairRuns(db)).toEqual([lost.runId]);
  expect(await runOf(lost)).toEqual({ holder_id: null, lost_leases: 1, is_due: true });
  expect(await runOf(kept)).toMatchObject({ holder_id: live.id, lost_leases: 0 });
});

test('an expired lease is not ended while processes possibly could not renew their leases', async () => {
  await using lease = await WorkerLease.acquire(db, new ExecutingRuns(), logger);
  const run = await claim(lease);
  await expire(lease);
  expect(await repairRuns(db, { endLeases: false })).toEqual([]);
  await lease.renew();
  expect(await leaseOf(lease)).toEqual({ is_valid: true });
  expect(await repairRuns(db)).toEqual([]);
  expect(await runOf(run)).toMatchObject({ holder_id: lease.id, lost_leases: 0 });
});

test('a sweep that does not end leases fails while the database is unavailable', async () => {
  await using unavailable = new Database({
    url: 'postgres://user@127.0.0.1:1/none',
    maxConnections: 2,
    applicationName: 'test',
    onError: () => undefined,
  });
  await expect(repairRuns(unavailable, { endLeases: false })).rejects.toThrow();
});

test('the runs of a process are freed immediately after it has ended its lease', async () => {
  const lease = await WorkerLease.acquire(db, new ExecutingRuns(), logger);
  const run = await claim(lease);
  await lease[Symbol.asyncDispose]();
  expect(await repairRuns(db)).toEqual([run.runId]);
});

test('only executions of runs that another process has claimed, or that have ended, are aborted', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const executing = new ExecutingRuns();
  await using lease = await WorkerLease.acquire(db, executing, logger);
  const claims = [await claim(lease), await claim(lease), await claim(lease)] as const;
  const [reclaimed, cancelled, kept] = claims.map((run) => executing.add(run));
  vi.advanceTimersByTime(renewalSeconds * 1_000);
  const recent = await claim(lease);
  const justStarted = executing.add(recent);
  await database.query('update runs set fence = fence + 1, holder_id = $2 where id = any($1)', [
    [claims[0].runId, recent.runId],
    newId(),
  ]);
  await database.query("update runs set status = 'cancelled', finished_at = now(), holder_id = null where id = $1", [
    claims[1].runId,
  ]);
  await lease.endLost();
  expect([reclaimed, cancelled, kept, justStarted].map((entry) => entry?.lost.aborted)).toEqual([
    true,
    true,
    false,
    false,
  ]);
  expect(reclaimed?.lost.reason).toBeInstanceOf(LeaseLost);
  // The next check includes runs that began recently.
  vi.advanceTimersByTime(renewalSeconds * 1_000);
  await lease.endLost();
  expect([kept, justStarted].map((entry) => entry?.lost.aborted)).toEqual([false, true]);
});

test('a process with an expired lease continues the runs that no other process has claimed', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const executing = new ExecutingRuns();
  await using lease = await WorkerLease.acquire(db, executing, logger);
  const [first, second] = [await claim(lease), await claim(lease)];
  const [continued, claimed] = [executing.add(first), executing.add(second)];
  vi.advanceTimersByTime(leaseSeconds * 1_000);
  await expire(lease);
  expect((await repairRuns(db)).toSorted()).toEqual([first.runId, second.runId].toSorted());
  await using other = await WorkerLease.acquire(db, new ExecutingRuns(), logger);
  await claimRun(db, second.runId, other.id);
  await lease.renew();
  await lease.endLost();
  expect([continued.lost.aborted, claimed.lost.aborted]).toEqual([false, true]);
  expect(await runOf(first)).toMatchObject({ holder_id: lease.id });
  expect(await runOf(second)).toMatchObject({ holder_id: other.id });
});

test('after a pause, runs are checked only when the lease is renewed', async () => {
  const sent: string[] = [];
  const spied = new Proxy(db, {
    get: (target, name) =>
      name === 'systemStatement'
        ? async (...request: Parameters<Database['systemStatement']>) => {
            sent.push(request[0]);
            const rows = await target.systemStatement(...request);
            sent.push(`end of ${request[0]}`);
            return rows;
          }
        : (Reflect.get(target, name) as unknown),
  });
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] });
  const executing = new ExecutingRuns();
  await using lease = await WorkerLease.acquire(spied, executing, logger);
  using _entry = executing.add(await claim(lease));
  sent.splice(0);
  const now = performance.now.bind(performance);
  using _clock = vi.spyOn(performance, 'now').mockImplementation(() => now() + leaseSeconds * 1_000);
  vi.advanceTimersByTime(renewalSeconds * 1_000);
  await expect.poll(() => sent).toContain('end of find_lost_runs');
  expect(sent.filter((name) => !name.includes('runs_of_worker'))).toEqual([
    'renew_worker_lease',
    'end of renew_worker_lease',
    'find_lost_runs',
    'end of find_lost_runs',
  ]);
});

test('a lease that has possibly expired is renewed before runs are claimed', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  await using lease = await WorkerLease.acquire(db, new ExecutingRuns(), logger);
  expect(lease.isCertainlyValid).toBe(true);
  vi.advanceTimersByTime(leaseSeconds * 1_000);
  expect(lease.isCertainlyValid).toBe(false);
  await expire(lease);
  await lease.renewIfUncertain();
  expect(lease.isCertainlyValid).toBe(true);
  expect(await leaseOf(lease)).toEqual({ is_valid: true });
});

test('a held run that is not executed is freed after two searches, and an executed run is not', async () => {
  const executing = new ExecutingRuns();
  await using lease = await WorkerLease.acquire(db, executing, logger);
  const [lost, executed, claimedAgain] = [await claim(lease), await claim(lease), await claim(lease)];
  executing.add(executed);
  const woken: string[] = [];
  db.onDue((tenantIds) => woken.push(...tenantIds));
  await lease.freeUnknown();
  expect(await runOf(lost)).toMatchObject({ holder_id: lease.id });
  // Between the searches, the process released it and claimed it again.
  await database.query('update runs set holder_id = null where id = $1', [claimedAgain.runId]);
  await claimRun(db, claimedAgain.runId, lease.id);
  await lease.freeUnknown();
  expect(await runOf(lost)).toEqual({ holder_id: null, lost_leases: 1, is_due: true });
  expect(woken).toEqual([tenantId]);
  expect(await runOf(executed)).toMatchObject({ holder_id: lease.id, lost_leases: 0 });
  expect(await runOf(claimedAgain)).toMatchObject({ holder_id: lease.id, lost_leases: 0 });
});

test('the row of a process is removed 5 minutes after its lease has expired, unless a run refers to it', async () => {
  const [empty, named] = [
    await WorkerLease.acquire(db, new ExecutingRuns(), logger),
    await WorkerLease.acquire(db, new ExecutingRuns(), logger),
  ];
  await using recent = await WorkerLease.acquire(db, new ExecutingRuns(), logger);
  await expire(recent);
  const run = await claim(named);
  await empty[Symbol.asyncDispose]();
  await named[Symbol.asyncDispose]();
  await database.query(
    `update worker_processes set lease_expires_at = now() - interval '6 minutes' where id = any($1)`,
    [[empty.id, named.id]],
  );
  // Another transaction has locked the run, so it is not freed yet.
  const [locked, release] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  const locking = db.workspace(tenantId, async (tx) => {
    await tx.query('lock_run', 'SELECT 1 FROM runs WHERE id = $1 FOR UPDATE', [run.runId]);
    locked.resolve();
    await release.promise;
  });
  await locked.promise;
  await repairRuns(db, { endLeases: false });
  expect(await leaseOf(empty)).toEqual({ is_valid: false });
  await repairRuns(db);
  expect([await leaseOf(empty), await leaseOf(named), await leaseOf(recent)]).toEqual([
    undefined,
    { is_valid: false },
    { is_valid: false },
  ]);
  release.resolve();
  await locking;
  expect(await repairRuns(db)).toEqual([run.runId]);
});

test('a run that was committed after the row of its process was removed is freed', async () => {
  const lease = await WorkerLease.acquire(db, new ExecutingRuns(), logger);
  const run = await claim(lease);
  await lease[Symbol.asyncDispose]();
  await database.query('delete from worker_processes');
  expect(await repairRuns(db)).toEqual([]);
  await enterUnknownHolders(db);
  expect(await repairRuns(db)).toEqual([run.runId]);
});

test('a process can hold a freed run again after it has written a step of the run', async () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const executing = new ExecutingRuns();
  await using lease = await WorkerLease.acquire(db, executing, logger);
  const run = await claim(lease);
  const entry = executing.add(run);
  vi.advanceTimersByTime(leaseSeconds * 1_000);
  await expire(lease);
  expect(await repairRuns(db)).toEqual([run.runId]);
  await db.workspace(tenantId, (tx) => advanceRun(tx, run, { fromStep: 0, nextStep: 0, ends: null, error: null }));
  await lease.renew();
  await lease.endLost();
  expect(entry.lost.aborted).toBe(false);
  expect(await runOf(run)).toMatchObject({ holder_id: lease.id });
});

test('the lease does not expire when a connection no longer responds', async () => {
  await using relay = await startTcpRelay(database.url);
  await using relayed = new Database({
    url: relay.url,
    maxConnections: 3,
    applicationName: 'test',
    onError: () => undefined,
  });
  await using lease = await WorkerLease.acquire(relayed, new ExecutingRuns(), logger);
  relay.freeze();
  const failures: boolean[] = [];
  await expect
    .poll(async () => {
      const renewed = await lease.renew().then(
        () => true,
        () => false,
      );
      if (!renewed) failures.push(lease.isCertainlyValid);
      return renewed;
    })
    .toBe(true);
  // The renewal fails before the lease expires.
  expect(failures[0]).toBe(true);
  expect(await leaseOf(lease)).toEqual({ is_valid: true });
});
