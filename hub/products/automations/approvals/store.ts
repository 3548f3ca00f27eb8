import type { ApprovalDecider } from '../../../../shared/contract/automations/approvals.ts';
import type { ApprovalPort, NewApproval } from '../../../engine/index.ts';
import { lockRuns } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { memorySize } from '../../../platform/db/memory-size.ts';
import { and, asc, desc, eq, getTableColumns, inArray, lt, sql } from '../../../platform/db/orm.ts';
import { newId } from '../../../platform/ids.ts';
import type { RowSize } from '../../../platform/large-pages.ts';
import { pushSubscriptions } from '../../core/identity/schema.ts';
import { readPolicy } from '../policies/index.ts';
import { approvals, approvalVotes } from './schema.ts';

export type ApprovalRow = typeof approvals.$inferSelect;

const timeoutActor: ApprovalDecider = { kind: 'time_out', id: null, name: 'Time-out' };
const runEndActor: ApprovalDecider = { kind: 'run_end', id: null, name: 'End of the run' };

/** Inserts the approval of a step, once per attempt of the step. */
async function createApproval(tx: Transaction, approval: NewApproval): Promise<string> {
  const { expiresInSeconds, escalateAfterSeconds, ...given } = approval;
  const usesDefaultApprovers = given.approvers.length === 0;
  const approvers = usesDefaultApprovers ? (await readPolicy(tx, given.tenantId)).defaultApprovers : given.approvers;
  const values = { ...given, approvers, usesDefaultApprovers };
  const [row] = await tx
    .insert(approvals)
    .values({
      id: newId(),
      ...values,
      status: 'pending',
      expiresAt: expiresInSeconds === undefined ? null : sql`now() + make_interval(secs => ${expiresInSeconds})`,
      escalateAt:
        escalateAfterSeconds === undefined ? null : sql`now() + make_interval(secs => ${escalateAfterSeconds})`,
      mailDueAt: approvers.length === 0 ? null : sql`now()`,
      // Members may subscribe before an escalation.
      pushDueAt:
        escalateAfterSeconds === undefined
          ? sql`CASE WHEN EXISTS (SELECT FROM ${pushSubscriptions} WHERE ${pushSubscriptions.tenantId} = ${given.tenantId}) THEN now() END`
          : sql`now()`,
    })
    .onConflictDoUpdate({
      target: [approvals.runId, approvals.stepIndex, approvals.attempt, approvals.call],
      set: { runId: sql`excluded.run_id` },
    })
    .returning({ id: approvals.id });
  return (row as { id: string }).id;
}

/** The approval of one attempt of a step, or of one call in it; null when none was requested. */
async function findApproval(
  tx: Transaction,
  runId: string,
  stepIndex: number,
  attempt: number,
  call: number,
): Promise<ApprovalRow | null> {
  const [row] = await tx
    .select()
    .from(approvals)
    .where(
      and(
        eq(approvals.runId, runId),
        eq(approvals.stepIndex, stepIndex),
        eq(approvals.attempt, attempt),
        eq(approvals.call, call),
      ),
    );
  return row ?? null;
}

/** Whether an earlier attempt of the same call got an approval for exactly this request. */
async function findApprovedRequest(
  tx: Transaction,
  runId: string,
  stepIndex: number,
  call: number,
  requestHash: string,
): Promise<ApprovalRow | null> {
  const [row] = await tx
    .select()
    .from(approvals)
    .where(
      and(
        eq(approvals.runId, runId),
        eq(approvals.stepIndex, stepIndex),
        eq(approvals.call, call),
        eq(approvals.status, 'approved'),
        eq(approvals.requestHash, requestHash),
      ),
    )
    .limit(1);
  return row ?? null;
}

/** Ids of approvals, newest first, with the size of their requests. */
export async function measureApprovals(
  tx: Transaction,
  tenantId: string,
  filter: ApprovalFilter,
  limit: number,
  before: string | undefined,
): Promise<RowSize[]> {
  return tx
    .select({ id: approvals.id, bytes: sql<number>`${sql.raw(memorySize('request', '{}'))} + octet_length(message)` })
    .from(approvals)
    .where(matching(tenantId, filter, before))
    .orderBy(desc(approvals.id))
    .limit(limit);
}

interface ApprovalFilter {
  status?: ApprovalRow['status'] | undefined;
  runId?: string | undefined;
}

const matching = (tenantId: string, filter: ApprovalFilter, before: string | undefined) =>
  and(
    eq(approvals.tenantId, tenantId),
    filter.status === undefined ? undefined : eq(approvals.status, filter.status),
    filter.runId === undefined ? undefined : eq(approvals.runId, filter.runId),
    before === undefined ? undefined : lt(approvals.id, before),
  );

/** The node that a request names: that of the command, or that of the step after the approval. */
export const nodeOfRequest = `coalesce(request->>'nodeId', request->'next'->'input'->>'nodeId')`;

/** Approvals without messages and requests, newest first, each with the node that its request names. */
export async function listSummaryRows(
  tx: Transaction,
  tenantId: string,
  filter: ApprovalFilter,
  limit: number,
  before: string | undefined,
) {
  const { message: _message, request: _request, ...columns } = getTableColumns(approvals);
  return tx
    .select({ ...columns, nodeId: sql<string | null>`${sql.raw(nodeOfRequest)}` })
    .from(approvals)
    .where(matching(tenantId, filter, before))
    .orderBy(desc(approvals.id))
    .limit(limit);
}

/** The votes for approvals, without their notes. */
export async function listVotesOf(tx: Transaction, approvalIds: string[]) {
  if (approvalIds.length === 0) return [];
  return tx
    .select({
      approvalId: approvalVotes.approvalId,
      approver: approvalVotes.approver,
      decision: approvalVotes.decision,
    })
    .from(approvalVotes)
    .where(inArray(approvalVotes.approvalId, approvalIds));
}

/** Whether an approval can still be decided: it is pending, and the subject of its run is not erased. */
export const isDecidable = (id: string) =>
  and(
    eq(approvals.id, id),
    eq(approvals.status, 'pending'),
    sql`(${approvals.expiresAt} is null or ${approvals.expiresAt} > now())`,
    sql`not exists (select from runs r join flows f on f.id = r.flow_id join erased_subjects e on e.subject_id = f.subject_id where r.id = ${approvals.runId})`,
  );

/**
 * Locks an approval that can still be decided; null when it is unknown or settled, or when the subject of its run was
 * erased.
 */
export async function lockPending(tx: Transaction, id: string): Promise<ApprovalRow | null> {
  const [row] = await tx.select().from(approvals).where(isDecidable(id)).for('update');
  return row ?? null;
}

/** Why an approval can't be decided; null for an approval that is removed or about to be removed. */
export async function settledReason(tx: Transaction, id: string): Promise<string | null> {
  const [row] = await tx
    .select({ status: approvals.status, isPast: sql<boolean>`coalesce(${approvals.expiresAt} <= now(), false)` })
    .from(approvals)
    .where(eq(approvals.id, id));
  if (row === undefined) return null;
  if (row.status !== 'pending') return row.status;
  return row.isPast ? 'past its time' : null;
}

/** Settles a pending approval. The caller must have locked it. */
export async function closeApproval(
  tx: Transaction,
  id: string,
  decision: 'approved' | 'rejected',
  { actor, decider, note }: { actor: string; decider: ApprovalDecider; note: string | null },
): Promise<ApprovalRow> {
  const [row] = await tx
    .update(approvals)
    .set({ status: decision, decidedBy: actor, decider, decidedAt: sql`now()`, note })
    .where(eq(approvals.id, id))
    .returning();
  return row as ApprovalRow;
}

/** Settles the pending approvals of ended runs. */
export async function expireRunApprovals(tx: Transaction, runIds: readonly string[]): Promise<void> {
  await tx
    .update(approvals)
    .set({ status: 'expired', decidedBy: 'run ended', decider: runEndActor, decidedAt: sql`now()` })
    .where(and(inArray(approvals.runId, [...runIds]), eq(approvals.status, 'pending')));
}

/**
 * Settles expired approvals according to their `onTimeout`. It skips approvals whose run another transaction has
 * locked. @returns the ids of their runs.
 */
export async function settleExpired(tx: Transaction, limit: number): Promise<string[]> {
  const isDue = and(eq(approvals.status, 'pending'), lt(approvals.expiresAt, sql`now()`));
  const due = await tx
    .select({ runId: approvals.runId })
    .from(approvals)
    .where(isDue)
    .orderBy(asc(approvals.expiresAt))
    .limit(limit);
  const free = await lockRuns(
    tx,
    due.map((row) => row.runId),
    { skipLocked: true },
  );
  if (free.length === 0) return [];
  const settled = await tx
    .update(approvals)
    .set({
      status: sql`case on_timeout when 'approve' then 'approved' else 'expired' end`,
      decidedBy: 'time-out',
      decider: timeoutActor,
      decidedAt: sql`now()`,
    })
    .where(and(isDue, inArray(approvals.runId, free)))
    .returning({ runId: approvals.runId });
  // The set keeps the order in which the runs were locked.
  const runIds = new Set(settled.map((row) => row.runId));
  return free.filter((runId) => runIds.has(runId));
}

/** The approval port of the run engine. */
export const approvalPort: ApprovalPort = {
  create: createApproval,
  find: findApproval,
  findApproved: findApprovedRequest,
};
