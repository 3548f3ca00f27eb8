import type { Transaction } from '../../platform/db/database.ts';
import { newId } from '../../platform/ids.ts';
import type { ChatEvent } from '../chat/events/index.ts';
import { deliveryBody } from './body.ts';
import type { DueWebhooks } from './wake.ts';

/**
 * Inserts a delivery for each webhook that subscribes to the event. It runs in the transaction that causes the event
 * and stores the exact bytes to send.
 * @returns the webhooks.
 */
export async function enqueueDeliveries(tx: Transaction, event: ChatEvent): Promise<DueWebhooks> {
  const { conversation, sequence, environment } = event.payload as {
    conversation: { id: string };
    sequence: number;
    environment: DueWebhooks['environment'];
  };
  // The statement locks the last preceding event that has not been attempted. The transaction that records this attempt
  // waits until the new event is inserted, and then finds it. The lock on the webhook prevents its deletion. All
  // transactions lock deliveries in the order of their ids.
  const { rows } = await tx.query<{ id: string; waits: boolean }>(
    'list_following_webhooks',
    `WITH hooks AS (
       SELECT id FROM webhooks WHERE tenant_id = $1 AND active AND environment = $2 AND $3 = ANY(events) ORDER BY id FOR KEY SHARE
     ), last AS (
       SELECT l.id FROM hooks h CROSS JOIN LATERAL (
         SELECT d.id FROM webhook_deliveries d WHERE d.webhook_id = h.id AND d.conversation_id = $4 AND d.attempts = 0 AND d.status = 'pending'
         ORDER BY d.sequence DESC LIMIT 1) l
     ), before AS (
       SELECT d.webhook_id FROM last l JOIN webhook_deliveries d ON d.id = l.id
       WHERE d.attempts = 0 AND d.status = 'pending' ORDER BY d.id FOR SHARE OF d
     )
     SELECT h.id, b.webhook_id IS NOT NULL AS waits FROM hooks h LEFT JOIN before b ON b.webhook_id = h.id ORDER BY h.id`,
    [event.tenantId, environment, event.type, conversation.id],
  );
  const due = { tenantId: event.tenantId, environment, webhookIds: rows.map(({ id }) => id) };
  if (rows.length === 0) return due;
  const body = deliveryBody({
    event: event.type,
    eventId: event.eventId,
    payload: event.payload,
    timestamp: new Date().toISOString(),
  });
  await tx.query(
    'write_webhook_deliveries',
    `INSERT INTO webhook_deliveries (id, tenant_id, webhook_id, conversation_id, sequence, event_id, event, body, next_attempt_at)
     SELECT d.id, $1, d.webhook_id, $2, $3, $4, $5, $6, CASE WHEN NOT d.waits THEN now() END
     FROM unnest($7::uuid[], $8::uuid[], $9::boolean[]) AS d(id, webhook_id, waits)`,
    [
      event.tenantId,
      conversation.id,
      sequence,
      event.eventId,
      event.type,
      body,
      rows.map(() => newId()),
      due.webhookIds,
      rows.map(({ waits }) => waits),
    ],
  );
  return due;
}
