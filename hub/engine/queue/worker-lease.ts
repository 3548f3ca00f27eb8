import type { Database } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import { background } from '../../platform/process/background.ts';
import { LeaseLost } from '../failure.ts';
import type { RunClaim } from '../runs/store.ts';
import type { ExecutingRuns } from './executing-runs.ts';
import { freeRuns } from './sweeper.ts';

/** How long a process can go without a renewal before its runs are freed, in seconds. */
export const leaseSeconds = 30;
/** Pause between two renewals of the lease of a process, in seconds. */
export const renewalSeconds = 5;
/** Renewals from one search for unknown runs to the next. */
const renewalsPerSearch = 3;
/**
 * How long a renewal waits for the response, in milliseconds. It is shorter than the pause between two renewals, because a
 * connection that no longer responds would otherwise end the lease.
 */
const timeoutMs = 4_000;

/**
 * The lease with which this process holds its runs. One row is renewed for all of them, so the cost does not depend on their
 * number. Beside each renewal, it checks that the runs that have been executed for some time are still this process's.
 *
 * A claim whose response was lost leaves a run that names this process, and that nothing executes. A search finds these runs and
 * frees them.
 */
export class WorkerLease implements AsyncDisposable {
  /** A new id for each start of a process: it identifies one lease. */
  readonly id = newId();
  readonly #db: Database;
  readonly #held: ExecutingRuns;
  readonly #logger: Logger;
  /** When the last successful renewal was sent, by `performance.now()`. */
  #renewedAt = Number.NEGATIVE_INFINITY;
  #renewing: Promise<void> | null = null;
  #timer: NodeJS.Timeout | undefined;
  #checking: Promise<void> | null = null;
  #stopped = false;
  #untilSearch = renewalsPerSearch;
  /** Runs of the last search that name this process, and that the engine does not execute. */
  #unknown = new Set<string>();

  private constructor(db: Database, held: ExecutingRuns, logger: Logger) {
    this.#db = db;
    this.#held = held;
    this.#logger = logger;
  }

  /** Acquires a lease, and renews it until disposed. */
  static async acquire(db: Database, held: ExecutingRuns, logger: Logger): Promise<WorkerLease> {
    const lease = new WorkerLease(db, held, logger);
    await lease.renew();
    lease.#timer = setInterval(() => {
      background(lease.#renewAndLog(), logger, 'renewal of the lease of this process');
      background(lease.#checkAndLog(), logger, 'check of the runs that this process holds');
    }, renewalSeconds * 1_000);
    return lease;
  }

  /**
   * Whether the lease certainly has not ended. It can have ended after a pause of this process or of the database: then a new run
   * could be freed immediately.
   */
  get isCertain(): boolean {
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

  /** Renews the lease if it can have ended. @throws DatabaseOutage */
  async assure(): Promise<void> {
    if (!this.isCertain) await this.renew();
  }

  /** Ends the execution of runs that another process has claimed, or that have ended. */
  async endLost(): Promise<void> {
    const held = this.#held.olderThan(renewalSeconds * 1_000);
    for (const claim of await findLost(this.#db, this.id, held))
      this.#held.lose(claim, new LeaseLost('the run was taken over, cancelled or ended'));
  }

  /** Frees the runs that two searches in a row found to be held by this process without being executed. */
  async freeUnknown(): Promise<void> {
    const rows = await this.#db.systemStatement<{ id: string; fence: string }>(
      'runs_of_worker',
      'SELECT id, fence::text FROM runs WHERE holder_id = $1',
      [this.id],
    );
    const unknown = rows
      .map(({ id: runId, fence }) => ({ runId, fence }))
      .filter((claim) => !this.#held.has(claim))
      .map((claim) => ({ claim, key: `${claim.runId} ${claim.fence}` }));
    const lost = unknown.filter(({ key }) => this.#unknown.has(key)).map(({ claim }) => claim);
    this.#unknown = new Set(unknown.map(({ key }) => key));
    if (lost.length === 0) return;
    await freeRuns(this.#db, this.id, lost);
    this.#logger.warn({ runs: lost.length }, 'freed runs that this process held without executing them');
  }

  /** Ends the lease. Runs that this process still holds are freed. */
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
      this.#logger.warn({ err: error }, 'could not end the lease of this process; it ends by itself');
    }
  }

  async #renewAndLog(): Promise<void> {
    try {
      await this.renew();
    } catch (error) {
      // One missed renewal loses nothing: the next one comes well before the lease ends.
      this.#logger.warn({ err: error }, 'could not renew the lease of this process');
    }
  }

  async #checkAndLog(): Promise<void> {
    if (this.#checking !== null) return;
    this.#checking = this.#check();
    try {
      await this.#checking;
    } catch (error) {
      this.#logger.warn({ err: error }, 'could not check which runs this process holds; it is tried again');
    } finally {
      this.#checking = null;
    }
  }

  async #check(): Promise<void> {
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
 * Finds the runs that a process has lost. A run that was freed because the lease of the process had ended, and that no process has
 * claimed since, is held again. A run that the process itself has released stays free: it would otherwise wait for a worker that
 * does not know of it.
 */
export async function findLost(db: Database, holderId: string, held: readonly RunClaim[]): Promise<RunClaim[]> {
  if (held.length === 0) return [];
  const rows = await db.systemStatement<{ id: string; fence: string }>(
    'find_lost_runs',
    `WITH held AS MATERIALIZED (
       SELECT * FROM jsonb_to_recordset($2::jsonb) AS h("runId" uuid, fence bigint)
     ), freed AS MATERIALIZED (
       SELECT r.id FROM held h CROSS JOIN LATERAL (
         SELECT id FROM runs WHERE id = h."runId" AND fence = h.fence AND ${isFreedText} FOR NO KEY UPDATE SKIP LOCKED) r
     ), held_again AS (
       UPDATE runs SET holder_id = $1 WHERE id = ANY(ARRAY(SELECT id FROM freed))
     )
     SELECT h."runId" AS id, h.fence::text FROM held h WHERE NOT EXISTS (
       SELECT 1 FROM runs r WHERE r.id = h."runId" AND r.fence = h.fence AND (r.holder_id = $1 AND r.status IN ('queued', 'running') OR ${isFreedText}))`,
    [holderId, JSON.stringify(held)],
  );
  return rows.map(({ id: runId, fence }) => ({ runId, fence }));
}

/** Whether a run was freed by `repairRuns` or `freeRuns`, and no process has claimed it since, as SQL. */
const isFreedText = `holder_id IS NULL AND status = 'running' AND lost_leases > 0`;
