import type { Transaction } from '../../platform/db/database.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import { isSoonText } from '../queue/wake-runs.ts';
import { countStarts, readRules, roomOf } from './concurrency-queue-capacity.ts';
import type { Line, Room } from './concurrency-queue-capacity.ts';
import { lockLine, lockWorkflowLine } from './concurrency-queue-locks.ts';

/**
 * Lets runs begin as the limits of their workflow and the policy of their workspace say. Runs that must wait stand in the line of
 * their workflow and environment, by id, and cost nothing: the transaction that makes room (a run that ends, a changed limit) begins the first
 * ones, and where time alone makes room the first of the line is woken at that time. `started_at` is set by whoever lets a
 * run begin, so that it counts from then on, whenever a worker takes it.
 *
 * Two transactions never judge the same line at once. The locks are taken after those of runs, the workspace's before a
 * workflow's, and no row of another run is waited for under them.
 */

/** Runs that are let in by one transaction; a longer line goes on in the next one. */
const maxAtOnce = 100;
/** Workflows of a workspace whose lines one transaction moves on when the hour has room again. */
const maxLinesAtOnce = 50;

/** A run in the hands of a worker, which may begin in it at once. */
export interface ClaimedForAdmission {
  id: string;
  fence: string;
  holderId: string;
}

/**
 * Puts a claimed run into the line of its workflow, and starts runs of the line, in order, as far as the limits allow.
 * @returns whether the claimed run was started. If not, it waits in its line without a holder. Null if another process has
 * the run.
 */
export async function admitClaimedRun(
  tx: Transaction,
  line: Line,
  claimed: ClaimedForAdmission,
): Promise<boolean | null> {
  const { rowCount } = await tx.query(
    'join_line',
    `UPDATE runs SET waits_for = coalesce(waits_for, 'earlier_runs'), wake_at = NULL, holder_id = NULL WHERE id = $1 AND fence = $2 AND finished_at IS NULL AND started_at IS NULL`,
    [claimed.id, claimed.fence],
  );
  if (rowCount !== 1) return null;
  return admit(tx, line, claimed);
}

/** Begins runs that wait in the lines of runs that end, in the transaction that ends them. */
export async function admitWaitingRuns(
  tx: Transaction,
  ended: readonly { tenant_id: string; workflow_id: string; environment: 'live' | 'test' }[],
): Promise<void> {
  const byLine = new Map(ended.map((run) => [`${run.workflow_id} ${run.environment}`, run]));
  for (const [, run] of [...byLine].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const line = { tenantId: run.tenant_id, workflowId: run.workflow_id, environment: run.environment };
    await admit(tx, line, null);
  }
}

/** @returns whether the claimed run was started. */
async function admit(tx: Transaction, line: Line, claimed: ClaimedForAdmission | null): Promise<boolean> {
  const { tenantId, workflowId, environment } = line;
  await lockLine(tx, tenantId, workflowId);
  if (claimed === null && !(await mayMove(tx, line))) return false;
  const first = await moveLine(tx, line, claimed);
  if (!first.sharesHour) return first.began;
  // Under the workspace's lock: the lines of its other workflows that wait for the same hour, oldest run first.
  const moved = [workflowId];
  for (let { room } = first; moved.length < maxLinesAtOnce && room?.hold !== 'max_runs_per_hour';) {
    const { rows } = await tx.query<{ workflow_id: string }>(
      'first_held_by_hour',
      `SELECT workflow_id FROM runs WHERE tenant_id = $1 AND environment = $3 AND waits_for = 'max_runs_per_hour' AND workflow_id <> ALL($2::uuid[]) ORDER BY id LIMIT 1`,
      [tenantId, moved, environment],
    );
    const next = rows[0]?.workflow_id;
    if (next === undefined) return first.began;
    moved.push(next);
    await tx.query('lock_line', lockWorkflowLine, [next]);
    ({ room } = await moveLine(tx, { ...line, workflowId: next }, null));
  }
  return first.began;
}

/** Whether anybody stands in this line, or in one that waits for the same hour: a run that left may have been the one that was to be woken for all. */
async function mayMove(tx: Transaction, { tenantId, workflowId, environment }: Line): Promise<boolean> {
  const { rowCount } = await tx.query(
    'may_move',
    `(SELECT 1 FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND environment = $3 AND waits_for IS NOT NULL LIMIT 1)
     UNION ALL (SELECT 1 FROM runs WHERE tenant_id = $1 AND environment = $3 AND waits_for = 'max_runs_per_hour' LIMIT 1) LIMIT 1`,
    [tenantId, workflowId, environment],
  );
  return rowCount === 1;
}

/**
 * Starts runs of a line as far as the limits allow.
 * @returns whether the claimed run was started, and the remaining room if runs still wait for it.
 */
async function moveLine(
  tx: Transaction,
  line: Line,
  claimed: ClaimedForAdmission | null,
): Promise<{ began: boolean; room: Room | null; sharesHour: boolean }> {
  const rules = await readRules(tx, line);
  const sharesHour = rules.max_runs_per_hour !== null;
  const before = roomOf(rules, 0);
  const wanted = Math.min(before?.places ?? maxAtOnce, maxAtOnce);
  const begun = wanted <= 0 ? [] : await begin(tx, line, wanted, claimed);
  if (begun.length > 0) {
    if (rules.limits?.maxRunsPerMinute !== undefined)
      await countStarts(tx, line, line.workflowId, 'second', begun.length);
    if (sharesHour) await countStarts(tx, line, line.tenantId, 'minute', begun.length);
  }
  const began = begun.includes(claimed?.id ?? '');
  if (wanted > 0 && begun.length < wanted) return { began, room: null, sharesHour };
  const room = roomOf(rules, begun.length) ?? { places: maxAtOnce, hold: 'earlier_runs', moreAt: null };
  const isEmpty = await holdFirst(tx, line, room.places > 0 ? { ...room, moreAt: rules.now } : room);
  return { began, room: isEmpty || room.places > 0 ? null : room, sharesHour };
}

/**
 * Begins the first of a line. The claimed run goes on in the hands of its worker; the others want one.
 * One that somebody else has in hand, to take or to cancel it, is overtaken by none: that transaction judges the line when this one is over.
 * @returns the ids of the started runs.
 */
async function begin(
  tx: Transaction,
  { tenantId, workflowId, environment }: Line,
  count: number,
  claimed: ClaimedForAdmission | null,
): Promise<string[]> {
  noteWorkspaceChange(tx, tenantId);
  const { rows } = await tx.query<{ id: string }>(
    'begin_held',
    `WITH line AS MATERIALIZED (
       SELECT id, row_number() OVER (ORDER BY id) AS place FROM (
         SELECT id FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND environment = $6 AND waits_for IS NOT NULL ORDER BY id LIMIT $3) l
     ), free AS MATERIALIZED (
       SELECT id FROM runs WHERE id = ANY(ARRAY(SELECT id FROM line)) AND waits_for IS NOT NULL ORDER BY id FOR UPDATE SKIP LOCKED
     ), first AS (
       SELECT line.id FROM (SELECT id, row_number() OVER (ORDER BY id) AS place FROM free) f JOIN line USING (id, place)
     ), begun AS (
       UPDATE runs SET waits_for = NULL, started_at = clock_timestamp(), wake_at = now(),
         status = CASE WHEN runs.id = $4::uuid THEN 'running' ELSE status END,
         holder_id = CASE WHEN runs.id = $4::uuid THEN $5::uuid END,
         wake_count = wake_count + CASE WHEN runs.id = $4::uuid THEN 0 ELSE 1 END
       FROM first WHERE runs.id = first.id RETURNING runs.id
     )
     SELECT id FROM begun ORDER BY id`,
    [tenantId, workflowId, count, claimed?.id ?? null, claimed?.holderId ?? null, environment],
  );
  if (rows.some(({ id }) => id !== claimed?.id)) tx.wakeWorkers(tenantId);
  return rows.map(({ id }) => id);
}

/**
 * Notes why the first of a line is held, and wakes it when there will be room; one that was first until an earlier run came waits for that.
 * Of the lines that wait for the same hour one is woken.
 * @returns whether the line is empty.
 */
async function holdFirst(
  tx: Transaction,
  { tenantId, workflowId, environment }: Line,
  { hold, moreAt }: Room,
): Promise<boolean> {
  const { rows } = await tx.query<{ is_soon: boolean }>(
    'hold_first',
    `WITH first AS (
       SELECT id, CASE WHEN $3 = 'max_runs_per_hour' AND EXISTS (SELECT 1 FROM runs o WHERE o.tenant_id = $1 AND o.environment = $5 AND o.waits_for = 'max_runs_per_hour' AND o.wake_at IS NOT NULL AND o.workflow_id <> $2)
         THEN NULL ELSE $4::timestamptz END AS at
       FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND environment = $5 AND waits_for IS NOT NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
     ), held AS (
       UPDATE runs SET waits_for = $3, wake_at = first.at, holder_id = NULL, wake_count = wake_count + CASE WHEN first.at IS NULL THEN 0 ELSE 1 END
       FROM first WHERE runs.id = first.id AND (runs.waits_for <> $3 OR runs.wake_at IS DISTINCT FROM first.at) RETURNING ${isSoonText} AS is_soon
     ), overtaken AS (
       SELECT r.id FROM runs r WHERE r.id = (SELECT id FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND environment = $5 AND waits_for IS NOT NULL ORDER BY id OFFSET 1 LIMIT 1)
         AND r.waits_for <> 'earlier_runs' AND r.holder_id IS NULL FOR UPDATE SKIP LOCKED
     ), demoted AS (
       UPDATE runs SET waits_for = 'earlier_runs', wake_at = NULL FROM overtaken WHERE runs.id = overtaken.id
     )
     SELECT coalesce(held.is_soon, false) AS is_soon FROM first LEFT JOIN held ON true`,
    [tenantId, workflowId, hold, moreAt, environment],
  );
  if (rows.some((row) => row.is_soon)) tx.wakeWorkers(tenantId);
  return rows.length === 0;
}
