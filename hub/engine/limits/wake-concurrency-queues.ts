import type { Transaction } from '../../platform/db/database.ts';
import { endsLock, lockLine } from './concurrency-queue-locks.ts';

/**
 * Has the lines of a workflow, or of all workflows of a workspace, judged anew, in the transaction that changed what they are judged by.
 * The starts before it are counted anew: they were counted by another limit, or not at all.
 */
export async function reopenLines(tx: Transaction, tenantId: string, workflowId: string | null): Promise<void> {
  // Whoever judges a line now, or ends a run, does so by what was; it must have written its runs before they are looked for.
  if (workflowId === null) {
    await tx.query('lock_workspace_lines', `SELECT pg_advisory_xact_lock(hashtextextended($1::text, 1))`, [tenantId]);
  } else {
    await tx.query('lock_ends', `SELECT pg_advisory_xact_lock(${endsLock('$1')})`, [workflowId]);
    await lockLine(tx, tenantId, workflowId);
  }
  await tx.query('forget_starts', 'DELETE FROM run_starts WHERE scope_id = $1', [workflowId ?? tenantId]);
  return wakeFirst(
    tx,
    workflowId === null ? 'reopen_lines' : 'reopen_line',
    'TRUE',
    workflowId === null ? [tenantId] : [tenantId, workflowId],
  );
}

/**
 * Wakes the first of each line that has room and no time at which it looks: its wake-up was lost, with a process or because a limit came
 * while runs were under way. Only in a transaction that sees every workspace; part of the sweep.
 */
export function wakeForgottenLines(tx: Transaction): Promise<void> {
  const hasRoom = `CASE r.waits_for
      WHEN 'max_runs_per_hour' THEN NOT EXISTS (SELECT 1 FROM runs o WHERE o.tenant_id = r.tenant_id AND o.environment = r.environment AND o.waits_for = 'max_runs_per_hour' AND o.wake_at IS NOT NULL)
      WHEN 'max_concurrent_runs' THEN coalesce((SELECT count(*) FROM (SELECT 1 FROM runs u WHERE u.workflow_id = r.workflow_id AND u.environment = r.environment AND u.started_at IS NOT NULL AND u.finished_at IS NULL LIMIT m.most) c) < m.most, true)
      ELSE true END`;
  return wakeFirst(tx, 'wake_forgotten_lines', `r.wake_at IS NULL AND r.holder_id IS NULL AND ${hasRoom}`, []);
}

/** Wakes the first of lines, found by stepping from line to line through the index, whatever their length. */
async function wakeFirst(tx: Transaction, name: string, where: string, values: string[]): Promise<void> {
  const [byTenant, byWorkflow] = [
    values.length > 0 ? 'AND h.tenant_id = $1' : '',
    values.length > 1 ? 'AND h.workflow_id = $2' : '',
  ];
  const { rows } = await tx.query<{ tenant_id: string }>(
    name,
    `WITH RECURSIVE line AS (
       (SELECT tenant_id, workflow_id, environment, id FROM runs h WHERE waits_for IS NOT NULL ${byTenant} ${byWorkflow} ORDER BY tenant_id, workflow_id, environment, id LIMIT 1)
       UNION ALL
       SELECT n.* FROM line CROSS JOIN LATERAL (
         SELECT tenant_id, workflow_id, environment, id FROM runs h WHERE waits_for IS NOT NULL AND (h.tenant_id, h.workflow_id, h.environment) > (line.tenant_id, line.workflow_id, line.environment) ${byTenant} ${byWorkflow}
         ORDER BY tenant_id, workflow_id, environment, id LIMIT 1) n
     ), first AS (
       SELECT r.id FROM runs r JOIN workflows w ON w.id = r.workflow_id
       CROSS JOIN LATERAL (SELECT coalesce((w.limits->>'maxConcurrentRuns')::int, CASE WHEN w.trigger->'schedule'->>'overlap' = 'queue' THEN 1 END) AS most) m
       WHERE r.id = ANY(ARRAY(SELECT id FROM line)) AND r.waits_for IS NOT NULL AND ${where} FOR UPDATE OF r SKIP LOCKED
     ), woken AS (
       UPDATE runs SET wake_at = now(), wake_count = wake_count + 1 FROM first WHERE runs.id = first.id RETURNING runs.tenant_id
     )
     SELECT DISTINCT tenant_id FROM woken`,
    values,
  );
  for (const row of rows) tx.wakeWorkers(row.tenant_id);
}
