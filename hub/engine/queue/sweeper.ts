import type { Database } from '../../platform/db/database.ts';
import type { RunClaim } from '../runs/store.ts';

/** Maximum number of runs that one transaction frees. */
export const repairBatch = 500;
/**
 * Frees a run whose process was lost, as SQL. The run is due immediately the first time. Each further time in a row, an increasing
 * delay of 5 to 60 s applies. A run that crashes its workers thus leaves time for other runs.
 */
const freedText = `holder_id = NULL, wake_count = wake_count + 1, lost_leases = lost_leases + 1,
  wake_at = now() + make_interval(secs => CASE WHEN lost_leases > 0 THEN least(60, 5 * power(3, least(lost_leases, 4) - 1)) ELSE 0 END)`;

/**
 * Frees the runs of processes whose lease has expired, so that other processes can claim them. Several processes can call it at the
 * same time: locked rows are skipped.
 * @param options.endLeases false while processes possibly could not renew their leases. Then the call only checks that the database
 * responds.
 * @returns the ids of the freed runs, at most `repairBatch`.
 */
export async function repairRuns(db: Database, { endLeases = true } = {}): Promise<string[]> {
  return db.system(
    async (tx) => {
      const { rows } = await tx.query<{ id: string; tenant_id: string }>(
        'repair_runs',
        `WITH ended AS MATERIALIZED (
           SELECT id FROM worker_processes WHERE $2 AND lease_expires_at < now()
         ), lost AS MATERIALIZED (
           SELECT r.id FROM ended e CROSS JOIN LATERAL (SELECT id FROM runs WHERE holder_id = e.id LIMIT $1 FOR NO KEY UPDATE SKIP LOCKED) r LIMIT $1
         )
         UPDATE runs SET ${freedText} WHERE id = ANY(ARRAY(SELECT id FROM lost)) RETURNING id, tenant_id`,
        [repairBatch, endLeases],
      );
      // For up to a minute after the lease has expired, an open transaction can still write the id of the process into a run.
      await tx.query(
        'remove_ended_workers',
        `DELETE FROM worker_processes p WHERE lease_expires_at < now() - interval '5 minutes' AND $1 AND NOT EXISTS (SELECT 1 FROM runs WHERE holder_id = p.id)`,
        [endLeases],
      );
      for (const row of rows) tx.wakeWorkers(row.tenant_id);
      return rows.map((row) => row.id);
    },
    { durable: false },
  );
}

/**
 * Adds rows to `worker_processes` for holders of runs that have none, for example after the table was restored without them. Their
 * leases are expired, so that `repairRuns` frees their runs.
 */
export async function enterUnknownHolders(db: Database): Promise<void> {
  await db.systemStatement(
    'enter_unknown_holders',
    `WITH RECURSIVE holder AS (
       (SELECT holder_id FROM runs WHERE holder_id IS NOT NULL ORDER BY holder_id LIMIT 1)
       UNION ALL
       SELECT n.holder_id FROM holder h CROSS JOIN LATERAL (SELECT holder_id FROM runs WHERE holder_id > h.holder_id ORDER BY holder_id LIMIT 1) n
     )
     INSERT INTO worker_processes (id, lease_expires_at) SELECT holder_id, now() FROM holder ON CONFLICT (id) DO NOTHING`,
    [],
  );
}

/** Frees runs that a process holds without executing them. */
export async function freeRuns(db: Database, holderId: string, claims: readonly RunClaim[]): Promise<void> {
  await db.system(
    async (tx) => {
      const { rows } = await tx.query<{ tenant_id: string }>(
        'free_runs',
        `WITH lost AS MATERIALIZED (
           SELECT r.id FROM jsonb_to_recordset($2::jsonb) AS c("runId" uuid, fence bigint) CROSS JOIN LATERAL (
             SELECT id FROM runs WHERE id = c."runId" AND fence = c.fence AND holder_id = $1 FOR NO KEY UPDATE SKIP LOCKED) r
         )
         UPDATE runs SET ${freedText} WHERE id = ANY(ARRAY(SELECT id FROM lost)) RETURNING tenant_id`,
        [holderId, JSON.stringify(claims)],
      );
      for (const row of rows) tx.wakeWorkers(row.tenant_id);
    },
    { durable: false },
  );
}

/** After a longer gap between two sweeps, the other processes possibly could not renew their leases either, in milliseconds. */
const maxSweepGapMs = 10_000;
/** Time that processes have to renew their leases after such a gap: the time to open a connection (10 s) plus a renewal interval (5 s). */
const renewalGraceMs = 15_000;

/** The clocks of a `LeaseWatch`, in milliseconds. */
export interface LeaseClocks {
  /** Never goes back, but stops while the machine sleeps. */
  monotonic: () => number;
  /** Continues while the machine sleeps, but can be set forward or back. */
  wall: () => number;
}

const processClocks: LeaseClocks = { monotonic: () => performance.now(), wall: () => Date.now() };

/**
 * Decides whether expired leases can be ended. After an outage of the database or a pause of the machine, the leases of live processes can
 * be expired, too. Therefore leases are ended only when this process has reached the database regularly for as long as processes
 * need to renew their leases. A clock that is set back does not prolong the wait.
 */
export class LeaseWatch {
  readonly #clocks: LeaseClocks;
  #lastSweep: { monotonic: number; wall: number } | null = null;
  /** End of the time to renew leases, by the monotonic clock. */
  #graceUntil = Number.NEGATIVE_INFINITY;
  /** Whether there was a gap before the current sweep. */
  #hasGap = false;

  constructor(clocks = processClocks) {
    this.#clocks = clocks;
  }

  /** Whether expired leases can be ended now. */
  mayEnd(): boolean {
    const now = this.#clocks.monotonic();
    const gapMs =
      this.#lastSweep === null
        ? Number.POSITIVE_INFINITY
        : Math.max(now - this.#lastSweep.monotonic, this.#clocks.wall() - this.#lastSweep.wall);
    if (gapMs > maxSweepGapMs) {
      this.#hasGap = true;
      this.#graceUntil = now + renewalGraceMs;
    }
    return now >= this.#graceUntil;
  }

  /** Records a successful sweep. */
  looked(): void {
    this.#lastSweep = { monotonic: this.#clocks.monotonic(), wall: this.#clocks.wall() };
    // The sweep itself can have waited long for the database, so the time to renew starts now.
    if (this.#hasGap) this.#graceUntil = this.#lastSweep.monotonic + renewalGraceMs;
    this.#hasGap = false;
  }
}
