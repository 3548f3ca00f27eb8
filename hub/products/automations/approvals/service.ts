import type { z } from 'zod';
import { approvals as resource } from '../../../../shared/contract/automations/approvals.ts';
import type { Approval, ApprovalDetail } from '../../../../shared/contract/automations/approvals.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { lockRuns, readApprovalMessage, wakeRun, wakeRuns } from '../../../engine/index.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import { readNow } from '../../../platform/db/clock.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, asc, eq, inArray, sql } from '../../../platform/db/orm.ts';
import { inBatches, newTurn } from '../../../platform/db/row-retention.ts';
import { noteWorkspaceChange } from '../../../platform/events/workspace-topic.ts';
import { readLargePage } from '../../../platform/large-pages.ts';
import type { MemoryBudget } from '../../../platform/process/memory-budget.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { readAuditDetails, readContexts } from './contexts.ts';
import type { ContextReader } from './contexts.ts';
import { actorOfDecider, assertMayDecide, describeDecider } from './deciders.ts';
import type { Decider } from './deciders.ts';
import { eligibleApprovers } from './decision-facts.ts';
import { approvalVotes } from './schema.ts';
import { approvals } from './schema.ts';
import {
  closeApproval,
  listSummaryRows,
  listVotesOf,
  lockPending,
  measureApprovals,
  nodeOfRequest,
  settleExpired,
  settledReason,
} from './store.ts';
import type { ApprovalRow } from './store.ts';

export interface ApprovalsDependencies {
  db: Database;
  cursors: Cursors;
  /** Memory budget for responses with large requests. */
  answerMemory: MemoryBudget;
  /** Resolves when a run has ended or waits for an approval, or after a time limit. */
  untilSettled: (tenantId: string, runId: string) => Promise<unknown>;
}

type ListQuery = z.output<typeof resource.listAutomationApprovals.query>;
type DecideBody = z.output<typeof resource.decideAutomationApproval.body>;
export type VoteRow = typeof approvalVotes.$inferSelect;

/** Approvals of runs. Each approval is decided once, and its run continues in the same transaction. */
export class Approvals {
  readonly #deps: ApprovalsDependencies;

  constructor(dependencies: ApprovalsDependencies) {
    this.#deps = dependencies;
  }

  list(tenantId: string, query: ListQuery) {
    const { db } = this.#deps;
    return readLargePage(this.#deps, tenantId, `approvals:${tenantId}`, query, {
      measure: (limit, before) => db.read(tenantId, (tx) => measureApprovals(tx, tenantId, query, limit, before)),
      read: (ids) =>
        db.read(tenantId, async (tx) => {
          const rows = await tx
            .select()
            .from(approvals)
            .where(and(eq(approvals.tenantId, tenantId), inArray(approvals.id, ids)));
          const [votes, now] = await Promise.all([listVotes(tx, ids), readNow(tx)]);
          const votesOf = (id: string) => votes.filter((vote) => vote.approvalId === id);
          return rows.map((row) => ({ id: row.id, row, now, votes: votesOf(row.id) }));
        }),
      present: ({ row, votes, now }) => present(row, votes, now),
    });
  }

  /** A page of approvals without messages and requests. @throws AppError `invalid_cursor`. */
  listSummaries(tenantId: string, query: ListQuery, reader: ContextReader) {
    const { db, cursors } = this.#deps;
    const read = (limit: number, before: string | undefined) =>
      db.read(tenantId, async (tx) => {
        const rows = await listSummaryRows(tx, tenantId, query, limit, before);
        const ids = rows.map(({ id }) => id);
        const [votes, now] = await Promise.all([listVotesOf(tx, ids), readNow(tx)]);
        const contexts = await readContexts(tx, tenantId, rows, votes, reader);
        return rows.flatMap((row) => {
          const context = contexts.get(row.id);
          return context === undefined ? [] : [{ id: row.id, row, now, votes, context }];
        });
      });
    return readPage(cursors, `approvals:${tenantId}`, query, read, ({ id, row, now, votes, context }) => ({
      ...presentTerms(row, now),
      approvedCount: votes.filter((vote) => vote.approvalId === id && vote.decision === 'approved').length,
      ...context,
    }));
  }

  /** @throws AppError `not_found`. */
  get(tenantId: string, id: string, reader: ContextReader): Promise<ApprovalDetail> {
    return this.#deps.db.read(tenantId, async (tx) => {
      const [found] = await tx
        .select({ row: approvals, nodeId: sql<string | null>`${sql.raw(nodeOfRequest)}` })
        .from(approvals)
        .where(and(eq(approvals.tenantId, tenantId), eq(approvals.id, id)));
      if (found === undefined) throw notFound('approval', id);
      const { row, nodeId } = found;
      const [votes, now] = await Promise.all([listVotes(tx, [id]), readNow(tx)]);
      const context = (await readContexts(tx, tenantId, [{ ...row, nodeId }], votes, reader)).get(id);
      if (context === undefined) throw notFound('approval', id);
      return { ...present(row, votes, now), ...context };
    });
  }

  async countPending(tenantId: string): Promise<number> {
    const [row] = await this.#deps.db.read(tenantId, (tx) =>
      tx
        .select({ count: sql<number>`count(*)::int` })
        .from(approvals)
        .where(and(eq(approvals.tenantId, tenantId), eq(approvals.status, 'pending'))),
    );
    return row?.count ?? 0;
  }

  /**
   * @throws AppError `not_found`, `approval_already_decided`; `approver_required` or `approval_needs_person` for a
   * caller who may not decide.
   */
  async decide(tenantId: string, id: string, body: DecideBody, decider: Decider): Promise<Approval> {
    const decided = await this.#deps.db.workspace(tenantId, (tx) => this.decideWithin(tx, tenantId, id, body, decider));
    await this.afterDecision(tenantId, decided);
    return decided;
  }

  /** Waits briefly for a rejected run to end, so that the caller then reads it as failed and can retry it. */
  async afterDecision(tenantId: string, { status, runId }: Pick<Approval, 'status' | 'runId'>): Promise<void> {
    // Inside another transaction nothing is committed yet that a worker could see.
    if (status === 'rejected' && !this.#deps.db.isJoined) await this.#deps.untilSettled(tenantId, runId);
  }

  /** Decides in the transaction of the caller. @throws AppError as `decide` does. */
  async decideWithin(
    tx: Transaction,
    tenantId: string,
    id: string,
    body: DecideBody,
    decider: Decider,
  ): Promise<Approval> {
    const [existing] = await tx
      .select()
      .from(approvals)
      .where(and(eq(approvals.tenantId, tenantId), eq(approvals.id, id)));
    if (existing === undefined) throw notFound('approval', id);
    await lockRuns(tx, [existing.runId]);
    const row = await lockPending(tx, id);
    if (row === null) {
      const state = await settledReason(tx, id);
      if (state === null) throw notFound('approval', id);
      throw new AppError('approval_already_decided', `This approval is ${state} and can't be decided any more.`);
    }
    const approver = await assertMayDecide(tx, row, decider);
    const note = body.note ?? null;
    const by = await describeDecider(tx, tenantId, decider);
    const inserted = await tx
      .insert(approvalVotes)
      .values({ approvalId: id, approver, tenantId, decision: body.decision, note, decider: by })
      .onConflictDoNothing()
      .returning();
    if (inserted.length === 0)
      throw new AppError(
        'approval_already_decided',
        'You have already decided this approval. Other people still have to decide.',
      );
    const [votes, now] = await Promise.all([listVotes(tx, [id]), readNow(tx)]);
    const agreed = votes.filter((vote) => vote.decision === 'approved').length;
    const actor = actorOfDecider(decider);
    await recordAudit(tx, {
      tenantId,
      actor,
      action: `approval.${body.decision}`,
      targetType: 'approval',
      targetId: id,
      // Without the title and the note: they can name a person, and the audit log outlives the erasure of runs.
      details: {
        ...(await readAuditDetails(tx, tenantId, row)),
        runId: row.runId,
        requestHash: row.requestHash,
        decider: { ...by },
      },
    });
    if (body.decision === 'approved' && agreed < row.required) return present(row, votes, now);
    noteWorkspaceChange(tx, tenantId);
    const closed = await closeApproval(tx, id, body.decision, { actor, decider: by, note });
    await wakeRun(tx, row.runId);
    return present(closed, votes, now);
  }

  /**
   * Settles expired approvals in batches, until none is left or the time limit is reached. @returns the number of runs
   * that continue.
   */
  settleExpired(stopping?: AbortSignal): Promise<number> {
    return inBatches(newTurn(stopping), 1, () =>
      this.#deps.db.system(async (tx) => {
        const runIds = await settleExpired(tx, 100);
        await wakeRuns(tx, runIds);
        return runIds.length;
      }),
    );
  }
}

async function listVotes(tx: Transaction, approvalIds: string[]): Promise<VoteRow[]> {
  if (approvalIds.length === 0) return [];
  return tx
    .select()
    .from(approvalVotes)
    .where(inArray(approvalVotes.approvalId, approvalIds))
    .orderBy(asc(approvalVotes.createdAt), sql`${approvalVotes.approver}`);
}

/** What lists without requests show of an approval. */
function presentTerms(row: Omit<ApprovalRow, 'message' | 'request'>, now: Date) {
  return {
    id: row.id,
    runId: row.runId,
    stepIndex: row.stepIndex,
    kind: row.kind,
    title: row.title,
    requestHash: row.requestHash,
    status: row.status,
    approvers: eligibleApprovers(row, now),
    required: row.required,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    decidedBy: row.decidedBy,
    decider: row.decider,
    decidedAt: row.decidedAt?.toISOString() ?? null,
    note: row.note,
    createdAt: row.createdAt.toISOString(),
  };
}

/** @param now the time of the database. */
export function present(row: ApprovalRow, votes: VoteRow[], now: Date): Approval {
  const hubMessage = readApprovalMessage(row);
  return {
    ...presentTerms(row, now),
    message: row.message,
    ...(hubMessage === undefined ? {} : { hubMessage }),
    request: row.request,
    votes: votes.map(({ approver, decision, note, decider, createdAt }) => ({
      approver,
      decider,
      decision,
      note,
      at: createdAt.toISOString(),
    })),
  };
}
