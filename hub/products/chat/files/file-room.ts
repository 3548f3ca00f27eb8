import type { Database } from '../../../platform/db/database.ts';

const foldBatch = 5_000;

/** Folds what changed of the room that files of workspaces take into one row of each; part of the sweep. No sum is another before, after or meanwhile. */
export async function foldFileRoom(db: Database, stopping?: AbortSignal): Promise<void> {
  while (stopping?.aborted !== true) {
    const rows = await db.systemStatement<{ count: number }>(
      'fold_chat_file_room',
      `WITH gone AS (
         DELETE FROM chat_file_room WHERE id = ANY(ARRAY(SELECT id FROM chat_file_room WHERE NOT folded ORDER BY id LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING tenant_id, bytes
       ), total AS (
         INSERT INTO chat_file_room (tenant_id, bytes, folded) SELECT tenant_id, sum(bytes), true FROM gone GROUP BY tenant_id ORDER BY tenant_id
         ON CONFLICT (tenant_id) WHERE folded DO UPDATE SET bytes = chat_file_room.bytes + excluded.bytes
       )
       SELECT count(*)::int AS count FROM gone`,
      [foldBatch],
    );
    if ((rows[0]?.count ?? 0) < foldBatch) return;
  }
}
