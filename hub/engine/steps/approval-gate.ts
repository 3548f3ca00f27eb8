import { canonicalJson } from '../../../shared/json.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { heapOf } from '../../platform/process/memory-budget.ts';
import { hashOf } from '../calls/call.ts';
import type { ApprovalWait, CallSite, OpenWait } from '../calls/call.ts';
import { StepFailure } from '../failure.ts';
import type { Approval, NewApproval } from '../ports.ts';
import type { EngineDependencies, RunContext } from '../runs/run-context.ts';

/** The terms of an approval that names no approvers. */
export const openApproval = { approvers: [], required: 1, escalateAfterSeconds: undefined, escalateTo: [] };

/** How long an approval that no step words itself waits, in seconds. */
export const approvalSeconds = 86_400;

/** The longest request of an approval, as JSON in UTF-8, in bytes: what a person can't read is no request. */
const maxRequestBytes = 256 * 1024;
/** The heap that it may use, in bytes: lists show many at a time. */
const maxRequestHeap = 2 * 1024 * 1024;

/** @throws StepFailure `approval_too_large` that names size and limit. */
function assertReadable(request: JsonObject, text: string): void {
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
 * The wait for a new approval of a call. `requestHash` is that of the canonical request unless given.
 * @throws StepFailure `approval_too_large`.
 */
export function askApproval(
  ctx: RunContext,
  site: CallSite,
  approval: Omit<NewApproval, 'tenantId' | 'runId' | 'stepIndex' | 'attempt' | 'call' | 'requestHash'> & {
    requestHash?: string;
  },
): ApprovalWait {
  const { run } = ctx;
  const { index: stepIndex, attempt, call } = site;
  const text = canonicalJson(approval.request);
  assertReadable(approval.request, text);
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

/** The approval of a call once it was given; the wait for it while it is open; null when it was never asked for. @throws StepFailure when it was refused or came too late. */
export async function settledApproval(
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
