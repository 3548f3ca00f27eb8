import type { Database } from '../../platform/db/database.ts';
import { LeaseLost } from '../failure.ts';
import type { ClaimedRun } from '../runs/store.ts';
import { admitClaimedRun } from './admission.ts';

/**
 * Starts a claimed run if the limits of its workflow and the policy of its workspace allow it. Otherwise the run waits in its concurrency
 * queue without a holder.
 * @returns whether the run was started.
 * @throws LeaseLost when this process no longer holds the run.
 */
export async function admitClaimed(db: Database, run: ClaimedRun): Promise<boolean> {
  if (run.started_at !== null) return true;
  const queue = { tenantId: run.tenant_id, workflowId: run.workflow_id, environment: run.environment };
  const isStarted = await db.workspace(run.tenant_id, (tx) =>
    admitClaimedRun(tx, queue, { id: run.id, fence: run.fence, holderId: run.holder_id }),
  );
  if (isStarted === null) throw new LeaseLost('the run was taken over, cancelled or ended');
  return isStarted;
}
