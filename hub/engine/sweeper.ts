import type { PromisedJob } from '../modules/runs/index.ts';
import type { Database } from '../platform/db/database.ts';
import { renewalSeconds } from './store.ts';

const repairBatch = 500;
/** A run that wanted a worker for so long may have lost its job, in seconds. */
const forgottenAfterSeconds = 8;

/**
 * Repairs runs whose row and job disagree: a lease that ran out with its worker, and a run that wants a worker and got none. The first
 * lost worker is replaced at once, each further one in a row a good while later, so that a run which takes its workers down leaves time
 * for the others. Two processes may do it at once: rows are taken with `skip locked`, and a job added twice is harmless.
 * @param options.endLeases false while workers may not have had the chance to renew theirs.
 */
export async function repairRuns(db: Database, { endLeases = true } = {}): Promise<PromisedJob[]> {
  const { rows } = await db.system(
    (tx) =>
      tx.query<{ id: string; tenant_id: string; run_id: string; job_id: string; not_before: Date | null }>(
        'repair_runs',
        `WITH RECURSIVE workspace AS (
           (SELECT tenant_id FROM runs WHERE wake_at IS NOT NULL AND lease_expires_at IS NULL ORDER BY tenant_id LIMIT 1)
           UNION ALL
           SELECT n.tenant_id FROM workspace CROSS JOIN LATERAL (
             SELECT tenant_id FROM runs WHERE wake_at IS NOT NULL AND lease_expires_at IS NULL AND tenant_id > workspace.tenant_id ORDER BY tenant_id LIMIT 1) n
         ), lost AS (
           SELECT id FROM runs WHERE $3 AND lease_expires_at < now() AND wake_at IS NOT NULL ORDER BY lease_expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
         ), forgotten AS (
           SELECT f.id FROM workspace CROSS JOIN LATERAL (
             SELECT id FROM runs WHERE tenant_id = workspace.tenant_id AND lease_expires_at IS NULL AND wake_at < now() - make_interval(secs => $1) ORDER BY wake_at LIMIT $2 FOR UPDATE SKIP LOCKED) f
           LIMIT $2
         ), stuck AS (
           SELECT id, true AS lost FROM lost UNION ALL SELECT id, false FROM forgotten
         ), repaired AS (
           UPDATE runs SET lease_expires_at = NULL,
             wake_at = now() + make_interval(secs => CASE WHEN stuck.lost AND lost_leases > 0 THEN least(60, 5 * power(3, lost_leases - 1)) ELSE 0 END),
             wake_count = wake_count + CASE WHEN stuck.lost THEN 1 ELSE 0 END, lost_leases = lost_leases + CASE WHEN stuck.lost THEN 1 ELSE 0 END
           FROM stuck WHERE runs.id = stuck.id RETURNING runs.id, runs.tenant_id, runs.wake_count, CASE WHEN runs.wake_at > now() THEN runs.wake_at END AS not_before
         )
         INSERT INTO outbox (tenant_id, job, job_id, data, not_before)
         SELECT tenant_id, 'run', 'run-' || id || '-' || wake_count, jsonb_build_object('runId', id, 'tenantId', tenant_id), not_before FROM repaired
         RETURNING id, tenant_id, data->>'runId' AS run_id, job_id, not_before`,
        [forgottenAfterSeconds, repairBatch, endLeases],
      ),
    { durable: false },
  );
  return rows.map((row) => ({ outboxId: Number(row.id), job: 'run', jobId: row.job_id, data: { runId: row.run_id, tenantId: row.tenant_id }, notBefore: row.not_before }));
}

/** A sweep that could not look for so long says nothing of the workers, which could not renew their leases either, in milliseconds. */
const blindAfterMs = 10_000;
/** How long they then have to do it: a little more than the time between two renewals, in milliseconds. */
const renewalGraceMs = (renewalSeconds + 2) * 1000;

/** Tells a worker that is gone from a database, or a machine, that was away: only who was there all the time may end leases. */
export class LeaseWatch {
  #lookedAt = Number.NEGATIVE_INFINITY;
  #blindUntil = Number.NEGATIVE_INFINITY;

  /** Whether leases that ran out may be ended, by somebody who looks now. */
  mayEnd(now: number): boolean {
    if (now - this.#lookedAt > blindAfterMs) this.#blindUntil = now + renewalGraceMs;
    return now >= this.#blindUntil;
  }

  /** To be told when a look succeeded. */
  looked(now: number): void {
    this.#lookedAt = now;
  }
}
