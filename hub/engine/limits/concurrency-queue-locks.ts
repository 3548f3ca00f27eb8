import type { Transaction } from '../../platform/db/database.ts';

/**
 * The advisory lock that a transaction which ends a run shares before it looks whether anybody is to follow, and that a change of limits
 * takes alone: so that one of them sees the other. As SQL, of the expression that names the workflow.
 */
export const endsLock = (workflowId: string) => `hashtextextended(${workflowId}::text, 3)`;

/** Lets one transaction at a time judge a line, where it has the lock of the workspace already. As SQL. */
export const lockWorkflowLine = `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 2))`;

/**
 * Lets one transaction at a time judge a line, and of a workspace with an hourly limit all its lines; whoever changes the policy
 * waits for all who judge by the old one.
 */
export async function lockLine(tx: Transaction, tenantId: string, workflowId: string): Promise<void> {
  await tx.query(
    'lock_lines',
    `SELECT CASE WHEN EXISTS (SELECT 1 FROM automation_policies WHERE tenant_id = $1::uuid AND max_runs_per_hour IS NOT NULL)
         THEN pg_advisory_xact_lock(hashtextextended($1::text, 1)) ELSE pg_advisory_xact_lock_shared(hashtextextended($1::text, 1)) END,
       pg_advisory_xact_lock(hashtextextended($2::text, 2))`,
    [tenantId, workflowId],
  );
}
