import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/observability/logger.ts';
import type { OutboxJob, Queue, QueueJob } from '../platform/queue/queue.ts';

export interface OutboxOptions {
  db: Database;
  queue: Queue;
  logger: Logger;
}

interface OutboxRow {
  id: string;
  job: string;
  job_id: string;
  data: OutboxJob['data'];
  not_before: Date | null;
}

/** Takes a job in this process, or says that it can't. */
export type LocalTake = (job: OutboxJob) => boolean;

/** Rows younger than this are left to the process that wrote them, in seconds. */
const adoptAfterSeconds = 2;
const batchSize = 200;
/** Jobs of one workspace that the queue gets from one process in a second. */
const maxJobsPerSecond = 256;
/**
 * Of those that want a worker at once where this process has one, which is full and looks for more as soon as it is not: a job costs the queue more than
 * several runs cost all in all, and of many the others need only hear that there are some.
 */
const maxBesideWorker = 8;
/** How often the workers are told to look for more, in milliseconds. */
const lookEveryMs = 250;

/**
 * Hands promised jobs to the queue: those of this process at once, in batches; those that a dead process left behind when the
 * sweep finds them. A row goes only after the queue has its job, so a job may be added twice, never lost.
 */
export class Outbox implements AsyncDisposable {
  readonly #options: OutboxOptions;
  #offered: OutboxJob[] = [];
  /** Those that this process does itself, whose rows may go. */
  #taken: OutboxJob[] = [];
  #flushing: Promise<void> | undefined;
  #closed = false;
  /** How many jobs of each workspace the queue got in this second. */
  readonly #named = new Map<string, number>();
  #second = 0;
  #takeHere: LocalTake | null = null;

  constructor(options: OutboxOptions) {
    this.#options = options;
  }

  /** Lets a worker of this process have the first pick. */
  preferLocal(take: LocalTake): void {
    this.#takeHere = take;
  }

  /** Takes jobs whose rows are committed. Never fails: what can't be handed over now stays in the table. */
  offer(jobs: OutboxJob[]): void {
    if (jobs.length === 0 || this.#closed) return;
    // What this process takes itself must not wait for a queue that is slow or away.
    for (const job of jobs) (this.#takeHere?.(job) === true ? this.#taken : this.#offered).push(job);
    this.#flushing ??= this.#flush().finally(() => {
      this.#flushing = undefined;
    });
  }

  /**
   * Adopts rows that nobody handed over, those that waited longest first; part of the sweep. While the queue is away this process does what it has
   * places for, and the rest stays. Answers how many were handed over.
   */
  async sweep(stopping?: AbortSignal): Promise<number> {
    let adopted = 0;
    for (;;) {
      const rows = await this.#options.db.systemStatement<OutboxRow>(
        'adopt_outbox',
        `WITH due AS (
           SELECT id FROM outbox WHERE created_at < now() - make_interval(secs => $1) ORDER BY created_at, id LIMIT $2 FOR UPDATE SKIP LOCKED
         )
         UPDATE outbox o SET created_at = now() FROM due WHERE o.id = due.id RETURNING o.id, o.job, o.job_id, o.data, o.not_before`,
        [adoptAfterSeconds, batchSize],
      );
      if (rows.length === 0) return adopted;
      const jobs = rows.map((row): OutboxJob => ({
        outboxId: Number(row.id),
        name: row.job,
        id: row.job_id,
        data: row.data,
        notBefore: row.not_before,
      }));
      const here = jobs.filter((job) => this.#takeHere?.(job) === true);
      await this.#forget(here);
      await this.#handOver(jobs.filter((job) => !here.includes(job)));
      adopted += rows.length;
      if (rows.length < batchSize || stopping?.aborted === true) return adopted;
    }
  }

  /** Hands over what was offered before and takes no more. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    const { logger } = this.#options;
    // One turn of the loop gathers what other requests promise at the same time.
    await new Promise((resolve) => setImmediate(resolve));
    while (this.#taken.length + this.#offered.length > 0) {
      const [taken, batch] = [this.#taken.splice(0, batchSize), this.#offered.splice(0, batchSize)];
      try {
        await Promise.all([this.#forget(taken), this.#handOver(batch)]);
      } catch (error) {
        // With what came meanwhile: kept here, it would grow for as long as the queue is away.
        const jobs = batch.length + this.#offered.splice(0).length;
        logger.warn({ err: error, jobs }, 'jobs stay in the outbox; the sweep will hand them over');
      }
    }
  }

  /** Gives jobs to the queue; only then do their rows go. */
  async #handOver(jobs: OutboxJob[]): Promise<void> {
    if (jobs.length === 0) return;
    const now = Date.now();
    const named = jobs.filter((job) => this.#isWithinShare(job, now));
    const added: QueueJob[] = named.map(({ name, id, data, notBefore }) => ({
      name,
      id,
      data,
      ...(notBefore === null ? {} : { notBefore }),
    }));
    // For the others the workers look themselves, some of each workspace: one that floods the queue stands in nobody's way.
    if (named.length < jobs.length) added.push({ name: 'run', id: `more-${Math.floor(now / lookEveryMs)}`, data: {} });
    await this.#options.queue.add(added);
    await this.#forget(jobs);
  }

  /** Whether the queue takes one more job of a workspace in this second. */
  #isWithinShare({ data: { tenantId }, notBefore }: OutboxJob, now: number): boolean {
    const second = Math.floor(now / 1000);
    if (second !== this.#second) {
      this.#second = second;
      this.#named.clear();
    }
    const count = (this.#named.get(tenantId) ?? 0) + 1;
    this.#named.set(tenantId, count);
    return count <= (this.#takeHere !== null && notBefore === null ? maxBesideWorker : maxJobsPerSecond);
  }

  async #forget(jobs: OutboxJob[]): Promise<void> {
    if (jobs.length === 0) return;
    await this.#options.db.systemStatement('delete_outbox', 'DELETE FROM outbox WHERE id = ANY($1)', [
      jobs.map((job) => job.outboxId),
    ]);
  }
}
