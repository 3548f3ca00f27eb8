import { lockWorkflow, insertOutbox } from '../modules/runs/index.ts';
import type { PromisedJob } from '../modules/runs/index.ts';
import { endOfPeriod } from '../platform/calendar/calendar.ts';
import type { Database, Transaction } from '../platform/db/database.ts';
import { LeaseLost } from './failure.ts';
import type { ClaimedRun } from './store.ts';

/** When a run that waits for others looks again even if nobody wakes it, in seconds. */
const lookAgainSeconds = 5;

/** How many runs of a workflow there may be at once, of those that a run has to wait for. */
function maxConcurrent(run: ClaimedRun): number | null {
  if (run.limits?.maxConcurrentRuns !== undefined) return run.limits.maxConcurrentRuns;
  return run.overlap === 'queue' ? 1 : null;
}

/** Until when a run may not begin; null when it may now. Only with the locks that make two judgements one after the other. */
async function heldUntil(tx: Transaction, run: ClaimedRun, now: Date): Promise<Date | null> {
  const quiet = run.quiet_hours === null ? null : endOfPeriod(run.quiet_hours, now);
  if (quiet !== null) return quiet;
  const later = new Date(now.getTime() + lookAgainSeconds * 1000);
  const concurrent = maxConcurrent(run);
  const perMinute = run.limits?.maxRunsPerMinute;
  if (concurrent !== null || perMinute !== undefined) {
    await lockWorkflow(tx, run.workflow_id);
    const { rows } = await tx.query<{ under_way: number; recent: number; oldest_recent: Date | null }>(
      'count_workflow_runs',
      `SELECT (SELECT count(*) FROM runs WHERE workflow_id = $1 AND finished_at IS NULL AND started_at IS NOT NULL AND id <> $2)::int AS under_way,
         count(*)::int AS recent, min(started_at) AS oldest_recent
       FROM runs WHERE tenant_id = $3 AND workflow_id = $1 AND started_at > now() - interval '1 minute' AND id <> $2`,
      [run.workflow_id, run.id, run.tenant_id],
    );
    const counts = rows[0];
    if (concurrent !== null && (counts?.under_way ?? 0) >= concurrent) return later;
    if (perMinute !== undefined && (counts?.recent ?? 0) >= perMinute) return new Date((counts?.oldest_recent ?? now).getTime() + 60_000);
  }
  if (run.max_runs_per_hour !== null) {
    await tx.query('lock_policy', 'SELECT 1 FROM automation_policies WHERE tenant_id = $1 FOR UPDATE', [run.tenant_id]);
    const { rows } = await tx.query<{ count: number; oldest: Date | null }>(
      'count_hour',
      `SELECT count(*)::int AS count, min(started_at) AS oldest FROM runs WHERE tenant_id = $1 AND started_at > now() - interval '1 hour' AND id <> $2`,
      [run.tenant_id, run.id],
    );
    const found = rows[0];
    if ((found?.count ?? 0) >= run.max_runs_per_hour) return new Date((found?.oldest ?? now).getTime() + 3_600_000);
  }
  return null;
}

/**
 * Lets a claimed run begin, or holds it back as its workflow's limits and the workspace's policy say. A held run goes back to
 * `queued`; answers the job that wakes it, or null when the run may go on.
 * @throws LeaseLost when somebody else has the run.
 */
export async function admitClaimed(db: Database, run: ClaimedRun): Promise<PromisedJob | null> {
  if (run.started_at !== null) return null;
  return db.workspace(run.tenant_id, async (tx) => {
    const until = await heldUntil(tx, run, new Date());
    const { rows } = await tx.query<{ wake_count: number }>(
      until === null ? 'begin_run' : 'hold_run',
      until === null
        ? `UPDATE runs SET status = 'running', started_at = now() WHERE id = $1 AND fence = $2 AND finished_at IS NULL RETURNING wake_count`
        : `UPDATE runs SET lease_expires_at = NULL, wake_at = $3, wake_count = wake_count + 1 WHERE id = $1 AND fence = $2 AND finished_at IS NULL RETURNING wake_count`,
      until === null ? [run.id, run.fence] : [run.id, run.fence, until],
    );
    const row = rows[0];
    if (row === undefined) throw new LeaseLost('the run was taken over, cancelled or ended');
    return until === null ? null : insertOutbox(tx, run.tenant_id, `run-${run.id}-${row.wake_count}`, { runId: run.id }, until);
  });
}

/** Wakes the oldest run that waits for one of this workflow to end. */
export async function wakeHeld(db: Database, run: ClaimedRun): Promise<PromisedJob[]> {
  if (maxConcurrent(run) === null) return [];
  return db.workspace(run.tenant_id, async (tx) => {
    const { rows } = await tx.query<{ id: string; wake_count: number }>(
      'wake_held',
      `UPDATE runs SET wake_at = now(), wake_count = wake_count + 1 WHERE id = (
         SELECT id FROM runs WHERE workflow_id = $1 AND finished_at IS NULL AND started_at IS NULL AND lease_expires_at IS NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
       ) RETURNING id, wake_count`,
      [run.workflow_id],
    );
    const row = rows[0];
    return row === undefined ? [] : [await insertOutbox(tx, run.tenant_id, `run-${row.id}-${row.wake_count}`, { runId: row.id }, null)];
  });
}
