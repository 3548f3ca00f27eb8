import type { PromisedJob } from '../modules/runs/index.ts';
import type { Database } from '../platform/db/database.ts';

const repairBatch = 500;
/** A run that wanted a worker for so long may have lost its job, in seconds. */
const forgottenAfterSeconds = 8;

/**
 * Repairs runs whose row and job disagree: a lease that ran out with its worker, and a run that wants a worker and got none.
 * Two processes may do it at once: rows are taken with `skip locked`, and a job added twice is harmless.
 */
export async function repairRuns(db: Database): Promise<PromisedJob[]> {
  const { rows } = await db.system(
    (tx) =>
      tx.query<{ id: string; tenant_id: string; run_id: string; job_id: string }>(
        'repair_runs',
        `WITH RECURSIVE workspace AS (
           (SELECT tenant_id FROM runs WHERE wake_at IS NOT NULL AND lease_expires_at IS NULL ORDER BY tenant_id LIMIT 1)
           UNION ALL
           SELECT n.tenant_id FROM workspace CROSS JOIN LATERAL (
             SELECT tenant_id FROM runs WHERE wake_at IS NOT NULL AND lease_expires_at IS NULL AND tenant_id > workspace.tenant_id ORDER BY tenant_id LIMIT 1) n
         ), lost AS (
           SELECT id FROM runs WHERE lease_expires_at < now() AND wake_at IS NOT NULL ORDER BY lease_expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
         ), forgotten AS (
           SELECT f.id FROM workspace CROSS JOIN LATERAL (
             SELECT id FROM runs WHERE tenant_id = workspace.tenant_id AND lease_expires_at IS NULL AND wake_at < now() - make_interval(secs => $1) ORDER BY wake_at LIMIT $2 FOR UPDATE SKIP LOCKED) f
           LIMIT $2
         ), stuck AS (
           SELECT id, true AS lost FROM lost UNION ALL SELECT id, false FROM forgotten
         ), repaired AS (
           UPDATE runs SET wake_at = now(), lease_expires_at = NULL,
             wake_count = wake_count + CASE WHEN stuck.lost THEN 1 ELSE 0 END, lost_leases = lost_leases + CASE WHEN stuck.lost THEN 1 ELSE 0 END
           FROM stuck WHERE runs.id = stuck.id RETURNING runs.id, runs.tenant_id, runs.wake_count
         )
         INSERT INTO outbox (tenant_id, job, job_id, data)
         SELECT tenant_id, 'run', 'run-' || id || '-' || wake_count, jsonb_build_object('runId', id, 'tenantId', tenant_id) FROM repaired
         RETURNING id, tenant_id, data->>'runId' AS run_id, job_id`,
        [forgottenAfterSeconds, repairBatch],
      ),
    { durable: false },
  );
  return rows.map((row) => ({ outboxId: Number(row.id), job: 'run', jobId: row.job_id, data: { runId: row.run_id, tenantId: row.tenant_id }, notBefore: null }));
}
