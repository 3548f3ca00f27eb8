import type { z } from 'zod';
import type { DeletedWorkflow, deletedWorkflows } from '../../../../shared/contract/automations/deleted-workflows.ts';
import { notFound } from '../../../../shared/errors.ts';
import type { RunCaller } from '../../../engine/index.ts';
import { workflows } from '../../../engine/schema.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, sql } from '../../../platform/db/orm.ts';
import { recordAudit } from '../../core/audit/index.ts';
import type { WorkspaceLimits } from '../../core/limits/index.ts';
import { testKeyNotAllowed } from '../test-keys/index.ts';
import { joinToken } from './content.ts';
import type { WorkflowRow } from './store.ts';

/** Deleted workflows that can be restored: not those that a sequence or an agent keeps. */
const isRestorable = (tenantId: string) =>
  and(
    eq(workflows.tenantId, tenantId),
    sql`${workflows.deletedAt} IS NOT NULL AND coalesce(${workflows.origin}->>'kind', 'pack') = 'pack'`,
  );

type Query = z.output<typeof deletedWorkflows.listDeletedAutomationWorkflows.query>;

/** A page of deleted workflows, the last deleted one first. @throws AppError `invalid_cursor`. */
export async function readDeletedWorkflows(
  { db, cursors }: { db: Database; cursors: Cursors },
  tenantId: string,
  { limit, cursor }: Query,
): Promise<{ data: DeletedWorkflow[]; meta: { limit: number; nextCursor: string | null } }> {
  const scope = `deleted-workflows:${tenantId}`;
  const after = cursor === undefined ? null : (JSON.parse(cursors.decodeText(scope, cursor)) as [string, string]);
  const { id, name, version, environment, createdAt, deletedAt } = workflows;
  const rows = await db.read(tenantId, (tx) =>
    tx
      .select({ id, name, version, environment, createdAt, deletedAt })
      .from(workflows)
      .where(
        and(
          isRestorable(tenantId),
          after === null ? undefined : sql`(${deletedAt}, ${id}) < (${after[0]}::timestamptz, ${after[1]}::uuid)`,
        ),
      )
      .orderBy(desc(deletedAt), desc(id))
      .limit(limit + 1),
  );
  const data = rows.slice(0, limit).map((row) => ({
    ...row,
    createdAt: row.createdAt.toISOString(),
    deletedAt: (row.deletedAt as Date).toISOString(),
  }));
  const last = data.at(-1);
  return {
    data,
    meta: {
      limit,
      nextCursor:
        rows.length > limit && last !== undefined
          ? cursors.encodeText(scope, JSON.stringify([last.deletedAt, last.id]))
          : null,
    },
  };
}

/**
 * Restores a deleted workflow. It stays inactive, because what it needs may be gone.
 * @throws AppError `not_found`, `workflow_invalid`, `workspace_limit_reached`, `test_key_not_allowed`.
 */
export async function restoreWorkflow(
  tx: Transaction,
  limits: WorkspaceLimits,
  tenantId: string,
  id: string,
  { actor, environment }: RunCaller,
): Promise<WorkflowRow> {
  const isThis = and(isRestorable(tenantId), eq(workflows.id, id));
  const [before] = await tx.select().from(workflows).where(isThis).for('update');
  if (before === undefined) throw notFound('deleted workflow', id);
  if (environment === 'test' && before.environment === 'live') throw testKeyNotAllowed('live workflows');
  // Another workspace may have taken the webhook token since the deletion.
  const token = { webhookTokenHash: before.webhookTokenHash, webhookTokenSince: before.webhookTokenHash && new Date() };
  await joinToken(tx, tenantId, id, token);
  const [row] = await tx
    .update(workflows)
    .set({ ...token, deletedAt: null, updatedAt: sql`now()` })
    .where(isThis)
    .returning();
  await limits.assertWithin(tx, tenantId, 'workflow');
  if (before.trigger.type === 'schedule') await limits.assertWithin(tx, tenantId, 'schedule');
  await recordAudit(tx, {
    tenantId,
    actor,
    action: 'workflow.restored',
    targetType: 'workflow',
    targetId: id,
    details: { name: before.name, version: before.version },
  });
  return row as WorkflowRow;
}
