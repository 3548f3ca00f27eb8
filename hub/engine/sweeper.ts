import type { Database } from '../platform/db/database.ts';
import { renewalSeconds } from './store.ts';

const repairBatch = 500;
/**
 * Takes runs back from workers that let their lease run out, for others to take: the first one in a row at once, each further one a good while
 * later, so that a run which takes its workers down leaves time for the others. A run that merely waits for a worker is none of them: workers
 * look for those themselves. Two processes can do it at the same time: locked rows are skipped.
 * @param options.endLeases false while workers may not have had the chance to renew theirs.
 * @returns the ids of the woken runs.
 */
export async function repairRuns(db: Database, { endLeases = true } = {}): Promise<string[]> {
  return db.system(
    async (tx) => {
      const { rows } = await tx.query<{ id: string; tenant_id: string }>(
        'repair_runs',
        `WITH lost AS (
           SELECT id FROM runs WHERE $2 AND lease_expires_at < now() AND wake_at IS NOT NULL ORDER BY lease_expires_at LIMIT $1 FOR UPDATE SKIP LOCKED
         ), repaired AS (
           UPDATE runs SET lease_expires_at = NULL, wake_count = wake_count + 1, lost_leases = lost_leases + 1,
             wake_at = now() + make_interval(secs => CASE WHEN lost_leases > 0 THEN least(60, 5 * power(3, least(lost_leases, 4) - 1)) ELSE 0 END)
           FROM lost WHERE runs.id = lost.id RETURNING runs.id, runs.tenant_id
         )
         SELECT * FROM repaired`,
        [repairBatch, endLeases],
      );
      for (const row of rows) tx.wakeWorkers(row.tenant_id);
      return rows.map((row) => row.id);
    },
    { durable: false },
  );
}

/** A sweep that could not look for so long says nothing of the workers, which could not renew their leases either, in milliseconds. */
const blindAfterMs = 10_000;
/** How long they then have to do it: a little more than the time between two renewals, in milliseconds. */
const renewalGraceMs = (renewalSeconds + 2) * 1000;

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
    if (sinceLook > blindAfterMs) this.#blindUntil = now + renewalGraceMs;
    return now >= this.#blindUntil;
  }

  /** To be called when a look at the database succeeded. */
  looked(): void {
    this.#lookedAt = { monotonic: this.#clocks.monotonic(), wall: this.#clocks.wall() };
  }
}
