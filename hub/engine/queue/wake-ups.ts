import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';
import { RecoveryWatch } from '../../platform/observability/log-throttle.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import { reasonOf } from '../../platform/observability/reason-of.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Queue, QueueWorker } from '../../platform/queue/queue.ts';

/** Name of the queue that carries wake-ups to other processes. */
export const queueName = 'runs';

/** A job: these workspaces have due runs. Without workspaces, the worker looks for due runs of all workspaces. */
const wakeUpSchema = z.object({
  tenantIds: z.array(z.uuid()),
  /** Number of workers that have forwarded the wake-up because they had no capacity. */
  hops: z.int(),
});

/** A wake-up is dropped after it was forwarded this often. Each of those workers claims the runs when it has capacity. */
const maxHops = 3;
/** Maximum number of workspaces that a job names. With more workspaces, the job names none. */
const maxWorkspacesPerJob = 256;
/** Minimum pause between two jobs of this process, in milliseconds. It doubles while there are many wake-ups, because workers are busy then. */
const minPauseMs = 25;
/** More wake-ups than this within one pause double the next pause. */
const manyWakeUps = 8;
/**
 * Maximum pause between two jobs, in milliseconds. A process with a worker always uses it, because it needs other processes only while
 * its own worker is busy.
 */
const maxPauseMs = 250;

/** The worker of this process. */
export interface LocalWorker {
  /** Claims due runs of workspaces. @returns false if another process should claim them, too. */
  wake(tenantIds: Iterable<string>): boolean;
  /** Looks for due runs of all workspaces. */
  list(): Promise<void>;
}

/**
 * Wakes a worker when workspaces have due runs: the worker of this process, or one of another process if this process has no worker
 * or no capacity. A wake-up is only a hint and can be lost: workers also look for due runs at an interval.
 */
export class WakeUps implements AsyncDisposable {
  readonly #queue: Queue;
  readonly #logger: Logger;
  readonly #processId = randomUUID();
  readonly #closed = new AbortController();
  #jobs = 0;
  #worker: LocalWorker | null = null;
  /** Workspaces of the next job. */
  readonly #pending = new Set<string>();
  /** Wake-ups since the last job. */
  #wakeUps = 0;
  #sending: Promise<void> | null = null;

  constructor(queue: Queue, logger: Logger) {
    this.#queue = queue;
    this.#logger = logger;
  }

  /** Checks that the queue responds. */
  ping(signal: AbortSignal): Promise<void> {
    return this.#queue.ping(signal);
  }

  /** Wakes a worker for workspaces with due runs. Call it after the commit. */
  wake(tenantIds: Iterable<string>): void {
    if (this.#worker?.wake(tenantIds) !== true) this.send(tenantIds);
  }

  /** Wakes a worker of another process: adds the workspaces to the next job. */
  send(tenantIds: Iterable<string>): void {
    if (this.#closed.signal.aborted) return;
    for (const tenantId of tenantIds) this.#pending.add(tenantId);
    this.#wakeUps += 1;
    if (this.#pending.size > 0) this.#sending ??= this.#send();
  }

  /** Registers the worker of this process, which then also receives wake-ups of other processes. */
  async receive(worker: LocalWorker): Promise<QueueWorker> {
    const queueWorker = await this.#queue.work({
      concurrency: 1,
      handler: async ({ data }) => {
        const { success, data: wakeUp } = wakeUpSchema.safeParse(data);
        if (!success || wakeUp.tenantIds.length === 0) await worker.list();
        else if (!worker.wake(wakeUp.tenantIds) && wakeUp.hops < maxHops)
          await this.#add({ ...wakeUp, hops: wakeUp.hops + 1 });
      },
    });
    this.#worker = worker;
    return queueWorker;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed.abort();
    await this.#sending;
  }

  async #send(): Promise<void> {
    const { signal } = this.#closed;
    const shortestMs = this.#worker === null ? minPauseMs : maxPauseMs;
    let pauseMs = shortestMs;
    while (this.#pending.size > 0) {
      // Collects the workspaces of concurrent requests.
      await setImmediate();
      const tenantIds = this.#pending.size > maxWorkspacesPerJob ? [] : [...this.#pending];
      this.#pending.clear();
      await this.#add({ tenantIds, hops: 0 });
      if (signal.aborted) break;
      this.#wakeUps = 0;
      await this.#pause(pauseMs);
      pauseMs = this.#wakeUps > manyWakeUps ? Math.min(pauseMs * 2, maxPauseMs) : shortestMs;
    }
    this.#sending = null;
  }

  /** Resolves after a time, or when this object is disposed. */
  async #pause(ms: number): Promise<void> {
    const { signal } = this.#closed;
    const over = Promise.withResolvers<void>();
    const end = () => over.resolve();
    const timer = setTimeout(end, ms);
    signal.addEventListener('abort', end, { once: true });
    await over.promise;
    clearTimeout(timer);
    signal.removeEventListener('abort', end);
  }

  async #add(wakeUp: z.infer<typeof wakeUpSchema>): Promise<void> {
    this.#jobs += 1;
    try {
      await this.#queue.add([{ name: 'wake', id: `${this.#processId}-${this.#jobs}`, data: wakeUp }]);
    } catch (error) {
      this.#logger.warn({ err: error }, 'workers of other processes could not be woken; they look for runs themselves');
    }
  }
}

/** Opens the queue for wake-ups. @throws AppError with a one-line message if the queue cannot be used. */
export async function openWakeUps(
  stack: AsyncDisposableStack,
  { databaseUrl, logger }: Platform,
  redisUrl: string | null,
): Promise<WakeUps> {
  // Imported only here, so that commands that execute no runs do not load it.
  const { createBullMqQueue } = await import('../../platform/queue/bullmq-queue.ts');
  const queue = stack.use(
    await createBullMqQueue({
      backend: redisUrl === null ? { kind: 'postgres', url: databaseUrl } : { kind: 'redis', url: redisUrl },
      name: queueName,
      logger,
    }).catch((error: unknown) => {
      throw new AppError('unavailable', `The queue can't be used: ${reasonOf(error)}.`, { cause: error });
    }),
  );
  if (redisUrl !== null) stack.use(new RecoveryWatch(logger, { redis: (signal) => queue.ping(signal) }));
  return stack.use(new WakeUps(queue, logger));
}
