import type { Transaction } from '../../platform/db/database.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import { isDueSoonText } from '../queue/wake-runs.ts';
import { computeCapacity, countStarts, readAdmissionState } from './concurrency-queue-capacity.ts';
import type { Capacity, ConcurrencyQueue } from './concurrency-queue-capacity.ts';
import { lockConcurrencyQueue, lockWorkflowQueueText } from './concurrency-queue-locks.ts';

/**
 * Starts runs as the limits of their workflow and the policy of their workspace allow. Runs that must wait are in the concurrency queue of
 * their workflow and environment, ordered by id.
 *
 * Waiting runs are not polled. The transaction that ends a run starts the next ones. After a change of a limit, and when
 * capacity depends on the time alone, only the first run of the queue is woken.
 *
 * The transaction that starts a run sets its `started_at`. The run counts against the limits from then on, before a worker
 * claims it.
 *
 * Two transactions never evaluate the same queue at the same time. Lock order: rows of runs, then the workspace, then the workflow.
 * A transaction that holds the queue locks skips locked rows of other runs and never waits for them.
 */

/** Runs that one transaction starts. The next transaction continues a longer queue. */
const maxStartsPerTransaction = 100;
/** Workflows of a workspace whose queues one transaction continues when the hourly limit allows more runs. */
const maxQueuesPerTransaction = 50;

/** A claimed run that has not started. */
export interface UnstartedClaim {
  id: string;
  fence: string;
  holderId: string;
}

/**
 * Adds a claimed run to its concurrency queue, and starts runs of the queue, in order, as far as the limits allow.
 * @returns whether the claimed run was started. If not, it waits in its queue without a holder. Null if the claim is no longer
 * valid, or the run has started or ended.
 */
export async function admitClaimedRun(
  tx: Transaction,
  queue: ConcurrencyQueue,
  claimed: UnstartedClaim,
): Promise<boolean | null> {
  const { rowCount } = await tx.query(
    'join_line',
    `UPDATE runs SET waits_for = coalesce(waits_for, 'earlier_runs'), wake_at = NULL, holder_id = NULL WHERE id = $1 AND fence = $2 AND finished_at IS NULL AND started_at IS NULL`,
    [claimed.id, claimed.fence],
  );
  if (rowCount !== 1) return null;
  return advanceQueues(tx, queue, claimed);
}

/** Starts runs that wait in the concurrency queues of ended runs. Call it in the transaction that ends those runs. */
export async function admitWaitingRuns(
  tx: Transaction,
  ended: readonly { tenant_id: string; workflow_id: string; environment: 'live' | 'test' }[],
): Promise<void> {
  const byQueue = new Map(ended.map((run) => [`${run.workflow_id} ${run.environment}`, run]));
  for (const [, run] of [...byQueue].toSorted(([left], [right]) => (left < right ? -1 : 1))) {
    const queue = { tenantId: run.tenant_id, workflowId: run.workflow_id, environment: run.environment };
    await advanceQueues(tx, queue, null);
  }
}

/**
 * Starts runs of a queue, and of the other queues of the workspace that wait for the same hourly limit.
 * @returns whether the claimed run was started.
 */
async function advanceQueues(
  tx: Transaction,
  queue: ConcurrencyQueue,
  claimed: UnstartedClaim | null,
): Promise<boolean> {
  const { tenantId, workflowId, environment } = queue;
  await lockConcurrencyQueue(tx, tenantId, workflowId);
  if (claimed === null && !(await hasWaitingRuns(tx, queue))) return false;
  const own = await advanceQueue(tx, queue, claimed);
  if (!own.hasHourlyLimit) return own.isClaimedStarted;
  // The workspace is locked. Its other queues follow in the order of their first runs.
  const advanced = [workflowId];
  for (
    let { capacity } = own;
    advanced.length < maxQueuesPerTransaction && capacity?.limitedBy !== 'max_runs_per_hour';
  ) {
    const { rows } = await tx.query<{ workflow_id: string }>(
      'first_held_by_hour',
      `SELECT workflow_id FROM runs WHERE tenant_id = $1 AND environment = $3 AND waits_for = 'max_runs_per_hour' AND workflow_id <> ALL($2::uuid[]) ORDER BY id LIMIT 1`,
      [tenantId, advanced, environment],
    );
    const next = rows[0]?.workflow_id;
    if (next === undefined) return own.isClaimedStarted;
    advanced.push(next);
    await tx.query('lock_line', lockWorkflowQueueText, [next]);
    ({ capacity } = await advanceQueue(tx, { ...queue, workflowId: next }, null));
  }
  return own.isClaimedStarted;
}

/**
 * Whether runs wait in this queue, or in another queue for the same hourly limit. Only one run has a wake-up time for the hourly limit,
 * and it can be the run that ended.
 */
async function hasWaitingRuns(
  tx: Transaction,
  { tenantId, workflowId, environment }: ConcurrencyQueue,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    'may_move',
    `(SELECT 1 FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND environment = $3 AND waits_for IS NOT NULL LIMIT 1)
     UNION ALL (SELECT 1 FROM runs WHERE tenant_id = $1 AND environment = $3 AND waits_for = 'max_runs_per_hour' LIMIT 1) LIMIT 1`,
    [tenantId, workflowId, environment],
  );
  return rowCount === 1;
}

/**
 * Starts runs of a queue as far as the limits allow.
 * @returns whether the claimed run was started, and the exhausted capacity if runs still wait for it.
 */
async function advanceQueue(
  tx: Transaction,
  queue: ConcurrencyQueue,
  claimed: UnstartedClaim | null,
): Promise<{ isClaimedStarted: boolean; capacity: Capacity | null; hasHourlyLimit: boolean }> {
  const state = await readAdmissionState(tx, queue);
  const hasHourlyLimit = state.max_runs_per_hour !== null;
  const maxStarts = Math.min(computeCapacity(state, 0)?.slots ?? maxStartsPerTransaction, maxStartsPerTransaction);
  const started = maxStarts <= 0 ? [] : await startFirstRuns(tx, queue, maxStarts, claimed);
  if (started.length > 0) {
    if (state.limits?.maxRunsPerMinute !== undefined)
      await countStarts(tx, queue, queue.workflowId, 'second', started.length);
    if (hasHourlyLimit) await countStarts(tx, queue, queue.tenantId, 'minute', started.length);
  }
  const isClaimedStarted = started.includes(claimed?.id ?? '');
  if (maxStarts > 0 && started.length < maxStarts) return { isClaimedStarted, capacity: null, hasHourlyLimit };
  const capacity = computeCapacity(state, started.length) ?? {
    slots: maxStartsPerTransaction,
    limitedBy: 'earlier_runs',
    availableAt: null,
  };
  const isEmpty = await delayFirstRun(
    tx,
    queue,
    capacity.slots > 0 ? { ...capacity, availableAt: state.now } : capacity,
  );
  return { isClaimedStarted, capacity: isEmpty || capacity.slots > 0 ? null : capacity, hasHourlyLimit };
}

/**
 * Starts the first runs of a queue. The process that claimed the run continues to hold it. The other runs become due and need a worker.
 * No run overtakes a run that another transaction has locked, for example to claim or cancel it. That transaction evaluates the queue
 * after this one.
 * @returns the ids of the started runs.
 */
async function startFirstRuns(
  tx: Transaction,
  { tenantId, workflowId, environment }: ConcurrencyQueue,
  count: number,
  claimed: UnstartedClaim | null,
): Promise<string[]> {
  noteWorkspaceChange(tx, tenantId);
  const { rows } = await tx.query<{ id: string }>(
    'begin_held',
    `WITH queue AS MATERIALIZED (
       SELECT id, row_number() OVER (ORDER BY id) AS position FROM (
         SELECT id FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND environment = $6 AND waits_for IS NOT NULL ORDER BY id LIMIT $3) l
     ), unlocked AS MATERIALIZED (
       SELECT id FROM runs WHERE id = ANY(ARRAY(SELECT id FROM queue)) AND waits_for IS NOT NULL ORDER BY id FOR UPDATE SKIP LOCKED
     ), first AS (
       SELECT queue.id FROM (SELECT id, row_number() OVER (ORDER BY id) AS position FROM unlocked) u JOIN queue USING (id, position)
     ), started AS (
       UPDATE runs SET waits_for = NULL, started_at = clock_timestamp(), wake_at = now(),
         status = CASE WHEN runs.id = $4::uuid THEN 'running' ELSE status END,
         holder_id = CASE WHEN runs.id = $4::uuid THEN $5::uuid END,
         wake_count = wake_count + CASE WHEN runs.id = $4::uuid THEN 0 ELSE 1 END
       FROM first WHERE runs.id = first.id RETURNING runs.id
     )
     SELECT id FROM started ORDER BY id`,
    [tenantId, workflowId, count, claimed?.id ?? null, claimed?.holderId ?? null, environment],
  );
  if (rows.some(({ id }) => id !== claimed?.id)) tx.wakeWorkers(tenantId);
  return rows.map(({ id }) => id);
}

/**
 * Records why the first run of a queue waits, and sets its wake-up time. If an earlier run was added before the run that was first until
 * now, that run loses its wake-up time. Of the queues that wait for the same hourly limit, only one has a run with a wake-up time.
 * @returns whether the queue has no run to delay.
 */
async function delayFirstRun(
  tx: Transaction,
  { tenantId, workflowId, environment }: ConcurrencyQueue,
  { limitedBy, availableAt }: Capacity,
): Promise<boolean> {
  const { rows } = await tx.query<{ is_soon: boolean }>(
    'hold_first',
    `WITH first AS (
       SELECT id, CASE WHEN $3 = 'max_runs_per_hour' AND EXISTS (SELECT 1 FROM runs o WHERE o.tenant_id = $1 AND o.environment = $5 AND o.waits_for = 'max_runs_per_hour' AND o.wake_at IS NOT NULL AND o.workflow_id <> $2)
         THEN NULL ELSE $4::timestamptz END AS at
       FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND environment = $5 AND waits_for IS NOT NULL ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED
     ), delayed AS (
       UPDATE runs SET waits_for = $3, wake_at = first.at, holder_id = NULL, wake_count = wake_count + CASE WHEN first.at IS NULL THEN 0 ELSE 1 END
       FROM first WHERE runs.id = first.id AND (runs.waits_for <> $3 OR runs.wake_at IS DISTINCT FROM first.at) RETURNING ${isDueSoonText} AS is_soon
     ), overtaken AS (
       SELECT r.id FROM runs r WHERE r.id = (SELECT id FROM runs WHERE tenant_id = $1 AND workflow_id = $2 AND environment = $5 AND waits_for IS NOT NULL ORDER BY id OFFSET 1 LIMIT 1)
         AND r.waits_for <> 'earlier_runs' AND r.holder_id IS NULL FOR UPDATE SKIP LOCKED
     ), demoted AS (
       UPDATE runs SET waits_for = 'earlier_runs', wake_at = NULL FROM overtaken WHERE runs.id = overtaken.id
     )
     SELECT coalesce(delayed.is_soon, false) AS is_soon FROM first LEFT JOIN delayed ON true`,
    [tenantId, workflowId, limitedBy, availableAt, environment],
  );
  if (rows.some((row) => row.is_soon)) tx.wakeWorkers(tenantId);
  return rows.length === 0;
}
