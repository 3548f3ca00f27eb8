import type { PromisedJob } from '../modules/runs/index.ts';
import type { Logger } from '../platform/logger.ts';

export interface LocalWorkerOptions {
  /** Jobs at a time. */
  concurrency: number;
  handler: (job: PromisedJob) => Promise<void>;
  logger: Logger;
}

/**
 * Does jobs in the very process that promised them, while it has a free place: a run that could begin here need not travel
 * through the queue. What it does not take goes there; what it took and a crash ended, the sweep brings back.
 */
export class LocalWorker {
  readonly #options: LocalWorkerOptions;
  readonly #running = new Set<Promise<void>>();
  #draining = false;

  constructor(options: LocalWorkerOptions) {
    this.#options = options;
  }

  /** Takes a job that is due, if there is a place for it. */
  take(job: PromisedJob): boolean {
    const { concurrency, handler, logger } = this.#options;
    const isDue = job.notBefore === null || job.notBefore.getTime() <= Date.now();
    if (!isDue || this.#draining || this.#running.size >= concurrency) return false;
    const work: Promise<void> = handler(job)
      .catch((error: unknown) => logger.error({ err: error, jobId: job.jobId }, 'a job failed; the sweep brings back what is left to do'))
      .finally(() => this.#running.delete(work));
    this.#running.add(work);
    return true;
  }

  /** Takes no more jobs and waits for those under way, at most until the deadline. */
  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true;
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, deadlineMs);
    await Promise.race([Promise.allSettled(this.#running), late.promise]);
    clearTimeout(timer);
  }
}
