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
  /** Whether this process serves requests, too. */
  serves: boolean;
  worker: { concurrency: number; maxRuns: number };
  /** How long a stop waits for runs under way. */
  shutdownMs: number;
}

/** Works on runs until `stack` ends it. */
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
    giveBack: (run) => engine.giveBack(run),
    holderId: lease.id,
    logger,
  });
  const poller = new DuePoller({
    claim: async (asked) => {
      await lease.assure();
      return claimDueRuns(db, asked, lease.id);
    },
    listWorkspaces: (after) => listDueWorkspaces(db, after),
    pool,
    onFull: (tenantIds) => wakeUps.send(tenantIds),
    asksAgain: !serves,
    logger,
  });
  pool.onRoom(() => poller.claim());
  let queueWorker: QueueWorker | undefined;
  stack.defer(async () => {
    // Steps that end by themselves in time may; the others are given back for another worker to take.
    const late = setTimeout(() => shutdown.abort(new Error('the hub stops')), shutdownMs / 2);
    const ended = await Promise.allSettled([
      queueWorker?.drain(shutdownMs),
      pool.drain(shutdownMs, poller[Symbol.asyncDispose]()),
    ]);
    clearTimeout(late);
    for (const result of ended) if (result.status === 'rejected') throw result.reason;
  });
  queueWorker = await wakeUps.receive(poller);
  intake.preferLocal((tenantId) => (lease.isCertain ? pool.reserve(tenantId) : null));
}
