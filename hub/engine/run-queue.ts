import { AppError } from '../../shared/errors.ts';
import { RecoveryWatch } from '../platform/observability/log-throttle.ts';
import { reasonOf } from '../platform/observability/reason-of.ts';
import type { Platform } from '../platform/open-platform.ts';
import type { Queue } from '../platform/queue/queue.ts';
import { RunIntake } from './intake.ts';
import { jobCatalog } from './jobs.ts';
import { Outbox } from './outbox.ts';

/** The queue that wakes workers, the outbox that fills it, and the intake that needs neither where a worker of this process has room. */
export interface RunQueue {
  queue: Queue;
  outbox: Outbox;
  intake: RunIntake;
}

/** @param stack ends it. @throws AppError with one line when the queue can't be used. */
export async function openRunQueue(
  stack: AsyncDisposableStack,
  { db, databaseUrl, logger }: Platform,
  redisUrl: string | null,
): Promise<RunQueue> {
  // Not loaded by commands, which run nothing.
  const { createBullMqQueue } = await import('../platform/queue/bullmq-queue.ts');
  const queue = stack.use(
    await createBullMqQueue({
      backend: redisUrl === null ? { kind: 'postgres', url: databaseUrl } : { kind: 'redis', url: redisUrl },
      name: jobCatalog.run.queue,
      logger,
    }).catch((error: unknown) => {
      throw new AppError('unavailable', `The queue can't be used: ${reasonOf(error)}.`, { cause: error });
    }),
  );
  if (redisUrl !== null) stack.use(new RecoveryWatch(logger, { redis: (signal) => queue.ping(signal) }));
  const outbox = stack.use(new Outbox({ db, queue, logger }));
  return { queue, outbox, intake: new RunIntake(db) };
}
