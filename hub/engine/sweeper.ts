import type { PromisedJob } from '../modules/runs/index.ts';
import type { Database } from '../platform/db/database.ts';
import { logRecovery } from '../platform/log-repeats.ts';
import type { Logger } from '../platform/logger.ts';

export interface SweeperOptions {
  db: Database;
  logger: Logger;
  dispatch: (jobs: PromisedJob[]) => void;
  /** What else is due from time to time: approvals and commands past their time, the outbox, old rows. */
  tasks: { name: string; everyMs: number; run: () => Promise<unknown> }[];
}

const repairBatch = 500;
/** A run that wanted a worker for so long may have lost its job, in seconds. */
const forgottenAfterSeconds = 8;

/**
 * Repairs runs whose row and job disagree: a lease that ran out with its worker, and a run that wants a worker and got none.
 * Every process may sweep; rows are taken with `skip locked`, and a job added twice is harmless.
 */
export async function repairRuns(db: Database): Promise<PromisedJob[]> {
  const { rows } = await db.system(
    (tx) =>
      tx.query<{ id: string; run_id: string; job_id: string }>(
        'repair_runs',
        `WITH stuck AS (
           SELECT id, (lease_expires_at IS NOT NULL) AS lost FROM runs
           WHERE wake_at IS NOT NULL AND (
             (lease_expires_at < now()) OR (lease_expires_at IS NULL AND wake_at < now() - make_interval(secs => $1))
           )
           ORDER BY wake_at LIMIT $2 FOR UPDATE SKIP LOCKED
         ), repaired AS (
           UPDATE runs SET wake_at = now(), lease_expires_at = NULL,
             wake_count = wake_count + CASE WHEN stuck.lost THEN 1 ELSE 0 END, lost_leases = lost_leases + CASE WHEN stuck.lost THEN 1 ELSE 0 END
           FROM stuck WHERE runs.id = stuck.id RETURNING runs.id, runs.tenant_id, runs.wake_count
         )
         INSERT INTO outbox (tenant_id, job, job_id, data)
         SELECT tenant_id, 'run', 'run-' || id || '-' || wake_count, jsonb_build_object('runId', id) FROM repaired
         RETURNING id, data->>'runId' AS run_id, job_id`,
        [forgottenAfterSeconds, repairBatch],
      ),
    { durable: false },
  );
  return rows.map((row) => ({ outboxId: Number(row.id), job: 'run', jobId: row.job_id, data: { runId: row.run_id }, notBefore: null }));
}

/** Runs its tasks on their own beats until it is disposed; one that fails is logged and comes again. */
export class Sweeper implements AsyncDisposable {
  readonly #timers: NodeJS.Timeout[] = [];
  readonly #underWay = new Set<Promise<void>>();
  #closed = false;

  constructor(options: SweeperOptions) {
    const repair = {
      name: 'runs',
      everyMs: 3_000,
      run: async () => {
        const jobs = await repairRuns(options.db);
        if (jobs.length > 0) options.logger.info({ runs: jobs.length }, 'woke runs that had lost their worker or their job');
        options.dispatch(jobs);
      },
    };
    for (const task of [repair, ...options.tasks]) {
      const part = `sweep of ${task.name}`;
      let busy = false;
      const beat = async () => {
        if (busy || this.#closed) return;
        busy = true;
        try {
          await task.run();
          logRecovery(options.logger, part);
        } catch (error) {
          options.logger.warn({ err: error, part }, 'a sweep failed; it comes again');
        } finally {
          busy = false;
        }
      };
      const start = () => {
        const turn = beat().finally(() => this.#underWay.delete(turn));
        this.#underWay.add(turn);
      };
      start();
      this.#timers.push(setInterval(start, task.everyMs));
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    for (const timer of this.#timers) clearInterval(timer);
    await Promise.allSettled(this.#underWay);
  }
}
