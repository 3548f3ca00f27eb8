import type { Database } from '../../platform/db/database.ts';
import { inBatches, newTurn } from '../../platform/db/row-retention.ts';

const maxWebhooksPerBatch = 100;
const batch = 500;
const minUuid = '00000000-0000-0000-0000-000000000000';

/**
 * Removes deleted webhooks: first their deliveries and attempts in small batches, then the row of the webhook. Rows
 * that another transaction has locked are skipped until the next sweep. An event transaction that started earlier may
 * still lock the row of the webhook.
 */
export async function removeDeletedWebhooks(db: Database, stopping: AbortSignal): Promise<void> {
  const turn = newTurn(stopping);
  const deleted = await db.systemStatement<{ id: string }>(
    'list_deleted_webhooks',
    'SELECT id FROM webhooks WHERE deleted_at IS NOT NULL ORDER BY deleted_at LIMIT $1',
    [maxWebhooksPerBatch],
  );
  for (const { id } of deleted) {
    // Each batch starts after the previous batch, which avoids scanning the dead index entries of removed rows.
    let after = minUuid;
    await inBatches(turn, batch, async () => {
      const { rows } = await db.system(
        (tx) =>
          tx.query<{ count: number; last: string | null }>(
            'remove_deliveries_of_webhook',
            `WITH removed AS (
               DELETE FROM webhook_deliveries WHERE id = ANY(ARRAY(
                 SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND id > $2 ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED)) RETURNING id
             )
             SELECT count(*)::int AS count, max(id::text) AS last FROM removed`,
            [id, after, batch],
          ),
        { durable: false },
      );
      after = rows[0]?.last ?? after;
      return rows[0]?.count ?? 0;
    });
    if (performance.now() > turn.deadline || stopping.aborted) return;
    await db.systemStatement(
      'remove_deleted_webhook',
      `DELETE FROM webhooks WHERE id = (
         SELECT id FROM webhooks w WHERE id = $1 AND NOT EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id) FOR UPDATE SKIP LOCKED)`,
      [id],
    );
  }
}
