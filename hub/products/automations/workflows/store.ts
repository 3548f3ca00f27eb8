import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { Trigger } from '../../../../shared/contract/automations/triggers.ts';
import type { WorkflowLimits } from '../../../../shared/contract/automations/workflows.ts';
import type { WorkflowInputs } from '../../../../shared/inputs-schema.ts';
import { definitionStamp, termColumns } from '../../../engine/index.ts';
import type { Definition } from '../../../engine/index.ts';
import { isShown, workflows } from '../../../engine/schema.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { memorySize } from '../../../platform/db/memory-size.ts';
import { and, desc, eq, inArray, isNull, lt, sql } from '../../../platform/db/orm.ts';
import type { RowSize } from '../../../platform/large-pages.ts';
import { insertVersion, pruneVersions } from './version-rows.ts';
import type { VersionAuthors } from './version-rows.ts';

export type WorkflowRow = typeof workflows.$inferSelect;

const definitionSize = `${memorySize('steps', '[]')} + ${memorySize('trigger', '{}')} + ${memorySize('inputs', '{}')}`;

export const live = (tenantId: string) => and(eq(workflows.tenantId, tenantId), isNull(workflows.deletedAt));

/** Ids of workflows, newest first, with the size of their definitions. */
export async function measureWorkflows(
  tx: Transaction,
  tenantId: string,
  filter: { active?: boolean | undefined },
  limit: number,
  before: string | undefined,
): Promise<RowSize[]> {
  return tx
    .select({ id: workflows.id, bytes: sql<number>`${sql.raw(definitionSize)}` })
    .from(workflows)
    .where(
      and(
        live(tenantId),
        isShown,
        filter.active === undefined ? undefined : eq(workflows.active, filter.active),
        before === undefined ? undefined : lt(workflows.id, before),
      ),
    )
    .orderBy(desc(workflows.id))
    .limit(limit);
}

/** Workflows of a workspace by their ids, in any order. */
export async function readWorkflows(tx: Transaction, tenantId: string, ids: readonly string[]): Promise<WorkflowRow[]> {
  return tx
    .select()
    .from(workflows)
    .where(and(live(tenantId), inArray(workflows.id, [...ids])));
}

export async function findWorkflow(
  tx: Transaction,
  tenantId: string,
  id: string,
  lock?: 'update',
): Promise<WorkflowRow | null> {
  const query = tx
    .select()
    .from(workflows)
    .where(and(live(tenantId), eq(workflows.id, id)));
  const [row] = await (lock === undefined ? query : query.for(lock));
  return row ?? null;
}

/** A workflow with everything that its start and its run need. */
export interface DefinedStart extends Definition {
  name: string;
  active: boolean;
  limits: WorkflowLimits | null;
  inputs: WorkflowInputs | null;
  environment: 'live' | 'test';
  /** Events that a webhook trigger accepts; null for every event, and for other triggers. */
  events: string[] | null;
}

const shortStartColumns = `w.trigger->'webhook'->'events' AS events, w.id, w.tenant_id, w.name, w.version, w.active, w.limits, w.environment, ${termColumns}, ${definitionStamp} AS stamp`;
const startSource =
  'FROM workflows w JOIN tenants t ON t.id = w.tenant_id LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id';
const startColumns = `${shortStartColumns}, w.steps, w.inputs ${startSource}`;

/** A workflow with everything that its start needs, in one round trip. */
export async function findStartable(tx: Transaction, tenantId: string, id: string): Promise<DefinedStart | null> {
  const { rows } = await tx.query<DefinedStart>(
    'find_startable',
    `SELECT ${startColumns} WHERE w.tenant_id = $1 AND w.deleted_at IS NULL AND w.id = $2`,
    [tenantId, id],
  );
  return rows[0] ?? null;
}

/** The same for a derived workflow. It locks nothing. */
export async function findStartableByOrigin(
  tx: Transaction,
  tenantId: string,
  { kind, id }: NonNullable<WorkflowRow['origin']>,
): Promise<DefinedStart | null> {
  const { rows } = await tx.query<DefinedStart>(
    'find_startable_by_origin',
    `SELECT ${startColumns} WHERE w.tenant_id = $1 AND w.deleted_at IS NULL AND w.origin->>'kind' = $2 AND w.origin->>'id' = $3 ORDER BY w.id LIMIT 1`,
    [tenantId, kind, id],
  );
  return rows[0] ?? null;
}

/** The derived workflow of a resource. */
export async function findByOrigin(
  tx: Transaction,
  tenantId: string,
  kind: string,
  originId: string,
): Promise<WorkflowRow | null> {
  const [row] = await tx
    .select()
    .from(workflows)
    .where(
      and(live(tenantId), sql`${workflows.origin}->>'kind' = ${kind}`, sql`${workflows.origin}->>'id' = ${originId}`),
    )
    .orderBy(workflows.id)
    .limit(1)
    .for('update');
  return row ?? null;
}

/** Ids of the derived workflows of one kind, by the ids of their resources. It locks nothing. */
export async function listDerivedIds(
  tx: Transaction,
  tenantId: string,
  kind: string,
  originIds: readonly string[],
): Promise<Map<string, string>> {
  if (originIds.length === 0) return new Map();
  const { rows } = await tx.query<{ origin_id: string; id: string }>(
    'list_derived',
    `SELECT DISTINCT ON (origin->>'id') origin->>'id' AS origin_id, id FROM workflows
     WHERE tenant_id = $1 AND deleted_at IS NULL AND origin IS NOT NULL AND origin->>'kind' = $2 AND origin->>'id' = ANY($3::text[]) ORDER BY origin->>'id', id`,
    [tenantId, kind, originIds],
  );
  return new Map(rows.map((row) => [row.origin_id, row.id]));
}

/**
 * The workflows of a webhook token: the workflow `workflowId` of any workspace, or all workflows of the workspace that
 * had the token first. So another workspace that saves the same token cannot intercept calls. When there are several,
 * steps and inputs are omitted and read later, one workflow at a time.
 */
export async function findByWebhookToken(
  db: Database,
  tokenHash: Buffer,
  workflowId: string | undefined,
): Promise<DefinedStart[]> {
  if (workflowId !== undefined) {
    return db.systemStatement<DefinedStart>(
      'find_by_webhook_token_and_id',
      `SELECT ${startColumns} WHERE w.id = $2 AND w.webhook_token_hash = $1 AND w.deleted_at IS NULL`,
      [tokenHash, workflowId],
    );
  }
  return db.systemStatement<DefinedStart>(
    'find_by_webhook_token',
    `SELECT ${shortStartColumns}, CASE WHEN count(*) OVER () = 1 THEN w.steps ELSE '[]' END AS steps, CASE WHEN count(*) OVER () = 1 THEN w.inputs END AS inputs ${startSource}
     WHERE w.webhook_token_hash = $1 AND w.deleted_at IS NULL AND w.tenant_id = (
       SELECT tenant_id FROM workflows WHERE webhook_token_hash = $1 AND deleted_at IS NULL ORDER BY coalesce(webhook_token_since, created_at), id LIMIT 1)
     ORDER BY w.id`,
    [tokenHash],
  );
}

/** The workspace of the workflows that `findByWebhookToken` returns; null when it returns none. */
export async function findWebhookTokenWorkspace(
  db: Database,
  tokenHash: Buffer,
  workflowId: string | undefined,
): Promise<string | null> {
  const [row] = await db.systemStatement<{ tenant_id: string }>(
    'find_webhook_token_workspace',
    `SELECT tenant_id FROM workflows WHERE webhook_token_hash = $1 AND deleted_at IS NULL AND ($2::uuid IS NULL OR id = $2)
     ORDER BY coalesce(webhook_token_since, created_at), id LIMIT 1`,
    [tokenHash, workflowId ?? null],
  );
  return row?.tenant_id ?? null;
}

/** The number of other workflows of a workspace with a webhook token, and since when the workspace has it. */
export async function readWebhookToken(
  tx: Transaction,
  tenantId: string,
  tokenHash: Buffer,
  exceptId: string,
): Promise<{ count: number; since: Date | null }> {
  const [row] = await tx
    .select({
      count: sql<number>`count(*)::int`,
      since: sql<Date | null>`min(coalesce(${workflows.webhookTokenSince}, ${workflows.createdAt}))`.mapWith(
        workflows.createdAt,
      ),
    })
    .from(workflows)
    .where(and(live(tenantId), eq(workflows.webhookTokenHash, tokenHash), sql`${workflows.id} <> ${exceptId}`));
  return row ?? { count: 0, since: null };
}

export interface WorkflowContent {
  name: string;
  active: boolean;
  trigger: Trigger;
  steps: Step[];
  webhookTokenHash: Buffer | null;
  webhookTokenSince: Date | null;
  eventType: string | null;
  nextRunAt: Date | null;
  limits: WorkflowLimits | null;
  inputs: WorkflowInputs | null;
  environment: 'live' | 'test';
}

export async function insertWorkflow(
  tx: Transaction,
  tenantId: string,
  id: string,
  content: WorkflowContent,
  authors: VersionAuthors,
  origin: WorkflowRow['origin'] = null,
): Promise<WorkflowRow> {
  return (await insertDerivedWorkflow(tx, tenantId, id, content, authors, origin)) as WorkflowRow;
}

/**
 * Inserts a derived workflow. @returns null when the workflow of this origin already exists, after the transaction that
 * created it has committed.
 */
export async function insertDerivedWorkflow(
  tx: Transaction,
  tenantId: string,
  id: string,
  content: WorkflowContent,
  authors: VersionAuthors,
  origin: WorkflowRow['origin'],
): Promise<WorkflowRow | null> {
  const [row] = await tx
    .insert(workflows)
    .values({ id, tenantId, version: 1, origin, ...content })
    .onConflictDoNothing()
    .returning();
  if (row === undefined) return null;
  await insertVersion(tx, tenantId, id, 1, content, authors);
  return row;
}

export async function updateWorkflow(
  tx: Transaction,
  before: WorkflowRow,
  content: WorkflowContent,
  authors: VersionAuthors,
): Promise<WorkflowRow> {
  const version = before.version + 1;
  const [row] = await tx
    .update(workflows)
    .set({ ...content, version, updatedAt: sql`now()` })
    .where(eq(workflows.id, before.id))
    .returning();
  await insertVersion(tx, before.tenantId, before.id, version, content, authors);
  await pruneVersions(tx, before.id, version);
  return row as WorkflowRow;
}

export async function markDeleted(tx: Transaction, tenantId: string, id: string): Promise<boolean> {
  const rows = await tx
    .update(workflows)
    .set({ deletedAt: sql`now()`, active: false, nextRunAt: null, updatedAt: sql`now()` })
    .where(and(live(tenantId), eq(workflows.id, id)))
    .returning({ id: workflows.id });
  return rows.length > 0;
}
