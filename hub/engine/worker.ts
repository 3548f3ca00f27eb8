import { join } from 'node:path';
import type { Platform } from '../platform/open-platform.ts';
import { MemoryBudget } from '../platform/process/memory-budget.ts';
import { listDueRuns } from './due-runs.ts';
import { Engine } from './engine.ts';
import type { EngineDependencies } from './held-run.ts';
import { jobCatalog } from './jobs.ts';
import type { EnginePorts } from './ports.ts';
import { runMemory } from './run-outputs.ts';
import { RunPlaces } from './run-places.ts';
import type { RunQueue } from './run-queue.ts';
import { countProcessDeath } from './store.ts';
import { WorkingMarks } from './working-marks.ts';

export interface WorkerOptions extends Pick<EngineDependencies, 'skills' | 'onFinished' | 'validateOutputs'> {
  ports: EnginePorts;
  runQueue: RunQueue;
  home: string;
  worker: { concurrency: number; maxRuns: number };
  /** How long a stop waits for runs under way. */
  shutdownMs: number;
}

/** Works on runs until `stack` ends it. */
export async function startWorker(
  stack: AsyncDisposableStack,
  { db, events, logger, tracing }: Platform,
  { ports, runQueue: { queue, outbox, intake }, home, worker, shutdownMs, ...options }: WorkerOptions,
): Promise<void> {
  const mark = stack.use(
    await WorkingMarks.open(join(home, 'working'), { count: (visit) => countProcessDeath(db, visit), logger }),
  );
  const engine = new Engine({
    mark,
    memory: new MemoryBudget(runMemory()),
    db,
    events,
    logger,
    tracing,
    ...options,
    ...ports,
  });
  const shutdown = new AbortController();
  const places = new RunPlaces({
    ...worker,
    handler: (run, place) => engine.execute(run, shutdown.signal, place),
    giveBack: (run) => engine.giveBack(run),
    listDue: (after, except, room) => listDueRuns(db, after, except, room),
    logger,
  });
  const queueWorker = await queue.work({
    concurrency: places.maxFromQueue,
    handler: ({ data }) => places.accept(jobCatalog.run.data.parse(data)),
  });
  outbox.preferLocal((job) => places.take(job));
  intake.preferLocal((tenantId) => places.reserve(tenantId));
  stack.defer(async () => {
    // Steps that end by themselves in time may; the others are given back for another worker to take.
    const late = setTimeout(() => shutdown.abort(new Error('the hub stops')), shutdownMs / 2);
    await Promise.all([queueWorker.drain(shutdownMs), places.drain(shutdownMs)]);
    clearTimeout(late);
  });
}
