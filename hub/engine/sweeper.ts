import type { Database } from '../platform/db/database.ts';
import type { PromisedJob } from './accept-runs.ts';
import { renewalSeconds } from './store.ts';

const repairBatch = 500;
/**
 * Takes runs back from workers that let their lease run out, for others to take: the first one in a row at once, each further one a good while
 * later, so that a run which takes its workers down leaves time for the others. A run that merely waits for a worker is none of them: workers
 * look for those themselves. Two processes may do it at once: rows are taken with `skip locked`, and a job added twice is harmless.
 * @param options.endLeases false while workers may not have had the chance to renew theirs.
 */
export async function repairRuns(db: Database, { endLeases = true } = {}): Promise<PromisedJob[]> {
  const { rows } = await db.system(
    (tx) =>
      tx.query<{ id: string; tenant_id: string; run_id: string; job_id: string; not_before: Date | null }>(
        'repair_runs',
        `WITH lost AS (
           SELECT id FROM runs WHERE $2 AND lease_expires_at < now() AND wake_at IS NOT NULL ORDER BY lease_expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
         ), repaired AS (
           UPDATE runs SET lease_expires_at = NULL, wake_count = wake_count + 1, lost_leases = lost_leases + 1,
             wake_at = now() + make_interval(secs => CASE WHEN lost_leases > 0 THEN least(60, 5 * power(3, least(lost_leases, 4) - 1)) ELSE 0 END)
           FROM lost WHERE runs.id = lost.id RETURNING runs.id, runs.tenant_id, runs.wake_count, CASE WHEN runs.wake_at > now() THEN runs.wake_at END AS not_before
         )
         INSERT INTO outbox (tenant_id, job, job_id, data, not_before)
         SELECT tenant_id, 'run', 'run-' || id || '-' || wake_count, jsonb_build_object('runId', id, 'tenantId', tenant_id), not_before FROM repaired
         RETURNING id, tenant_id, data->>'runId' AS run_id, job_id, not_before`,
        [repairBatch, endLeases],
      ),
    { durable: false },
  );
  return rows.map((row) => ({
    outboxId: Number(row.id),
    job: 'run',
    jobId: row.job_id,
    data: { runId: row.run_id, tenantId: row.tenant_id },
    notBefore: row.not_before,
  }));
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
