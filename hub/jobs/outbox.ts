import { inArray, lt, sql } from 'drizzle-orm';
import type { PromisedJob } from '../modules/runs/index.ts';
import type { Database } from '../platform/db/database.ts';
import { outbox } from '../platform/db/schema.ts';
import type { Logger } from '../platform/logger.ts';
import type { Queue } from '../platform/queue/queue.ts';

export interface OutboxOptions {
  db: Database;
  queue: Queue;
  logger: Logger;
}

/** Takes a job in this process, or says that it can't. */
export type LocalTake = (job: PromisedJob) => boolean;

/** Rows younger than this are left to the process that wrote them, in seconds. */
const adoptAfterSeconds = 2;
const batchSize = 200;

/**
 * Hands promised jobs to the queue: those of this process at once, in batches; those that a dead process left behind when the
 * sweep finds them. A row goes only after the queue has its job, so a job may be added twice, never lost.
 */
export class Outbox implements AsyncDisposable {
  readonly #options: OutboxOptions;
  #offered: PromisedJob[] = [];
  #flushing: Promise<void> | undefined;
  #closed = false;
  #takeHere: LocalTake = () => false;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Lets a worker of this process have the first pick. */
  preferLocal(take: LocalTake): void {
    this.#takeHere = take;
  }

  /** Takes jobs whose rows are committed. Never fails: what can't be handed over now stays in the table. */
  offer(jobs: PromisedJob[]): void {
    if (jobs.length === 0 || this.#closed) return;
    this.#offered.push(...jobs);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
  }

  /** Adopts rows that nobody handed over; part of the sweep. Answers how many. */
  async sweep(): Promise<number> {
    const { db, queue } = this.#options;
    let adopted = 0;
    for (;;) {
      const count = await db.system(
        async (tx) => {
          const rows = await tx
            .select()
            .from(outbox)
            .where(lt(outbox.createdAt, sql`now() - make_interval(secs => ${adoptAfterSeconds})`))
            .orderBy(outbox.id)
            .limit(batchSize)
            .for('update', { skipLocked: true });
          if (rows.length === 0) return 0;
          await queue.add(rows.map((row) => ({ name: row.job, id: row.jobId, data: row.data, ...(row.notBefore === null ? {} : { notBefore: row.notBefore }) })));
          await tx.delete(outbox).where(inArray(outbox.id, rows.map((row) => row.id)));
          return rows.length;
        },
        { durable: false },
      );
      adopted += count;
      if (count < batchSize) return adopted;
    }
  }

  /** Hands over what was offered before and takes no more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    const { db, queue, logger } = this.#options;
    // One turn of the loop gathers what other requests promise at the same time.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#offered.length > 0) {
      const batch = this.#offered.splice(0, batchSize);
      try {
        const elsewhere = batch.filter((job) => !this.#takeHere(job));
        await queue.add(elsewhere.map(({ job, jobId, data, notBefore }) => ({ name: job, id: jobId, data, ...(notBefore === null ? {} : { notBefore }) })));
        await db.systemStatement('delete_outbox', 'DELETE FROM outbox WHERE id = ANY($1)', [batch.map((job) => job.outboxId)]);
      } catch (error) {
        logger.warn({ err: error, jobs: batch.length }, 'jobs stay in the outbox; the sweep will hand them over');
      }
    }
  }
}
