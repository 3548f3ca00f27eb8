import { canonicalJson } from '../../shared/json.ts';
import { hashOf } from './call.ts';
import type { Asked, CallSite, Waiting } from './call.ts';
import { StepFailure } from './failure.ts';
import type { EngineDependencies, HeldRun } from './held-run.ts';
import type { Approval, NewApproval } from './ports.ts';

/** The terms of an approval that names no approvers. */
export const openApproval = { approvers: [], required: 1, escalateAfterSeconds: undefined, escalateTo: [] };

/** How long an approval that no step words itself waits, in seconds. */
export const approvalSeconds = 86_400;

/** Asks for an approval, once for each call. */
export function askApproval(
  deps: Pick<EngineDependencies, 'approvals'>,
  held: HeldRun,
  site: CallSite,
  approval: Omit<NewApproval, 'tenantId' | 'runId' | 'stepIndex' | 'attempt' | 'call'>,
): Asked {
  const { run } = held;
  const { index: stepIndex, attempt, call } = site;
  return {
    kind: 'waiting',
    status: 'waiting_approval',
    wakeInSeconds: null,
    requestHash: approval.requestHash ?? hashOf(canonicalJson(approval.request)),
    begin: async (tx) => ({
      kind: 'approval',
      approvalId: await deps.approvals.create(tx, {
        tenantId: run.tenant_id,
        runId: run.id,
        stepIndex,
        attempt,
        call,
        ...approval,
      }),
    }),
  };
}

/** The approval of a call once it was given; the wait for it while it is open; null when it was never asked for. @throws StepFailure when it was refused or came too late. */
export async function settledApproval(
  deps: Pick<EngineDependencies, 'approvals'>,
  held: HeldRun,
  site: CallSite,
): Promise<{ row: Approval } | Waiting | null> {
  const row = await held.read((tx) => deps.approvals.find(tx, held.runId, site.index, site.attempt, site.call));
  if (row === null) return null;
  if (row.status === 'pending')
    return {
      kind: 'waiting',
      status: 'waiting_approval',
      wakeInSeconds: null,
      begin: async () => ({ kind: 'approval', approvalId: row.id }),
    };
  if (row.status === 'approved') return { row };
  const by = row.decider?.name ?? row.decidedBy ?? 'nobody';
  if (row.status === 'rejected')
    throw new StepFailure(
      'approval_rejected',
      `Rejected by ${by}${row.note === null || row.note === '' ? '' : `: ${row.note}`}`,
      { retryable: false },
    );
  throw new StepFailure('approval_expired', 'Nobody decided in time.', { retryable: false });
}
