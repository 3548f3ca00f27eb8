import type { Transaction } from '../../platform/db/database.ts';
import { runEndsLock, lockConcurrencyQueue } from './concurrency-queue-locks.ts';

/**
 * Wakes the first run of each concurrency queue of a workflow, or of all workflows of a workspace, so that the limits are evaluated again.
 * Call it in the transaction that changes the limits or the policy.
 * The counted starts are deleted, because the old limit counted them differently or not at all. The next evaluation counts them again.
 */
export async function reevaluateConcurrencyQueues(
  tx: Transaction,
  tenantId: string,
  workflowId: string | null,
): Promise<void> {
  // Open transactions that evaluate these queues, or end a run of the workflow, use the old limits.
  // The locks wait until those transactions end, so that the statements below see their runs.
  if (workflowId === null) {
    await tx.query('lock_workspace_lines', `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 1))`, [tenantId]);
  } else {
    await tx.query('lock_ends', `SELECT pg_advisory_xact_lock(${runEndsLock('$1')})`, [workflowId]);
    await lockConcurrencyQueue(tx, tenantId, workflowId);
  }
  await tx.query('forget_starts', 'DELETE FROM run_starts WHERE scope_id = $1', [workflowId ?? tenantId]);
  return wakeFirstRuns(
    tx,
    workflowId === null ? 'reopen_lines' : 'reopen_line',
    'TRUE',
    workflowId === null ? [tenantId] : [tenantId, workflowId],
  );
}

/**
 * Wakes the first run of each concurrency queue that can have capacity, when that run has neither a wake-up time nor a holder.
 * Its wake-up was lost when a process ended, or because the limit was set while runs were in progress.
 * Call it periodically, in a transaction that sees all workspaces.
 */
export function wakeStalledConcurrencyQueues(tx: Transaction): Promise<void> {
  const hasCapacity = `CASE r.waits_for
      WHEN 'max_runs_per_hour' THEN NOT EXISTS (SELECT 1 FROM runs o WHERE o.tenant_id = r.tenant_id AND o.environment = r.environment AND o.waits_for = 'max_runs_per_hour' AND o.wake_at IS NOT NULL)
      WHEN 'max_concurrent_runs' THEN coalesce((SELECT count(*) FROM (SELECT 1 FROM runs u WHERE u.workflow_id = r.workflow_id AND u.environment = r.environment AND u.started_at IS NOT NULL AND u.finished_at IS NULL LIMIT m.most) c) < m.most, true)
      ELSE true END`;
  return wakeFirstRuns(tx, 'wake_forgotten_lines', `r.wake_at IS NULL AND r.holder_id IS NULL AND ${hasCapacity}`, []);
}

/** Wakes the first run of each concurrency queue. One index step finds each queue, so the cost does not depend on its length. */
async function wakeFirstRuns(tx: Transaction, name: string, where: string, values: string[]): Promise<void> {
  const [byTenant, byWorkflow] = [
    values.length > 0 ? 'AND h.tenant_id = $1' : '',
    values.length > 1 ? 'AND h.workflow_id = $2' : '',
  ];
  const { rows } = await tx.query<{ tenant_id: string }>(
    name,
    `WITH RECURSIVE queue AS (
       (SELECT tenant_id, workflow_id, environment, id FROM runs h WHERE waits_for IS NOT NULL ${byTenant} ${byWorkflow} ORDER BY tenant_id, workflow_id, environment, id LIMIT 1)
       UNION ALL
       SELECT n.* FROM queue CROSS JOIN LATERAL (
         SELECT tenant_id, workflow_id, environment, id FROM runs h WHERE waits_for IS NOT NULL AND (h.tenant_id, h.workflow_id, h.environment) > (queue.tenant_id, queue.workflow_id, queue.environment) ${byTenant} ${byWorkflow}
         ORDER BY tenant_id, workflow_id, environment, id LIMIT 1) n
     ), first AS (
       SELECT r.id FROM runs r JOIN workflows w ON w.id = r.workflow_id
       CROSS JOIN LATERAL (SELECT coalesce((w.limits->>'maxConcurrentRuns')::int, CASE WHEN w.trigger->'schedule'->>'overlap' = 'queue' THEN 1 END) AS most) m
       WHERE r.id = ANY(ARRAY(SELECT id FROM queue)) AND r.waits_for IS NOT NULL AND ${where} FOR UPDATE OF r SKIP LOCKED
     ), woken AS (
       UPDATE runs SET wake_at = now(), wake_count = wake_count + 1 FROM first WHERE runs.id = first.id RETURNING runs.tenant_id
     )
     SELECT DISTINCT tenant_id FROM woken`,
    values,
  );
  for (const row of rows) tx.wakeWorkers(row.tenant_id);
}
