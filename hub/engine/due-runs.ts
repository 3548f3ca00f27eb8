import type { Database } from '../platform/db/database.ts';

/** Workspaces that one look passes, and runs that it takes of each at least, where they have so many. */
const maxWorkspaces = 256;
const leastOfEach = 16;

export interface DueRuns {
  runs: {
    /** The first of each workspace, then the second of each, and so on; each one's that waits longest first. */
    list: { runId: string; tenantId: string }[];
    /** Whether a workspace has more than it shows. */
    hasMore: boolean;
  };
  /** The last workspace that was looked at, for the next look to go on after; null when there is none after it. */
  upTo: string | null;
}

/**
 * Runs that want a worker and that nobody holds, some of each workspace: as many as fill `room` when each gives equally many. Reads no more than it answers, however long a backlog is: it steps from
 * workspace to workspace through the index.
 */
export async function listDueRuns(
  db: Database,
  after: string | null,
  except: readonly string[],
  room: number,
): Promise<DueRuns> {
  const rows = await db.systemStatement<{ tenant_id: string; id: string | null; turn: string | null; most: number }>(
    'list_due_runs',
    `WITH RECURSIVE workspace AS (
       (SELECT tenant_id FROM runs WHERE wake_at IS NOT NULL AND lease_expires_at IS NULL AND tenant_id > $1::uuid ORDER BY tenant_id LIMIT 1)
       UNION ALL
       SELECT n.tenant_id FROM workspace CROSS JOIN LATERAL (
         SELECT tenant_id FROM runs WHERE wake_at IS NOT NULL AND lease_expires_at IS NULL AND tenant_id > workspace.tenant_id ORDER BY tenant_id LIMIT 1) n
     )
     , passed AS MATERIALIZED (SELECT tenant_id FROM workspace LIMIT ${maxWorkspaces})
     , share AS MATERIALIZED (SELECT greatest(${leastOfEach}, $3::int / greatest(count(*), 1)) AS most FROM passed WHERE tenant_id <> ALL($2::uuid[]))
     SELECT w.tenant_id, d.id, d.turn, (SELECT most FROM share)::int AS most FROM passed w
     LEFT JOIN LATERAL (
       SELECT id, row_number() OVER (ORDER BY wake_at) AS turn FROM runs
       WHERE tenant_id = w.tenant_id AND wake_at <= now() AND lease_expires_at IS NULL AND w.tenant_id <> ALL($2::uuid[]) ORDER BY wake_at LIMIT (SELECT most FROM share)
     ) d ON true ORDER BY d.turn, w.tenant_id`,
    [after ?? '00000000-0000-0000-0000-000000000000', except, room],
  );
  const workspaces = [...new Set(rows.map((row) => row.tenant_id))].toSorted();
  return {
    runs: {
      list: rows.flatMap(({ id, tenant_id: tenantId }) => (id === null ? [] : [{ runId: id, tenantId }])),
      hasMore: rows.some(({ turn, most }) => Number(turn) === most),
    },
    upTo: workspaces.length === maxWorkspaces ? (workspaces.at(-1) as string) : null,
  };
}
