import type { z } from 'zod';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import { workflowSummaries as resource } from '../../../../shared/contract/automations/workflow-summaries.ts';
import type { WorkflowSummary } from '../../../../shared/contract/automations/workflow-summaries.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';

export type SummariesQuery = z.output<typeof resource.listAutomationWorkflowSummaries.query>;

interface SummaryRow {
  [column: string]: unknown;
  id: string;
  name: string;
  active: boolean;
  triggerType: string;
  stepCount: number;
  version: number;
  environment: 'live' | 'test';
  createdAt: Date;
  updatedAt: Date;
  nextRunAt: Date | null;
  runId: string | null;
  runStatus: RunStatus;
  runEnvironment: 'live' | 'test';
  runQueuedAt: Date;
  runFinishedAt: Date | null;
  sortKey: string;
}

/**
 * The sort keys, as text, so that a cursor can contain them. A name is cut, so that the cursor stays short. A workspace
 * has at most 5,000 workflows, so no order but that of the ids has an index.
 */
const orders: Record<SummariesQuery['sort'], { key: string; direction: 'ASC' | 'DESC'; after: '>' | '<' }> = {
  createdAt: { key: `w.id::text COLLATE "C"`, direction: 'DESC', after: '<' },
  updatedAt: {
    key: `to_char(w.updated_at AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US') COLLATE "C"`,
    direction: 'DESC',
    after: '<',
  },
  name: { key: 'lower(left(w.name, 60))', direction: 'ASC', after: '>' },
};

/** A page of workflows without definitions, each with its newest run. @throws AppError `invalid_cursor`. */
export async function readWorkflowSummaries(
  { db, cursors }: { db: Database; cursors: Cursors },
  tenantId: string,
  { q, active, pack, sort, limit, cursor }: SummariesQuery,
): Promise<{ data: WorkflowSummary[]; meta: { limit: number; nextCursor: string | null } }> {
  const scope = `workflow-summaries:${sort}:${tenantId}`;
  const [afterKey, afterId] =
    cursor === undefined ? [null, null] : (JSON.parse(cursors.decodeText(scope, cursor)) as [string, string]);
  const { key, direction, after } = orders[sort];
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<SummaryRow>(
      `list_workflow_summaries_by_${sort}`,
      `SELECT page.id, page.name, page.active, page.trigger->>'type' AS "triggerType", jsonb_array_length(page.steps) AS "stepCount", page.version, page.environment,
         page.created_at AS "createdAt", page.updated_at AS "updatedAt", page.next_run_at AS "nextRunAt", page.sort_key AS "sortKey",
         r.id AS "runId", r.status AS "runStatus", r.environment AS "runEnvironment", r.queued_at AS "runQueuedAt", r.finished_at AS "runFinishedAt"
       FROM (
         SELECT w.*, ${key} AS sort_key FROM workflows w
         WHERE w.tenant_id = $1 AND w.deleted_at IS NULL AND w.origin->>'kind' IS DISTINCT FROM 'skill'
           AND ($2::boolean IS NULL OR w.active = $2) AND ($3::text IS NULL OR position(lower($3) IN lower(w.name)) > 0)
           AND ($4::text IS NULL OR (${key}, w.id) ${after} ($4, $5::uuid))
           AND ($7::text IS NULL OR (w.origin->>'kind' = 'pack' AND w.origin->>'id' = $7))
         ORDER BY ${key} ${direction}, w.id ${direction} LIMIT $6
       ) page
       LEFT JOIN LATERAL (
         SELECT runs.id, runs.status, runs.environment, runs.queued_at, runs.finished_at FROM runs
         WHERE runs.tenant_id = $1 AND runs.workflow_id = page.id ORDER BY runs.id DESC LIMIT 1
       ) r ON true
       ORDER BY page.sort_key ${direction}, page.id ${direction}`,
      [
        tenantId,
        active === undefined ? null : active === 'true',
        q ?? null,
        afterKey,
        afterId,
        limit + 1,
        pack ?? null,
      ],
    ),
  );
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  return {
    data: shown.map(presentSummary),
    meta: {
      limit,
      nextCursor:
        rows.length > limit && last !== undefined
          ? cursors.encodeText(scope, JSON.stringify([last.sortKey, last.id]))
          : null,
    },
  };
}

const presentSummary = (row: SummaryRow): WorkflowSummary => ({
  id: row.id,
  name: row.name,
  active: row.active,
  triggerType: row.triggerType,
  stepCount: row.stepCount,
  version: row.version,
  environment: row.environment,
  createdAt: row.createdAt.toISOString(),
  updatedAt: row.updatedAt.toISOString(),
  nextRunAt: row.nextRunAt?.toISOString() ?? null,
  lastRun:
    row.runId === null
      ? null
      : {
          id: row.runId,
          status: row.runStatus,
          environment: row.runEnvironment,
          queuedAt: row.runQueuedAt.toISOString(),
          finishedAt: row.runFinishedAt?.toISOString() ?? null,
        },
});
