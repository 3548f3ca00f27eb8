import type { Database } from '../../platform/db/database.ts';
import { LeaseLost } from '../failure.ts';
import type { ClaimedRun } from '../runs/store.ts';
import { admitClaimedRun } from './admission.ts';

/**
 * Starts a claimed run, or puts it back into its line if the limits of its workflow or the policy of its workspace hold it back.
 * @returns whether it was started.
 * @throws LeaseLost when somebody else has the run.
 */
export async function admitClaimed(db: Database, run: ClaimedRun): Promise<boolean> {
  if (run.started_at !== null) return true;
  const line = { tenantId: run.tenant_id, workflowId: run.workflow_id, environment: run.environment };
  const began = await db.workspace(run.tenant_id, (tx) =>
    admitClaimedRun(tx, line, { id: run.id, fence: run.fence, holderId: run.holder_id }),
  );
  if (began === null) throw new LeaseLost('the run was taken over, cancelled or ended');
  return began;
}
