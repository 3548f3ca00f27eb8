import type { RowRetention } from '../../platform/db/row-retention.ts';
import type { Platform } from '../../platform/open-platform.ts';
import type { PeriodicTask } from '../../platform/process/periodic-tasks.ts';
import { wakeStalledConcurrencyQueues } from '../limits/wake-concurrency-queues.ts';
import { rollUp } from '../stats/rollups.ts';
import { enterUnknownHolders, LeaseWatch, repairBatch, repairRuns } from './sweeper.ts';

/** What keeps runs going: those that lost their worker or their turn. */
export function engineTasks({ db, logger }: Platform): PeriodicTask[] {
  const leases = new LeaseWatch();
  return [
    {
      name: 'runs',
      everyMs: 3_000,
      run: async (stopping) => {
        const endLeases = leases.mayEnd();
        for (let freed = repairBatch; freed === repairBatch && !stopping.aborted;) {
          freed = (await repairRuns(db, { endLeases })).length;
          if (freed > 0) logger.info({ runs: freed }, 'freed runs that had lost their worker');
        }
        leases.looked();
      },
    },
    {
      name: 'held runs',
      everyMs: 30_000,
      run: async () => {
        await enterUnknownHolders(db);
        await db.system((tx) => wakeStalledConcurrencyQueues(tx), { durable: false });
      },
    },
    { name: 'rollups', everyMs: 30_000, run: (stopping) => rollUp(db, stopping) },
  ];
}

export const engineRetention: RowRetention = {
  // With a run go its steps, log lines, effects and commands.
  ofWorkspaces: ['runs', 'flows'],
  // Steps go with their runs, or whole months of them before their runs do.
  monthly: [{ table: 'run_steps', key: 'run_id' }],
  expiring: [
    { table: 'run_starts', column: 'slice_at', days: 1 },
    { table: 'run_rollups', column: 'slice_at', days: 400 },
  ],
};
