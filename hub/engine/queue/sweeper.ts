import type { Database } from '../../platform/db/database.ts';
import type { RunClaim } from '../runs/store.ts';

/** Runs that one transaction frees. */
export const repairBatch = 500;
/**
 * How a run is freed whose worker was lost, as SQL. It is due immediately the first time, and each further time in a row a while
 * later, so that a run that ends its workers leaves time for the others.
 */
const freedText = `holder_id = NULL, wake_count = wake_count + 1, lost_leases = lost_leases + 1,
  wake_at = now() + make_interval(secs => CASE WHEN lost_leases > 0 THEN least(60, 5 * power(3, least(lost_leases, 4) - 1)) ELSE 0 END)`;

/**
 * Frees runs of processes whose lease has ended, so that other workers take them. Several processes can do it at the same time:
 * locked rows are skipped.
 * @param options.endLeases false while processes possibly had no chance to renew their leases. The call still shows that the database
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
      // A transaction that writes the id of a process into a run can be open for up to a minute after the lease has ended.
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
 * Enters holders of runs that have no row in `worker_processes`, for example after the table was restored without them. Their leases
 * have ended, so that `repairRuns` frees their runs.
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

/** Frees runs that a process holds, and that it does not execute. */
export async function freeRuns(db: Database, holderId: string, held: readonly RunClaim[]): Promise<void> {
  await db.system(
    async (tx) => {
      const { rows } = await tx.query<{ tenant_id: string }>(
        'free_runs',
        `WITH lost AS MATERIALIZED (
           SELECT r.id FROM jsonb_to_recordset($2::jsonb) AS h("runId" uuid, fence bigint) CROSS JOIN LATERAL (
             SELECT id FROM runs WHERE id = h."runId" AND fence = h.fence AND holder_id = $1 FOR NO KEY UPDATE SKIP LOCKED) r
         )
         UPDATE runs SET ${freedText} WHERE id = ANY(ARRAY(SELECT id FROM lost)) RETURNING tenant_id`,
        [holderId, JSON.stringify(held)],
      );
      for (const row of rows) tx.wakeWorkers(row.tenant_id);
    },
    { durable: false },
  );
}

/** A sweep that could not look for so long says nothing of the workers, which could not renew their leases either, in milliseconds. */
const blindAfterMs = 10_000;
/** How long they then have to do it: the time to open a connection (10 s), and the pause between two renewals, in milliseconds. */
const renewalGraceMs = 15_000;

/** The clocks by which a `LeaseWatch` measures, in milliseconds. */
export interface LeaseClocks {
  /** Never goes back, but stands still while the machine sleeps. */
  monotonic: () => number;
  /** Goes on while the machine sleeps, but may be set forward or back. */
  wall: () => number;
}

const processClocks: LeaseClocks = { monotonic: () => performance.now(), wall: () => Date.now() };

/**
 * Tells workers that are gone from a database, or a machine, that was away: leases are ended only by a process that has looked at the
 * database regularly for as long as a worker needs to renew them. A clock that is set back does not prolong the wait.
 */
export class LeaseWatch {
  readonly #clocks: LeaseClocks;
  #lookedAt: { monotonic: number; wall: number } | null = null;
  /** By the monotonic clock. */
  #blindUntil = Number.NEGATIVE_INFINITY;
  #wasBlind = false;

  constructor(clocks = processClocks) {
    this.#clocks = clocks;
  }

  /** Whether expired leases may be ended now. */
  mayEnd(): boolean {
    const now = this.#clocks.monotonic();
    const sinceLook =
      this.#lookedAt === null
        ? Number.POSITIVE_INFINITY
        : Math.max(now - this.#lookedAt.monotonic, this.#clocks.wall() - this.#lookedAt.wall);
    if (sinceLook > blindAfterMs) {
      this.#wasBlind = true;
      this.#blindUntil = now + renewalGraceMs;
    }
    return now >= this.#blindUntil;
  }

  /** To be called when a look at the database succeeded. */
  looked(): void {
    this.#lookedAt = { monotonic: this.#clocks.monotonic(), wall: this.#clocks.wall() };
    // The look itself can have waited long for the database.
    if (this.#wasBlind) this.#blindUntil = this.#lookedAt.monotonic + renewalGraceMs;
    this.#wasBlind = false;
  }
}
