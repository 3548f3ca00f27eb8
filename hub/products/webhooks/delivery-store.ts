import type { ChatEventType } from '../../../shared/contract/chat/chat-events.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';

/**
 * Concurrent deliveries per address, workspace and environment, and how many of them may be retries. The difference is
 * reserved for first attempts.
 */
export const maxConcurrentPerAddress = 4;
const maxConcurrentRetriesPerAddress = 2;
/** Number of newest attempts that are retained per delivery. */
export const retainedAttempts = 50;

/** A delivery that this process leased for one attempt. */
export interface ClaimedDelivery {
  id: string;
  webhook_id: string;
  event_id: string;
  event: ChatEventType;
  body: string;
  attempts: number;
  conversation_id: string | null;
  sequence: number;
  url: string;
  sealed_secret: string;
  /** The previous secret, while it is still valid. */
  sealed_previous_secret: string | null;
  lease: string;
}

export interface AttemptOutcome {
  startedAt: Date;
  status: 'delivered' | 'failed' | 'exhausted';
  /** Seconds until the next attempt; null when there is none. */
  retryAfterSeconds: number | null;
  responseStatus: number | null;
  responseMs: number;
  error: string | null;
  response: string;
  /** The reason why this response deactivates the webhook; null when it does not. */
  endsWebhook: string | null;
}

const claimText = `WITH hook AS (SELECT * FROM webhooks WHERE id = $1 AND active),
  busy AS (
    SELECT count(*)::int AS lanes, count(*) FILTER (WHERE d.attempts > 0)::int AS retries
    FROM hook h JOIN webhooks same ON same.tenant_id = h.tenant_id AND same.environment = h.environment AND same.url = h.url
    JOIN webhook_deliveries d ON d.webhook_id = same.id AND d.lease IS NOT NULL AND d.next_attempt_at > now()
  ), first AS (
    SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND attempts = 0 AND next_attempt_at <= now() ORDER BY next_attempt_at, id LIMIT $2
  ), again AS (
    SELECT id, row_number() OVER (ORDER BY next_attempt_at, id) AS place FROM webhook_deliveries
    WHERE webhook_id = $1 AND attempts > 0 AND next_attempt_at <= now() ORDER BY next_attempt_at, id LIMIT $3
  ), picked AS (
    -- One further try goes before the first ones where none is under way, so that neither kind waits for ever.
    SELECT id FROM (
      SELECT id, 1 AS rank FROM first
      UNION ALL
      SELECT id, CASE WHEN place = 1 AND b.retries = 0 THEN 0 ELSE 2 END FROM again CROSS JOIN busy b WHERE place <= $3 - b.retries
    ) ranked ORDER BY rank, id LIMIT (SELECT greatest(0, least($2, $4 - lanes)) FROM busy)
  )
  UPDATE webhook_deliveries d SET lease = $5, next_attempt_at = now() + make_interval(secs => $6)
  FROM picked p, hook h WHERE d.id = p.id AND h.id = d.webhook_id AND d.next_attempt_at <= now()
  RETURNING d.id, d.webhook_id, d.event_id, d.event, d.body, d.attempts, d.conversation_id, d.sequence, d.lease, h.url, h.sealed_secret,
    CASE WHEN h.previous_until > now() THEN h.sealed_previous_secret END AS sealed_previous_secret`;

/**
 * Leases due deliveries of a webhook, within the concurrency limit of its address. Claims for the same address run one
 * at a time.
 * @param lease `id` identifies this claim. The lease expires after `seconds`.
 */
export async function claimDeliveries(
  db: Database,
  { tenantId, webhookId }: { tenantId: string; webhookId: string },
  atMost: number,
  lease: { id: string; seconds: number },
): Promise<ClaimedDelivery[]> {
  const { rows } = await db.workspace(
    tenantId,
    async (tx) => {
      const [, claimed] = await Promise.all([
        tx.query(
          'lock_webhook_address',
          'SELECT pg_advisory_xact_lock(hashtextextended(tenant_id::text || environment || url, 0)) FROM webhooks WHERE id = $1',
          [webhookId],
        ),
        // The statement takes its snapshot after the lock is acquired, so that it counts earlier claims.
        tx.query<ClaimedDelivery>('claim_webhook_deliveries', claimText, [
          webhookId,
          Math.min(atMost, maxConcurrentPerAddress),
          maxConcurrentRetriesPerAddress,
          maxConcurrentPerAddress,
          lease.id,
          lease.seconds,
        ]),
      ]);
      return claimed;
    },
    { durable: false },
  );
  return rows;
}

/** Releases the lease of a delivery whose outcome was not recorded. The delivery is due again after `afterSeconds`. */
export const releaseDelivery = (
  db: Database,
  tenantId: string,
  { id, lease }: { id: string; lease: string },
  afterSeconds: number,
) =>
  db.workspace(tenantId, (tx) =>
    tx.query(
      'release_webhook_delivery',
      'UPDATE webhook_deliveries SET lease = NULL, next_attempt_at = now() + make_interval(secs => $3) WHERE id = $1 AND lease = $2',
      [id, lease, afterSeconds],
    ),
  );

/**
 * Records an attempt and makes the next event of its conversation due.
 * @returns false when the lease of this attempt has expired and another claim replaced it.
 */
export async function recordAttempt(
  tx: Transaction,
  { id, lease, webhook_id: webhookId, conversation_id: conversationId, sequence }: ClaimedDelivery,
  outcome: AttemptOutcome,
): Promise<boolean> {
  const [recorded] = await Promise.all([
    tx.query(
      'record_webhook_attempt',
      `WITH ended AS (
         UPDATE webhook_deliveries SET status = $3, attempts = attempts + 1, lease = NULL, response_status = $5, response_ms = $6, last_error = $7,
           next_attempt_at = now() + make_interval(secs => $4::float8)
         WHERE id = $1 AND lease = $2 RETURNING id, tenant_id, attempts
       ), noted AS (
         INSERT INTO webhook_attempts (delivery_id, attempt, tenant_id, started_at, response_status, response_ms, error, response)
         SELECT id, attempts, tenant_id, $8, $5, $6, $7, $9 FROM ended
       ), trimmed AS (
         DELETE FROM webhook_attempts a USING ended e WHERE a.delivery_id = e.id AND a.attempt <= e.attempts - $10
       )
       SELECT FROM ended`,
      [
        id,
        lease,
        outcome.status,
        outcome.retryAfterSeconds,
        outcome.responseStatus,
        outcome.responseMs,
        outcome.error,
        outcome.startedAt,
        outcome.response,
        retainedAttempts,
      ],
    ),
    // A separate statement: it also sees events that were inserted while the previous statement waited for a lock.
    tx.query(
      'advance_webhook_queue',
      `UPDATE webhook_deliveries SET next_attempt_at = now() WHERE next_attempt_at IS NULL AND id = (
         SELECT id FROM webhook_deliveries WHERE webhook_id = $1 AND conversation_id = $2 AND sequence > $3 AND attempts = 0 AND status = 'pending'
         ORDER BY sequence LIMIT 1
       ) AND EXISTS (SELECT FROM webhook_deliveries WHERE id = $4 AND attempts > 0)`,
      [webhookId, conversationId, sequence, id],
    ),
  ]);
  return recorded.rowCount === 1;
}

/**
 * Records successful attempts, for any webhooks of one workspace, with the same effects as `recordAttempt`.
 * @returns for each attempt whether its lease was still valid.
 */
export async function recordSuccesses(
  tx: Transaction,
  attempts: readonly { delivery: ClaimedDelivery; outcome: AttemptOutcome }[],
): Promise<boolean[]> {
  // All transactions that lock several deliveries lock them in the order of their ids, which prevents deadlocks.
  const sorted = attempts.toSorted((left, right) => (left.delivery.id < right.delivery.id ? -1 : 1));
  const of = <Value>(value: (attempt: (typeof sorted)[number]) => Value) => sorted.map(value);
  const [{ rows }] = await Promise.all([
    tx.query<{ id: string }>(
      'record_webhook_successes',
      `WITH given AS (
         SELECT * FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::timestamptz[], $6::text[]) AS g (id, lease, response_status, response_ms, started_at, response)
       ), next AS (
         SELECT n.id FROM given g JOIN webhook_deliveries d ON d.id = g.id CROSS JOIN LATERAL (
           SELECT id FROM webhook_deliveries w WHERE w.webhook_id = d.webhook_id AND w.conversation_id = d.conversation_id AND w.sequence > d.sequence
             AND w.attempts = 0 AND w.status = 'pending' ORDER BY w.sequence LIMIT 1
         ) n
       ), held AS (
         SELECT d.id FROM webhook_deliveries d JOIN (SELECT id FROM given UNION SELECT id FROM next) h ON h.id = d.id ORDER BY d.id FOR NO KEY UPDATE OF d
       ), ended AS (
         UPDATE webhook_deliveries d SET status = 'delivered', attempts = attempts + 1, lease = NULL, response_status = g.response_status,
           response_ms = g.response_ms, last_error = NULL, next_attempt_at = NULL
         FROM given g WHERE d.id = g.id AND d.lease = g.lease AND d.id IN (SELECT id FROM held) RETURNING d.id, d.tenant_id, d.attempts, g.response_status, g.response_ms, g.started_at, g.response
       ), noted AS (
         INSERT INTO webhook_attempts (delivery_id, attempt, tenant_id, started_at, response_status, response_ms, error, response)
         SELECT id, attempts, tenant_id, started_at, response_status, response_ms, NULL, response FROM ended
       ), trimmed AS (
         DELETE FROM webhook_attempts a USING ended e WHERE a.delivery_id = e.id AND a.attempt <= e.attempts - $7
       )
       SELECT id FROM ended`,
      [
        of(({ delivery }) => delivery.id),
        of(({ delivery }) => delivery.lease),
        of(({ outcome }) => outcome.responseStatus),
        of(({ outcome }) => outcome.responseMs),
        of(({ outcome }) => outcome.startedAt),
        of(({ outcome }) => outcome.response),
        retainedAttempts,
      ],
    ),
    // A separate statement: it also sees events that were inserted while the previous statement waited for a lock.
    tx.query(
      'advance_webhook_queues',
      `UPDATE webhook_deliveries SET next_attempt_at = now() WHERE next_attempt_at IS NULL AND id IN (
         SELECT n.id FROM unnest($1::uuid[], $2::uuid[], $3::uuid[], $4::int[]) AS g (id, webhook_id, conversation_id, sequence)
         JOIN webhook_deliveries d ON d.id = g.id AND d.attempts > 0
         CROSS JOIN LATERAL (
           SELECT id FROM webhook_deliveries w WHERE w.webhook_id = g.webhook_id AND w.conversation_id = g.conversation_id AND w.sequence > g.sequence
             AND w.attempts = 0 AND w.status = 'pending' ORDER BY w.sequence LIMIT 1
         ) n
       )`,
      [
        of(({ delivery }) => delivery.id),
        of(({ delivery }) => delivery.webhook_id),
        of(({ delivery }) => delivery.conversation_id),
        of(({ delivery }) => delivery.sequence),
      ],
    ),
    tx.query(
      'note_webhook_successes',
      'UPDATE webhooks SET failing_since = NULL, failures = 0 WHERE id = ANY($1) AND failing_since IS NOT NULL',
      [[...new Set(of(({ delivery }) => delivery.webhook_id))]],
    ),
  ]);
  const recorded = new Set(rows.map(({ id }) => id));
  return attempts.map(({ delivery }) => recorded.has(delivery.id));
}

const failingReason = 'No delivery succeeded for 5 days.';

/**
 * Counts a failed attempt. Deactivates the webhook when `endsWebhook` gives a reason, or after 5 days without a
 * successful delivery.
 * @returns the reason for the deactivation; null when the webhook stays active.
 */
export async function recordFailure(
  tx: Transaction,
  webhookId: string,
  endsWebhook: string | null,
): Promise<string | null> {
  const { rows } = await tx.query<{ reason: string | null }>(
    'note_webhook_failure',
    `WITH judged AS (
       SELECT id, CASE WHEN active THEN coalesce($2, CASE WHEN failures >= 4 AND failing_since <= now() - interval '5 days' THEN $3 END) END AS reason
       FROM webhooks WHERE id = $1 FOR NO KEY UPDATE
     )
     UPDATE webhooks w SET failing_since = coalesce(w.failing_since, now()), failures = w.failures + 1, active = w.active AND j.reason IS NULL,
       disabled_reason = coalesce(j.reason, w.disabled_reason), mail_due_at = CASE WHEN j.reason IS NULL THEN w.mail_due_at ELSE now() END,
       updated_at = CASE WHEN j.reason IS NULL THEN w.updated_at ELSE now() END
     FROM judged j WHERE w.id = j.id RETURNING j.reason`,
    [webhookId, endsWebhook, failingReason],
  );
  return rows[0]?.reason ?? null;
}
