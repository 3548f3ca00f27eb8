import { randomUUID } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';
import { RecoveryWatch } from '../../platform/observability/log-throttle.ts';
import type { Logger } from '../../platform/observability/logger.ts';
import { reasonOf } from '../../platform/observability/reason-of.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { Queue, QueueWorker } from '../../platform/queue/queue.ts';

/** Name of the queue. */
export const queueName = 'runs';

/** A job: these workspaces have due runs. */
const wakeUpSchema = z.object({
  tenantIds: z.array(z.uuid()),
  /** How many workers have passed it on because they had no room. */
  hops: z.int(),
});

/** A wake-up that workers without room have passed on so often is dropped: each of them claims more runs when it has room. */
const maxHops = 3;
/** Workspaces that one job names. Beyond that, it names none, and a worker looks through all. */
const maxNamed = 256;
/** Least time between two jobs of this process, in milliseconds. It doubles while many wake-ups come: then workers are busy anyway. */
const pauseMs = 25;
const manyWakeUps = 8;
/** Longest time between two jobs. Also the least time in a process with a worker, which needs others only while that one is busy. */
const maxPauseMs = 250;

/** The worker of this process. */
export interface LocalWorker {
  /** Claims due runs of workspaces. @returns false if another process should claim them, too. */
  wake(tenantIds: Iterable<string>): boolean;
  /** Looks for due runs of all workspaces. */
  list(): Promise<void>;
}

/**
 * Tells workers that workspaces have due runs: the worker of this process, and one of another process if this one has none or
 * no room. A wake-up is a hint and can be lost: workers also look for due runs at an interval.
 */
export class WakeUps implements AsyncDisposable {
  readonly #queue: Queue;
  readonly #logger: Logger;
  readonly #processId = randomUUID();
  readonly #closed = new AbortController();
  #jobs = 0;
  #worker: LocalWorker | null = null;
  readonly #named = new Set<string>();
  /** Wake-ups since the last job. */
  #wakeUps = 0;
  #sending: Promise<void> | null = null;

  constructor(queue: Queue, logger: Logger) {
    this.#queue = queue;
    this.#logger = logger;
  }

  /** Whether the queue, which carries wake-ups to other processes, responds. */
  ping(signal: AbortSignal): Promise<void> {
    return this.#queue.ping(signal);
  }

  /** Workspaces have due runs, by a transaction that was committed. */
  wake(tenantIds: Iterable<string>): void {
    if (this.#worker?.wake(tenantIds) !== true) this.send(tenantIds);
  }

  /** Wakes a worker of another process. */
  send(tenantIds: Iterable<string>): void {
    if (this.#closed.signal.aborted) return;
    for (const tenantId of tenantIds) this.#named.add(tenantId);
    this.#wakeUps += 1;
    if (this.#named.size > 0) this.#sending ??= this.#send();
  }

  /** Lets a worker of this process receive wake-ups, also those of other processes. */
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
    const leastMs = this.#worker === null ? pauseMs : maxPauseMs;
    let ms = leastMs;
    while (this.#named.size > 0) {
      // Collects the workspaces of concurrent requests.
      await setImmediate();
      const tenantIds = this.#named.size > maxNamed ? [] : [...this.#named];
      this.#named.clear();
      await this.#add({ tenantIds, hops: 0 });
      if (signal.aborted) break;
      this.#wakeUps = 0;
      await this.#pause(ms);
      ms = this.#wakeUps > manyWakeUps ? Math.min(ms * 2, maxPauseMs) : leastMs;
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

/** @throws AppError with one line when the queue cannot be used. */
export async function openWakeUps(
  stack: AsyncDisposableStack,
  { databaseUrl, logger }: Platform,
  redisUrl: string | null,
): Promise<WakeUps> {
  // Not loaded by commands, which execute no runs.
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
