import type { Database } from '../../../platform/db/database.ts';
import { newTurn, runInTurns } from '../../../platform/db/row-retention.ts';

/** Retention of the events of a workspace. */
export interface EventRetention {
  count: number;
  hours: number;
}

export const eventRetention: EventRetention = { count: 10_000, hours: 24 };
const batch = 2_000;

/**
 * Deletes events beyond the retention in transaction order and records the last deleted transaction, so that a
 * subscriber with a gap gets a reset.
 * Rows restored from a dump of another cluster have transaction IDs in the future. They are deleted without a record.
 */
const trimStatement = `WITH beyond AS (
    SELECT transaction FROM workspace_events WHERE tenant_id = $1 ORDER BY transaction DESC, seq DESC OFFSET $2 LIMIT 1
  ), oldest AS (
    SELECT transaction, at FROM workspace_events WHERE tenant_id = $1 AND transaction < pg_snapshot_xmax(pg_current_snapshot()) ORDER BY transaction, seq LIMIT ${batch}
  ), cut AS (
    SELECT transaction FROM oldest WHERE at < now() - make_interval(hours => $3) OR transaction <= (SELECT transaction FROM beyond) ORDER BY transaction DESC LIMIT 1
  ), noted AS (
    INSERT INTO workspace_event_floors AS f (tenant_id, transaction) SELECT t.id, transaction FROM cut JOIN tenants t ON t.id = $1
    ON CONFLICT (tenant_id) DO UPDATE SET transaction = CASE
      WHEN f.transaction < pg_snapshot_xmax(pg_current_snapshot()) THEN greatest(f.transaction, excluded.transaction) ELSE excluded.transaction END
  )
  DELETE FROM workspace_events WHERE tenant_id = $1 AND (transaction <= (SELECT transaction FROM cut) OR transaction >= pg_snapshot_xmax(pg_current_snapshot()))`;

/**
 * Trims the events of every workspace. The sweep runs this function.
 * @throws AggregateError with the failures of single workspaces, after the others are trimmed; DatabaseOutage.
 */
export async function trimWorkspaceEvents(
  db: Database,
  retention: EventRetention,
  stopping?: AbortSignal,
): Promise<void> {
  const workspaces = await db.systemStatement<{ tenant_id: string }>(
    'workspaces_with_events',
    // One index look-up per workspace: DISTINCT would read every event.
    `WITH RECURSIVE workspace AS (
       (SELECT tenant_id FROM workspace_events ORDER BY tenant_id LIMIT 1)
       UNION ALL
       SELECT n.tenant_id FROM workspace CROSS JOIN LATERAL (SELECT tenant_id FROM workspace_events WHERE tenant_id > workspace.tenant_id ORDER BY tenant_id LIMIT 1) n
     ) SELECT tenant_id FROM workspace`,
    [],
  );
  const removals = workspaces.map(({ tenant_id: tenantId }) => ({
    name: tenantId,
    runBatch: async () => {
      const { rowCount } = await db.system(
        (tx) => tx.query('trim_workspace_events', trimStatement, [tenantId, retention.count, retention.hours]),
        { durable: false },
      );
      return (rowCount ?? 0) >= batch;
    },
  }));
  await runInTurns(newTurn(stopping), removals);
}
