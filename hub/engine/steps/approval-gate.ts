import { canonicalJson } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { heapOf } from '../../platform/process/memory-budget.ts';
import { hashOf } from '../calls/call.ts';
import type { ApprovalWait, CallSite, OpenWait } from '../calls/call.ts';
import { StepFailure } from '../failure.ts';
import type { Approval, NewApproval } from '../ports.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';

/** Terms of an approval that names no approvers. */
export const defaultApprovalTerms = { approvers: [], required: 1, escalateAfterSeconds: undefined, escalateTo: [] };

/** How long an approval waits that a policy or a node command requires, in seconds. */
export const defaultApprovalExpirySeconds = 86_400;

/** Maximum size of the request of an approval, as JSON in UTF-8, in bytes. An approver must be able to read it. */
const maxRequestBytes = 256 * 1024;
/** Maximum heap that a request uses, in bytes. Lists contain many requests. */
const maxRequestHeap = 2 * 1024 * 1024;

/** @throws StepFailure `approval_too_large` with the size and the limit. */
function assertRequestFits(request: JsonObject, text: string): void {
  const bytes = Buffer.byteLength(text);
  const heap = heapOf(request);
  if (bytes <= maxRequestBytes && heap <= maxRequestHeap) return;
  const size =
    bytes > maxRequestBytes
      ? `has ${bytes} bytes, and the limit is ${maxRequestBytes}`
      : `has so many values that it uses ${heap} bytes of memory, and the limit is ${maxRequestHeap}`;
  throw new StepFailure(
    'approval_too_large',
    `What a person would approve ${size}. Let the step take less, such as one field instead of the whole payload.`,
    { retryable: false },
  );
}

/**
 * Builds the wait for a new approval of a call. `requestHash` defaults to the hash of the canonical request.
 * @throws StepFailure `approval_too_large`.
 */
export function buildApprovalWait(
  ctx: RunContext,
  site: CallSite,
  approval: Omit<NewApproval, 'tenantId' | 'runId' | 'stepIndex' | 'attempt' | 'call' | 'requestHash'> & {
    requestHash?: string;
  },
): ApprovalWait {
  const { run } = ctx;
  const { index: stepIndex, attempt, call } = site;
  const text = canonicalJson(approval.request);
  assertRequestFits(approval.request, text);
  return {
    kind: 'waiting',
    for: 'approval',
    wakeInSeconds: null,
    request: {
      tenantId: run.tenant_id,
      runId: run.id,
      stepIndex,
      attempt,
      call,
      ...approval,
      requestHash: approval.requestHash ?? hashOf(text),
    },
  };
}

/**
 * Reads the approval of a call.
 * @returns the approval if it is given, the wait while it is pending, null if none was requested.
 * @throws StepFailure if it was rejected or has expired.
 */
export async function checkApproval(
  deps: Pick<EngineDependencies, 'approvals'>,
  ctx: RunContext,
  site: CallSite,
): Promise<{ row: Approval } | OpenWait | null> {
  const row = await ctx.read((tx) => deps.approvals.find(tx, ctx.runId, site.index, site.attempt, site.call));
  if (row === null) return null;
  if (row.status === 'pending')
    return {
      kind: 'waiting',
      for: 'open',
      wakeInSeconds: null,
      wait: { kind: 'approval', approvalId: row.id },
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
