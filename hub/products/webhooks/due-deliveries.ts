import type { Database } from '../../platform/db/database.ts';
import type { WebhookOwner } from './wake.ts';

const minUuid = '00000000-0000-0000-0000-000000000000';
const maxWebhooksPerBatch = 500;
const nextOpen = (attempts: string, after: string) =>
  `(SELECT d.webhook_id FROM webhook_deliveries d WHERE d.attempts ${attempts} AND d.next_attempt_at IS NOT NULL AND d.webhook_id > ${after} ORDER BY d.webhook_id LIMIT 1)`;
const hasDue = (attempts: string) =>
  `EXISTS (SELECT FROM webhook_deliveries d WHERE d.webhook_id = w.id AND d.attempts ${attempts} AND d.next_attempt_at <= now())`;

// The query jumps from webhook to webhook in the index, so that its cost does not depend on the number of deliveries.
const dueText = `WITH RECURSIVE open (webhook_id, n) AS (
    SELECT least(${nextOpen('= 0', '$1::uuid')}, ${nextOpen('> 0', '$1::uuid')}), 1
    UNION ALL
    SELECT least(${nextOpen('= 0', 'o.webhook_id')}, ${nextOpen('> 0', 'o.webhook_id')}), o.n + 1 FROM open o WHERE o.webhook_id IS NOT NULL AND o.n < $2
  )
  SELECT o.webhook_id, w.tenant_id, w.environment, w.active AND (${hasDue('= 0')} OR ${hasDue('> 0')}) AS is_due FROM open o JOIN webhooks w ON w.id = o.webhook_id ORDER BY o.webhook_id`;

export async function listDueWebhooks(db: Database): Promise<{ webhookId: string; owner: WebhookOwner }[]> {
  const due: { webhookId: string; owner: WebhookOwner }[] = [];
  for (let after = minUuid; ;) {
    const rows = await db.systemStatement<{
      webhook_id: string;
      tenant_id: string;
      environment: WebhookOwner['environment'];
      is_due: boolean;
    }>('list_due_webhooks', dueText, [after, maxWebhooksPerBatch]);
    due.push(
      ...rows
        .filter((row) => row.is_due)
        .map((row) => ({
          webhookId: row.webhook_id,
          owner: { tenantId: row.tenant_id, environment: row.environment },
        })),
    );
    const last = rows.at(-1);
    if (rows.length < maxWebhooksPerBatch || last === undefined) return due;
    after = last.webhook_id;
  }
}

const repairBatch = 1_000;

/**
 * Makes the first pending delivery of each conversation due when no process did so. This happens when retention removed
 * the preceding event or a process died before recording it.
 * Runs in each sweep, in bounded batches.
 */
export async function repairConversationQueues(db: Database, stopping?: AbortSignal): Promise<void> {
  let after: { webhook_id: string; conversation_id: string; sequence: number } = {
    webhook_id: minUuid,
    conversation_id: minUuid,
    sequence: 0,
  };
  while (stopping?.aborted !== true) {
    const rows = await db.systemStatement<typeof after & { n: number }>(
      'repair_webhook_queues',
      `WITH walked AS (
         SELECT id, webhook_id, conversation_id, sequence, next_attempt_at, created_at FROM webhook_deliveries
         WHERE attempts = 0 AND status = 'pending' AND (webhook_id, conversation_id, sequence) > ($1::uuid, $2::uuid, $3::int)
         ORDER BY webhook_id, conversation_id, sequence LIMIT $4
       ), placed AS (
         SELECT *, lag(webhook_id, 1, $1::uuid) OVER line = webhook_id AND lag(conversation_id, 1, $2::uuid) OVER line = conversation_id AS is_behind
         FROM walked WINDOW line AS (ORDER BY webhook_id, conversation_id, sequence)
       ), freed AS (
         UPDATE webhook_deliveries d SET next_attempt_at = now() FROM placed p
         WHERE d.id = p.id AND NOT p.is_behind AND d.next_attempt_at IS NULL AND d.attempts = 0 AND p.created_at < now() - interval '1 minute'
       )
       SELECT webhook_id, conversation_id, sequence, (SELECT count(*)::int FROM walked) AS n FROM walked ORDER BY webhook_id DESC, conversation_id DESC, sequence DESC LIMIT 1`,
      [after.webhook_id, after.conversation_id, after.sequence, repairBatch],
    );
    const [last] = rows;
    if (last === undefined || last.n < repairBatch) return;
    after = last;
  }
}
