import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { PeriodicTask } from '../../platform/process/periodic-tasks.ts';
import { wakeStalledConcurrencyQueues } from '../limits/wake-concurrency-queues.ts';
import { rollUp } from '../stats/rollups.ts';
import { enterUnknownHolders, LeaseWatch, repairBatch, repairRuns } from './sweeper.ts';

/** Periodic tasks of the engine: free the runs of lost processes, wake stalled concurrency queues, and fill the rollups. */
export function engineTasks({ db, logger }: Platform): PeriodicTask[] {
  const leaseWatch = new LeaseWatch();
  return [
    {
      name: 'runs',
      everyMs: 3_000,
      run: async (stopping) => {
        for (let freed = repairBatch; freed === repairBatch && !stopping.aborted;) {
          // Checked for each batch, because the machine can sleep between two batches.
          freed = (await repairRuns(db, { endLeases: leaseWatch.mayEnd() })).length;
          leaseWatch.looked();
          if (freed > 0) logger.info({ runs: freed }, 'freed runs that had lost their worker');
        }
      },
    },
    { name: 'unknown holders', everyMs: 30_000, run: () => enterUnknownHolders(db) },
    {
      name: 'concurrency queues',
      everyMs: 30_000,
      run: () => db.system((tx) => wakeStalledConcurrencyQueues(tx), { durable: false }),
    },
    { name: 'rollups', everyMs: 30_000, run: (stopping) => rollUp(db, stopping) },
  ];
}

export const engineRetention: RowRetention = {
  // Deleting a run also deletes its steps, log lines, effects and commands.
  ofWorkspaces: ['runs', 'flows'],
  // Steps are deleted with their runs, or earlier as a whole monthly partition.
  monthly: [{ table: 'run_steps', key: 'run_id' }],
  expiring: [
    { table: 'run_starts', column: 'slice_at', days: 1 },
    { table: 'run_rollups', column: 'slice_at', days: 400 },
  ],
};
