import type { Transaction } from '../../platform/db/database.ts';

/**
 * Key of an advisory lock, as SQL. The argument is an SQL expression for the id of the workflow.
 * A transaction that ends a run takes the lock shared before it checks for waiting runs. A change of limits takes it exclusively.
 * Therefore one of the two always sees what the other wrote.
 */
export const runEndsLock = (workflowId: string) => `hashtextextended(${workflowId}::text, 3)`;

/** Locks the concurrency queues of a workflow in a transaction that has locked the workspace exclusively, as SQL. */
export const lockWorkflowQueueText = `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 2))`;

/**
 * Locks the concurrency queues of a workflow until the end of the transaction. An hourly limit is shared by all queues of a
 * workspace, so all of them are locked then. A change of the policy locks the workspace exclusively. It therefore waits for
 * transactions that use the old policy.
 */
export async function lockConcurrencyQueue(tx: Transaction, tenantId: string, workflowId: string): Promise<void> {
  await tx.query(
    'lock_lines',
    `SELECT CASE WHEN EXISTS (SELECT 1 FROM automation_policies WHERE tenant_id = $1::uuid AND max_runs_per_hour IS NOT NULL)
         THEN pg_advisory_xact_lock(hashtextextended($1::text, 1)) ELSE pg_advisory_xact_lock_shared(hashtextextended($1::text, 1)) END,
       pg_advisory_xact_lock(hashtextextended($2::text, 2))`,
    [tenantId, workflowId],
  );
}
