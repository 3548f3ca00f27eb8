import { and, eq } from 'drizzle-orm';
import type { z } from 'zod';
import { approvals as resource } from '../../../shared/contract/runs.ts';
import type { Approval } from '../../../shared/contract/runs.ts';
import { AppError } from '../../../shared/errors.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database } from '../../platform/db/database.ts';
import { approvals } from '../../platform/db/schema.ts';
import { recordAudit } from '../audit/index.ts';
import { wakeRun } from '../runs/index.ts';
import type { PromisedJob } from '../runs/index.ts';
import { decideApproval, listApprovals, settleExpired } from './store.ts';
import type { ApprovalRow } from './store.ts';

export interface ApprovalsDependencies {
  db: Database;
  cursors: Cursors;
  dispatch: (jobs: PromisedJob[]) => void;
}

type ListQuery = z.output<typeof resource.listAutomationApprovals.query>;
type DecideBody = z.output<typeof resource.decideAutomationApproval.body>;

/** Human gates: each is decided once, and its run goes on in the same transaction. */
export class Approvals {
  readonly #deps: ApprovalsDependencies;

  constructor(dependencies: ApprovalsDependencies) {
    this.#deps = dependencies;
  }

  async list(tenantId: string, query: ListQuery) {
    const scope = `approvals:${tenantId}`;
    const before = query.cursor === undefined ? undefined : this.#deps.cursors.decode(scope, query.cursor);
    const rows = await this.#deps.db.workspace(tenantId, (tx) => listApprovals(tx, tenantId, query, query.limit + 1, before));
    const pageRows = rows.slice(0, query.limit);
    const last = pageRows.at(-1);
    return {
      data: pageRows.map(present),
      meta: { limit: query.limit, nextCursor: rows.length > query.limit && last !== undefined ? this.#deps.cursors.encode(scope, last.id) : null },
    };
  }

  /** @throws AppError `not_found`, `approval_already_decided`. */
  async decide(tenantId: string, id: string, body: DecideBody, actor: string): Promise<Approval> {
    const decided = await this.#deps.db.workspace(tenantId, async (tx) => {
      const row = await decideApproval(tx, tenantId, id, body.decision, actor, body.note ?? null);
      if (row === null) {
        const [existing] = await tx.select({ status: approvals.status }).from(approvals).where(and(eq(approvals.tenantId, tenantId), eq(approvals.id, id)));
        if (existing === undefined) throw new AppError('not_found', `There is no approval ${id} in this workspace.`);
        const state = existing.status === 'pending' ? 'past its time' : existing.status;
        throw new AppError('approval_already_decided', `This approval is ${state} and can't be decided any more.`);
      }
      await recordAudit(tx, { tenantId, actor, action: `approval.${body.decision}`, targetType: 'approval', targetId: id, details: { runId: row.runId, requestHash: row.requestHash } });
      return { row, job: await wakeRun(tx, row.runId) };
    });
    if (decided.job !== null) this.#deps.dispatch([decided.job]);
    return present(decided.row);
  }

  /** Settles approvals whose time is over; part of the sweep. Answers how many. */
  async settleExpired(): Promise<number> {
    const jobs = await this.#deps.db.system(async (tx) => {
      const settled = await settleExpired(tx, 100);
      const woken: PromisedJob[] = [];
      for (const { runId } of settled) {
        const job = await wakeRun(tx, runId);
        if (job !== null) woken.push(job);
      }
      return woken;
    });
    if (jobs.length > 0) this.#deps.dispatch(jobs);
    return jobs.length;
  }
}

export function createApprovals(dependencies: ApprovalsDependencies): Approvals {
  return new Approvals(dependencies);
}

function present(row: ApprovalRow): Approval {
  return {
    id: row.id,
    runId: row.runId,
    stepIndex: row.stepIndex,
    kind: row.kind,
    title: row.title,
    message: row.message,
    request: row.request,
    status: row.status,
    expiresAt: row.expiresAt?.toISOString() ?? null,
    decidedBy: row.decidedBy,
    decidedAt: row.decidedAt?.toISOString() ?? null,
    note: row.note,
    createdAt: row.createdAt.toISOString(),
  };
}
