import { createPostgresBackend, Queue as BullQueue, runMigrations, Worker as BullWorker } from 'bullmq';
import type { ConnectionOptions, Job, JobsOptions, Processor } from 'bullmq';
import { Pool } from 'pg';
import { AppError } from '../../../shared/errors.ts';
import type { JsonObject } from '../../../shared/json.ts';
import type { Logger } from '../observability/logger.ts';
import type { Queue, QueueJob, QueueWorker, WorkOptions } from './queue.ts';

export type QueueBackend = { kind: 'postgres'; url: string } | { kind: 'redis'; url: string };

export interface BullMqQueueOptions {
  backend: QueueBackend;
  /** Name of the queue in its store. */
  name: string;
  logger: Logger;
  /** Time limit for closing connections to the store, in milliseconds; for tests. */
  closeDeadlineMs?: number;
}

/** Finished jobs are removed, so that their ids can be added again. */
const jobOptions: JobsOptions = { attempts: 1, removeOnComplete: true, removeOnFail: true };

const addDeadlineMs = 5_000;

/**
 * BullMQ passes a job to another worker when its lock is not renewed for this time. The holder of the run decides which
 * worker executes it.
 */
const lockMs = 60_000;

const redisPrefix = 'outrigger';
const postgresSchema = 'bullmq';

/**
 * A worker is started after it is ready. Otherwise, a worker whose store refuses the connection would retry in a loop
 * that blocks the event loop.
 */
const manualStart = { autorun: false };

/** Creates the BullMQ objects on one backend. */
interface Backend extends AsyncDisposable {
  queue(name: string): BullQueue;
  worker(name: string, processor: Processor, concurrency: number): BullWorker;
}

async function openPostgres(url: string, onError: (error: Error) => void): Promise<Backend> {
  // BullMQ sets the search_path only for pools that it creates, and it cannot create pools from an ES module. Workers do not
  // need lost jobs, so commits need not wait for the disk.
  const pool = new Pool({
    connectionString: url,
    max: 3,
    keepAlive: true,
    application_name: 'outrigger-queue',
    options: `-c search_path=${postgresSchema} -c synchronous_commit=off`,
  });
  pool.on('error', onError);
  const client = await pool.connect();
  try {
    await runMigrations(client, postgresSchema);
  } finally {
    client.release();
  }
  return {
    queue: (name) =>
      new BullQueue(
        name,
        { connection: pool, defaultJobOptions: jobOptions },
        createPostgresBackend,
      ) as unknown as BullQueue,
    worker: (name, processor, concurrency) =>
      new BullWorker(
        name,
        processor,
        { connection: pool, concurrency, lockDuration: lockMs, stalledInterval: lockMs / 2, ...manualStart },
        createPostgresBackend,
      ) as unknown as BullWorker,
    [Symbol.asyncDispose]: () => pool.end(),
  };
}

function openRedis(address: string): Backend {
  const url = new URL(address);
  const connection: ConnectionOptions = {
    host: url.hostname,
    port: Number(url.port || 6379),
    ...(url.username === '' ? {} : { username: decodeURIComponent(url.username) }),
    ...(url.password === '' ? {} : { password: decodeURIComponent(url.password) }),
    ...(url.pathname.length > 1 ? { db: Number(url.pathname.slice(1)) } : {}),
    ...(url.protocol === 'rediss:' ? { tls: {} } : {}),
  };
  return {
    // While Redis is unavailable, a producer fails fast, so that requests do not hang. A worker waits until Redis is
    // back.
    queue: (name) =>
      new BullQueue(name, {
        connection: { ...connection, maxRetriesPerRequest: 1 },
        prefix: redisPrefix,
        defaultJobOptions: jobOptions,
      }),
    worker: (name, processor, concurrency) =>
      new BullWorker(name, processor, {
        connection: { ...connection, maxRetriesPerRequest: null },
        prefix: redisPrefix,
        concurrency,
        lockDuration: lockMs,
        stalledInterval: lockMs / 2,
        ...manualStart,
      }),
    [Symbol.asyncDispose]: async () => undefined,
  };
}

/** Creates a queue with BullMQ on PostgreSQL or Redis. */
export async function createBullMqQueue({
  backend: { kind, url },
  name,
  logger,
  closeDeadlineMs = 5_000,
}: BullMqQueueOptions): Promise<Queue> {
  const part = kind === 'postgres' ? 'database' : 'redis';
  const onError = (error: Error) =>
    logger.warn({ err: error, part, queue: name }, 'the queue had an error; it reconnects automatically');
  const backend = kind === 'postgres' ? await openPostgres(url, onError) : openRedis(url);
  const queue = backend.queue(name);
  queue.on('error', onError);
  await queue.waitUntilReady();
  const workers = new Set<BullMqWorker>();

  return {
    async add(jobs: QueueJob[]) {
      if (jobs.length === 0) return;
      const added = queue.addBulk(
        jobs.map((job) => ({
          name: job.name,
          data: job.data,
          opts: {
            ...jobOptions,
            jobId: job.id,
          },
        })),
      );
      try {
        // A hanging store never responds. A job that is added after the deadline does no harm.
        await withinDeadline(added, addDeadlineMs);
      } catch (error) {
        throw new AppError('unavailable', 'The queue is out of reach.', { cause: error, internal: { part } });
      }
    },

    async work(workOptions: WorkOptions) {
      const worker = await BullMqWorker.start(backend, name, workOptions, logger, part);
      workers.add(worker);
      return worker;
    },

    async ping(signal: AbortSignal) {
      signal.throwIfAborted();
      await Promise.race([queue.getJobCounts('active'), rejectOnAbort(signal)]);
    },

    async [Symbol.asyncDispose]() {
      await Promise.all([...workers].map((worker) => worker.drain(5_000)));
      const close = async () => {
        try {
          await queue.close();
        } finally {
          await backend[Symbol.asyncDispose]();
        }
      };
      // A store that does not respond does not complete the close either.
      await withinDeadline(close(), closeDeadlineMs).catch((error: unknown) =>
        logger.warn({ err: error }, 'the queue did not close cleanly'),
      );
    },
  };
}

/** Time limit for closing a worker that has no jobs, in milliseconds. */
const shutdownFlushMs = 1_000;

class BullMqWorker implements QueueWorker {
  readonly #worker: BullWorker;
  readonly #jobs: Set<Promise<void>>;
  readonly #logger: Logger;
  #drained: Promise<void> | undefined;

  private constructor(worker: BullWorker, jobs: Set<Promise<void>>, logger: Logger) {
    this.#worker = worker;
    this.#jobs = jobs;
    this.#logger = logger;
  }

  static async start(
    backend: Backend,
    name: string,
    { concurrency, handler }: WorkOptions,
    logger: Logger,
    part: string,
  ): Promise<BullMqWorker> {
    const handle = async (job: Job) => {
      try {
        await handler({ name: job.name, id: job.id ?? '', data: job.data as JsonObject });
      } catch (error) {
        logger.error({ err: error, job: job.name, jobId: job.id }, 'a job failed');
      }
    };
    const jobs = new Set<Promise<void>>();
    const process = async (job: Job) => {
      const handled = handle(job);
      jobs.add(handled);
      await handled;
      jobs.delete(handled);
    };
    const worker = backend.worker(name, process, concurrency);
    const onError = (error: Error) =>
      logger.warn({ err: error, part, queue: name }, 'a worker had an error; it reconnects automatically');
    worker.on('error', onError);
    try {
      await worker.waitUntilReady();
    } catch (error) {
      // The worker has no jobs to finish, and its store may not respond.
      worker.close(true).catch(() => undefined);
      throw new AppError('unavailable', 'The queue is out of reach.', { cause: error, internal: { part } });
    }
    worker.run().catch(onError);
    return new BullMqWorker(worker, jobs, logger);
  }

  drain(deadlineMs: number): Promise<void> {
    this.#drained ??= this.#drain(deadlineMs);
    return this.#drained;
  }

  async #drain(deadlineMs: number): Promise<void> {
    const closed = this.#worker.close();
    const endsAt = performance.now() + deadlineMs;
    // A job that was being fetched may start while earlier jobs end.
    do {
      const done = await isDoneWithin(Promise.race([closed, Promise.all(this.#jobs)]), endsAt - performance.now());
      if (!done) {
        this.#logger.warn({ deadlineMs }, 'jobs were still active at the deadline');
        break;
      }
      if (await isDoneWithin(closed, shutdownFlushMs)) return;
    } while (this.#jobs.size > 0);
    // A connection that is reconnecting emits no `end` event, and BullMQ would wait for this event without a limit.
    this.#worker.disconnect().catch(() => undefined);
  }
}

/** Whether a promise resolves before a deadline. @throws the error of the promise. */
async function isDoneWithin(work: Promise<unknown>, deadlineMs: number): Promise<boolean> {
  const late = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => late.resolve(false), deadlineMs);
  try {
    return await Promise.race([work.then(() => true), late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

async function withinDeadline<Result>(work: Promise<Result>, deadlineMs: number): Promise<Result> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(() => late.reject(new Error(`no response within ${deadlineMs} ms`)), deadlineMs);
  try {
    return await Promise.race([work, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function rejectOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) =>
    signal.addEventListener('abort', () => reject(signal.reason as Error), { once: true }),
  );
}
