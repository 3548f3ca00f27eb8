import { workflowVersions } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, getTableColumns, lt } from '../../../platform/db/orm.ts';

export type VersionRow = typeof workflowVersions.$inferSelect;

/**
 * The authors of a version. They may not decide approvals of `system.run` in its runs, and they count as starters of
 * its automatic runs.
 */
export type VersionAuthors = Pick<VersionRow, 'changedBy' | 'definedBy' | 'activatedBy' | 'authors'>;

export async function insertVersion(
  tx: Transaction,
  tenantId: string,
  workflowId: string,
  version: number,
  { name, steps, inputs }: Pick<VersionRow, 'name' | 'steps' | 'inputs'>,
  authors: VersionAuthors,
): Promise<void> {
  await tx.insert(workflowVersions).values({ workflowId, version, tenantId, name, steps, inputs, ...authors });
}

/** Versions of a workflow, newest first, before the given version. */
export async function listVersions(
  tx: Transaction,
  tenantId: string,
  workflowId: string,
  limit: number,
  before: number | undefined,
): Promise<Omit<VersionRow, 'steps' | 'inputs'>[]> {
  const { steps: _steps, inputs: _inputs, ...columns } = getTableColumns(workflowVersions);
  return tx
    .select(columns)
    .from(workflowVersions)
    .where(
      and(
        eq(workflowVersions.tenantId, tenantId),
        eq(workflowVersions.workflowId, workflowId),
        before === undefined ? undefined : lt(workflowVersions.version, before),
      ),
    )
    .orderBy(desc(workflowVersions.version))
    .limit(limit);
}

export async function findVersion(
  tx: Transaction,
  tenantId: string,
  workflowId: string,
  version: number,
): Promise<VersionRow | null> {
  const [row] = await tx
    .select()
    .from(workflowVersions)
    .where(
      and(
        eq(workflowVersions.tenantId, tenantId),
        eq(workflowVersions.workflowId, workflowId),
        eq(workflowVersions.version, version),
      ),
    );
  return row ?? null;
}

/** Number of newest versions that are retained regardless of runs. */
const retainedVersions = 100;
/**
 * Maximum oldest versions, and maximum newest versions beyond the retained ones, that one change checks. It removes
 * more than it adds, so the backlog shrinks.
 */
const maxPrunedPerChange = 50;

/**
 * Removes versions beyond the newest ones that no run refers to, so that frequent changes do not accumulate versions. A
 * version that was current within the last minute is retained, because a start that read it may not have committed yet.
 */
export async function pruneVersions(tx: Transaction, workflowId: string, newest: number): Promise<void> {
  if (newest <= retainedVersions) return;
  await tx.query(
    'prune_versions',
    `WITH bound AS MATERIALIZED (
       SELECT least($2::int, coalesce((SELECT version FROM workflow_versions WHERE workflow_id = $1 AND created_at < now() - interval '1 minute' ORDER BY version DESC LIMIT 1), 0) - 1) AS version
     ), old AS MATERIALIZED (
       (SELECT version FROM workflow_versions WHERE workflow_id = $1 AND version <= (SELECT version FROM bound) ORDER BY version LIMIT $3)
       UNION (SELECT version FROM workflow_versions WHERE workflow_id = $1 AND version <= (SELECT version FROM bound) ORDER BY version DESC LIMIT $3)
     )
     DELETE FROM workflow_versions WHERE workflow_id = $1 AND version = ANY(ARRAY(
       SELECT version FROM old WHERE NOT EXISTS (SELECT 1 FROM runs r WHERE r.workflow_id = $1 AND r.workflow_version = old.version)))`,
    [workflowId, newest - retainedVersions, maxPrunedPerChange],
  );
}
