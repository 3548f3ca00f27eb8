import { join } from 'node:path';
import type { Platform } from '../../platform/open-platform.ts';
import { MemoryBudget } from '../../platform/process/memory-budget.ts';
import type { QueueWorker } from '../../platform/queue/queue.ts';
import type { EnginePorts } from '../ports.ts';
import { Engine } from '../runs/engine.ts';
import type { EngineDependencies } from '../runs/run-context.ts';
import { runMemory } from '../runs/run-outputs.ts';
import { countProcessDeath } from '../runs/store.ts';
import type { RunIntake } from '../starts/intake.ts';
import { claimDueRuns, listDueWorkspaces } from './claim-runs.ts';
import { DuePoller } from './due-poller.ts';
import type { WakeUps } from './wake-ups.ts';
import { WorkerLease } from './worker-lease.ts';
import { WorkerPool } from './worker-pool.ts';
import { WorkingMarks } from './working-marks.ts';

export interface WorkerOptions extends Pick<EngineDependencies, 'skills' | 'onFinished' | 'validateOutputs'> {
  ports: EnginePorts;
  wakeUps: WakeUps;
  intake: RunIntake;
  home: string;
  /** Whether this process also serves requests. */
  serves: boolean;
  worker: { concurrency: number; maxRuns: number };
  /** Maximum time that a shutdown waits for runs in progress, in milliseconds. */
  shutdownMs: number;
}

/** Starts the worker of this process. It executes runs until `stack` is disposed. */
export async function startWorker(
  stack: AsyncDisposableStack,
  { db, events, logger, tracing }: Platform,
  { ports, wakeUps, intake, home, serves, worker, shutdownMs, ...options }: WorkerOptions,
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
  const lease = stack.use(await WorkerLease.acquire(db, engine.executing, logger));
  const pool = new WorkerPool({
    ...worker,
    execute: (run, slot) => engine.execute(run, shutdown.signal, slot),
    releaseRun: (run) => engine.releaseClaim(run),
    holderId: lease.id,
    logger,
  });
  const poller = new DuePoller({
    claim: async (requests) => {
      await lease.renewIfUncertain();
      return claimDueRuns(db, requests, lease.id);
    },
    listWorkspaces: (after) => listDueWorkspaces(db, after),
    pool,
    onFull: (tenantIds) => wakeUps.send(tenantIds),
    repeatsClaims: !serves,
    logger,
  });
  pool.onCapacity(() => poller.claim());
  let queueWorker: QueueWorker | undefined;
  stack.defer(async () => {
    // Steps have half of the time to end. The others are then aborted, and their runs are released for other workers.
    const abortTimer = setTimeout(() => shutdown.abort(new Error('the hub stops')), shutdownMs / 2);
    const drained = await Promise.allSettled([
      queueWorker?.drain(shutdownMs),
      pool.drain(shutdownMs, poller[Symbol.asyncDispose]()),
    ]);
    clearTimeout(abortTimer);
    for (const result of drained) if (result.status === 'rejected') throw result.reason;
  });
  queueWorker = await wakeUps.receive(poller);
  intake.preferLocal((tenantId) => (lease.isCertainlyValid ? pool.reserve(tenantId) : null));
}
