import type { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import { background } from '../../platform/process/background.ts';
import { LeaseLost } from '../failure.ts';
import type { RunClaim } from '../runs/store.ts';
import type { ExecutingRuns } from './executing-runs.ts';
import { freeRuns } from './sweeper.ts';

/** Duration of a lease, in seconds. The runs of a process are freed when its lease expires. */
export const leaseSeconds = 30;
/** Interval between two renewals of a lease, in seconds. */
export const renewalSeconds = 5;
/** Number of renewals between two searches for unknown runs. */
const renewalsPerSearch = 3;
/**
 * Timeout of a renewal, in milliseconds. It is shorter than the interval between two renewals. Otherwise the lease could expire because of
 * one connection that no longer responds.
 */
const timeoutMs = 4_000;

/**
 * The lease under which this process holds its runs. One row is renewed for all runs, so the cost does not depend on their number.
 * With each renewal, it checks that this process still holds the runs that it has executed for longer than the renewal interval.
 *
 * If the response to a claim is lost, this process holds the claimed runs without executing them. A periodic search finds these
 * unknown runs and frees them.
 */
export class WorkerLease implements AsyncDisposable {
  /** Identifies this lease and the holder of its runs. Every start of a process uses a new id. */
  readonly id = newId();
  readonly #db: Database;
  readonly #executing: ExecutingRuns;
  readonly #logger: Logger;
  /** Time when the last successful renewal was sent, by `performance.now()`. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #renewing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | null = null;
  #stopped = false;
  /** Remaining renewals until the next search for unknown runs. */
  #untilSearch = renewalsPerSearch;
  /** Unknown runs of the last search. */
  #unknown = new Set<string>();

  private constructor(db: Database, executing: ExecutingRuns, logger: Logger) {
    this.#db = db;
    this.#executing = executing;
    this.#logger = logger;
  }

  /** Acquires a lease, and renews it until disposed. */
  static async acquire(db: Database, executing: ExecutingRuns, logger: Logger): Promise<WorkerLease> {
    const lease = new WorkerLease(db, executing, logger);
    await lease.renew();
    lease.#timer = setInterval(() => {
      background(lease.#renewAndLog(), logger, 'renewal of the lease of this process');
      background(lease.#checkAndLog(), logger, 'check of the runs that this process holds');
    }, renewalSeconds * 1_000);
    return lease;
  }

  /**
   * Whether the lease has certainly not expired. After a pause of this process or of the database, it can have expired. A run that
   * is claimed then could be freed immediately.
   */
  get isCertainlyValid(): boolean {
    return performance.now() - this.#renewedAt < (leaseSeconds * 1_000) / 2;
  }

  /** Renews the lease. @throws DatabaseOutage */
  renew(): Promise<void> {
    if (this.#stopped) return Promise.resolve();
    this.#renewing ??= this.#renew().finally(() => {
      this.#renewing = null;
    });
    return this.#renewing;
  }

  /** Renews the lease unless it is certainly valid. @throws DatabaseOutage */
  async renewIfUncertain(): Promise<void> {
    if (!this.isCertainlyValid) await this.renew();
  }

  /** Ends the execution of runs that this process has lost: another process has claimed them, or they have ended. */
  async endLost(): Promise<void> {
    const claims = this.#executing.olderThan(renewalSeconds * 1_000);
    for (const claim of await findLost(this.#db, this.id, claims))
      this.#executing.lose(claim, new LeaseLost('the run was taken over, cancelled or ended'));
  }

  /** Frees unknown runs that two searches in a row have found: this process holds them without executing them. */
  async freeUnknown(): Promise<void> {
    const rows = await this.#db.systemStatement<{ id: string; fence: string }>(
      'runs_of_worker',
      'SELECT id, fence::text FROM runs WHERE holder_id = $1',
      [this.id],
    );
    const unknown = rows
      .map(({ id: runId, fence }) => ({ runId, fence }))
      .filter((claim) => !this.#executing.has(claim))
      .map((claim) => ({ claim, key: `${claim.runId} ${claim.fence}` }));
    const lost = unknown.filter(({ key }) => this.#unknown.has(key)).map(({ claim }) => claim);
    this.#unknown = new Set(unknown.map(({ key }) => key));
    if (lost.length === 0) return;
    await freeRuns(this.#db, this.id, lost);
    this.#logger.warn({ runs: lost.length }, 'freed runs that this process held without executing them');
  }

  /** Ends the lease. The next sweep frees the runs that this process still holds. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    clearInterval(this.#timer);
    await this.#renewing?.catch(() => undefined);
    try {
      await this.#db.systemStatement(
        'end_worker_lease',
        'UPDATE worker_processes SET lease_expires_at = now() WHERE id = $1',
        [this.id],
        { timeoutMs },
      );
    } catch (error) {
      this.#logger.warn({ err: error }, 'could not end the lease of this process; it expires by itself');
    }
  }

  async #renewAndLog(): Promise<void> {
    try {
      await this.renew();
    } catch (error) {
      // One missed renewal has no effect: the next renewals come before the lease expires.
      this.#logger.warn({ err: error }, 'could not renew the lease of this process');
    }
  }

  async #checkAndLog(): Promise<void> {
    if (this.#checking !== null) return;
    this.#checking = this.#check();
    try {
      await this.#checking;
    } catch (error) {
      this.#logger.warn({ err: error }, 'could not check which runs this process holds; the check is retried');
    } finally {
      this.#checking = null;
    }
  }

  async #check(): Promise<void> {
    // After a pause, a run that is held again under an expired lease would be freed a second time.
    await this.renewIfUncertain();
    await this.endLost();
    this.#untilSearch -= 1;
    if (this.#untilSearch > 0) return;
    this.#untilSearch = renewalsPerSearch;
    await this.freeUnknown();
  }

  async #renew(): Promise<void> {
    const sentAt = performance.now();
    await this.#db.systemStatement(
      'renew_worker_lease',
      `INSERT INTO worker_processes (id, lease_expires_at) VALUES ($1, now() + make_interval(secs => $2))
       ON CONFLICT (id) DO UPDATE SET lease_expires_at = excluded.lease_expires_at`,
      [this.id, leaseSeconds],
      { timeoutMs },
    );
    this.#renewedAt = sentAt;
  }
}

/**
 * Finds the runs that a process has lost. If a run was freed because the lease had expired, and no process has claimed it since, the
 * process becomes its holder again. A run that the process itself has released stays free. Otherwise its holder would be a process that
 * does not execute it.
 */
export async function findLost(db: Database, holderId: string, claims: readonly RunClaim[]): Promise<RunClaim[]> {
  if (claims.length === 0) return [];
  const rows = await db.systemStatement<{ id: string; fence: string }>(
    'find_lost_runs',
    `WITH claim AS MATERIALIZED (
       SELECT * FROM jsonb_to_recordset($2::jsonb) AS c("runId" uuid, fence bigint)
     ), freed AS MATERIALIZED (
       SELECT r.id FROM claim c CROSS JOIN LATERAL (
         SELECT id FROM runs WHERE id = c."runId" AND fence = c.fence AND ${isFreedText} FOR NO KEY UPDATE SKIP LOCKED) r
     ), reacquired AS (
       UPDATE runs SET holder_id = $1 WHERE id = ANY(ARRAY(SELECT id FROM freed))
     )
     SELECT c."runId" AS id, c.fence::text FROM claim c WHERE NOT EXISTS (
       SELECT 1 FROM runs r WHERE r.id = c."runId" AND r.fence = c.fence AND (r.holder_id = $1 AND r.status IN ('queued', 'running') OR ${isFreedText}))`,
    [holderId, JSON.stringify(claims)],
  );
  return rows.map(({ id: runId, fence }) => ({ runId, fence }));
}

/** Whether a run was freed by `repairRuns` or `freeRuns`, and no process has claimed it since, as SQL. */
const isFreedText = `holder_id IS NULL AND status = 'running' AND lost_leases > 0`;
