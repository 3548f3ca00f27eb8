import type { Retention } from '../../shared/contract/policies.ts';
import type { Blobs } from '../platform/blobs/blobs.ts';
import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/logger.ts';

/** Runs that go at once: few enough that nobody waits for their locks. */
const batchSize = 200;
const pauseMs = 50;
/** Batches of one workspace in one turn of the sweep. */
const maxBatches = 500;

/** Ended runs that nothing open waits for, oldest first. */
const dueByAge = `SELECT id FROM runs r WHERE tenant_id = $1 AND finished_at < now() - make_interval(days => $2)
  AND NOT EXISTS (SELECT 1 FROM runs p WHERE p.id = r.parent_run_id AND p.finished_at IS NULL) ORDER BY finished_at LIMIT $3`;
const dueByCount = `SELECT id FROM runs r WHERE tenant_id = $1 AND finished_at <= (
    SELECT finished_at FROM runs WHERE tenant_id = $1 AND finished_at IS NOT NULL ORDER BY finished_at DESC OFFSET $2 LIMIT 1)
  AND NOT EXISTS (SELECT 1 FROM runs p WHERE p.id = r.parent_run_id AND p.finished_at IS NULL) ORDER BY finished_at LIMIT $3`;

/**
 * Removes ended runs beyond what the policy of their workspace keeps, with their steps, logs and artefacts, in small batches; part of
 * the sweep. Answers how many.
 */
export async function pruneRuns(db: Database, blobs: Blobs, logger: Logger): Promise<number> {
  const policies = await db.systemStatement<{ tenant_id: string; retention: Retention }>('retention_policies', 'SELECT tenant_id, retention FROM automation_policies WHERE retention IS NOT NULL', []);
  let removed = 0;
  for (const { tenant_id: tenantId, retention } of policies) {
    const rules: [string, string, number | undefined][] = [
      ['due_by_age', dueByAge, retention.maxAgeDays],
      ['due_by_count', dueByCount, retention.maxRuns],
    ];
    for (const [name, query, value] of rules) {
      if (value === undefined) continue;
      for (let batch = 0; batch < maxBatches; batch += 1) {
        const count = await pruneBatch(db, blobs, tenantId, name, query, value);
        removed += count;
        if (count < batchSize) break;
        await new Promise((resolve) => setTimeout(resolve, pauseMs));
      }
    }
  }
  if (removed > 0) logger.info({ runs: removed }, 'removed runs that their workspace keeps no longer');
  return removed;
}

async function pruneBatch(db: Database, blobs: Blobs, tenantId: string, name: string, query: string, value: number): Promise<number> {
  const { ids, artifactIds } = await db.workspace(
    tenantId,
    async (tx) => {
      const { rows: due } = await tx.query<{ id: string }>(name, query, [tenantId, value, batchSize]);
      const runIds = due.map((row) => row.id);
      if (runIds.length === 0) return { ids: runIds, artifactIds: [] };
      const { rows: gone } = await tx.query<{ id: string }>('prune_artifacts', 'DELETE FROM artifacts WHERE run_id = ANY($1) RETURNING id', [runIds]);
      await tx.query('prune_messages', 'DELETE FROM messages WHERE run_id = ANY($1)', [runIds]);
      const { rows: flows } = await tx.query<{ flow_id: string }>('prune_runs', 'DELETE FROM runs WHERE id = ANY($1) RETURNING flow_id', [runIds]);
      await tx.query('prune_flows', 'DELETE FROM flows f WHERE id = ANY($1) AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.flow_id = f.id)', [flows.map((row) => row.flow_id)]);
      return { ids: runIds, artifactIds: gone.map((row) => row.id) };
    },
    { durable: false },
  );
  for (const id of artifactIds) await blobs.delete(`${tenantId}/${id}`);
  return ids.length;
}
