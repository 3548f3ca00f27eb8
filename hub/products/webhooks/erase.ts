import type { Transaction } from '../../platform/db/database.ts';

const batch = 500;

/**
 * Erases the content of conversations from their deliveries and from the recorded responses. Pending deliveries are
 * cancelled.
 * Rows that another transaction has locked are skipped until the next call.
 * @returns whether more rows may remain.
 */
export async function eraseDeliveries(
  tx: Transaction,
  tenantId: string,
  conversationIds: readonly string[],
): Promise<boolean> {
  // An attempt in progress finds its lease removed and records nothing.
  await tx.query(
    'erase_webhook_deliveries',
    `WITH taken AS (
       SELECT id FROM webhook_deliveries WHERE tenant_id = $1 AND conversation_id = ANY($2::uuid[]) AND body <> '' LIMIT $3 FOR UPDATE SKIP LOCKED
     ), erased AS (
       UPDATE webhook_deliveries d SET body = '', status = CASE WHEN d.status IN ('pending', 'failed') THEN 'cancelled' ELSE d.status END,
         next_attempt_at = NULL, lease = NULL
       FROM taken t WHERE d.id = t.id RETURNING d.id
     )
     UPDATE webhook_attempts a SET response = '' FROM erased e WHERE a.delivery_id = e.id AND a.response <> ''`,
    [tenantId, conversationIds, batch],
  );
  const { rows } = await tx.query<{ is_more: boolean }>(
    'has_webhook_deliveries_to_erase',
    `SELECT EXISTS (SELECT FROM webhook_deliveries WHERE tenant_id = $1 AND conversation_id = ANY($2::uuid[]) AND body <> '') AS is_more`,
    [tenantId, conversationIds],
  );
  return rows[0]?.is_more === true;
}
