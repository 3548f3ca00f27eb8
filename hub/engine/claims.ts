import { Batches } from '../platform/db/batches.ts';
import type { Database } from '../platform/db/database.ts';
import { workspaceTopic } from '../platform/events/workspace-topic.ts';
import { isGated, termColumns } from './definitions.ts';
import { claimColumns, claimRun, isToBeHad, leaseSeconds, resultsOfClaimed, takenByClaim } from './store.ts';
import type { ClaimedRun } from './store.ts';

/** Who begins was decided before, so all workspaces share a line. */
const line = 'claims';

/** Takes runs that want a worker, those that are wanted in one moment by one statement. */
export class Claims {
  readonly #batches: Batches<string, ClaimedRun | null>;

  constructor(db: Database) {
    this.#batches = new Batches({
      flush: (_line, runIds) => claimRuns(db, runIds),
      bytesOf: (runId) => runId.length,
    });
  }

  /** Takes a run as `claimRun` does. @throws DatabaseOutage. */
  claim(runId: string): Promise<ClaimedRun | null> {
    return this.#batches.add(line, runId);
  }
}

/**
 * Claims many runs. It waits for none that somebody has locked: two that claimed the same ones could wait for each other, and one run
 * would keep all others from beginning. Those are claimed by themselves afterwards.
 */
async function claimRuns(db: Database, runIds: readonly string[]): Promise<(ClaimedRun | null)[]> {
  const [first] = runIds;
  if (first !== undefined && runIds.length === 1) return [await claimRun(db, first)];
  const rows = await db.systemStatement<ClaimedRun & { due_id: string }>(
    'claim_runs',
    // By their ids one by one, whatever a plan supposes of how many are due.
    `WITH due AS MATERIALIZED (
       SELECT r.id FROM (SELECT DISTINCT value::uuid AS id FROM jsonb_array_elements_text($1::jsonb)) g
       CROSS JOIN LATERAL (SELECT id FROM runs WHERE id = g.id AND ${isToBeHad} LIMIT 1) r
     ), free AS MATERIALIZED (
       SELECT r.id FROM due CROSS JOIN LATERAL (SELECT id FROM runs WHERE id = due.id AND ${isToBeHad} FOR NO KEY UPDATE SKIP LOCKED) r
     ), claimed AS (
       UPDATE runs SET ${takenByClaim}
       FROM (
         SELECT w.id AS gate_id, ${termColumns}, ${isGated} AS gated
         FROM workflows w JOIN tenants t ON t.id = w.tenant_id LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id
       ) g
       WHERE runs.id = ANY(ARRAY(SELECT id FROM free)) AND g.gate_id = runs.workflow_id
       RETURNING ${claimColumns}
     )
     SELECT due.id AS due_id, claimed.*, v.steps, ${resultsOfClaimed} AS results
     FROM due LEFT JOIN claimed ON claimed.id = due.id LEFT JOIN workflow_versions v ON v.workflow_id = claimed.workflow_id AND v.version = claimed.workflow_version`,
    [JSON.stringify(runIds), leaseSeconds],
  );
  const claimed = new Map<string, ClaimedRun | null>();
  for (const { due_id: runId, ...run } of rows) claimed.set(runId, run.id === null ? await claimRun(db, runId) : run);
  for (const tenantId of new Set(rows.map(({ tenant_id }) => tenant_id))) db.tellWritten(workspaceTopic(tenantId));
  return runIds.map((runId) => claimed.get(runId) ?? null);
}
