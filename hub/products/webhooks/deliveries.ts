import type { z } from 'zod';
import type { ChatEventType } from '../../../shared/contract/chat/chat-events.ts';
import type {
  DeliveryStatus,
  WebhookDelivery,
  webhooks as resource,
} from '../../../shared/contract/webhooks/webhooks.ts';
import { AppError, notFound } from '../../../shared/errors.ts';
import { readPage } from '../../platform/cursor.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import { idBefore, newId } from '../../platform/ids.ts';
import { deliveryBody } from './body.ts';
import { retainedAttempts } from './delivery-store.ts';
import { samplePayload } from './sample-payload.ts';
import type { Wake } from './wake.ts';

interface DeliveryRow {
  id: string;
  event_id: string;
  event: ChatEventType;
  status: DeliveryStatus;
  attempts: number;
  next_attempt_at: Date | null;
  lease: string | null;
  response_status: number | null;
  response_ms: number | null;
  last_error: string | null;
  created_at: Date;
}

const columns =
  'id, event_id, event, status, attempts, next_attempt_at, lease, response_status, response_ms, last_error, created_at';

const present = (row: DeliveryRow): WebhookDelivery => ({
  id: row.id,
  eventId: row.event_id,
  event: row.event,
  status: row.status,
  attempts: row.attempts,
  // While a delivery is leased, `next_attempt_at` is the expiry of the lease, which is internal.
  nextAttemptAt: row.lease === null ? (row.next_attempt_at?.toISOString() ?? null) : null,
  responseStatus: row.response_status,
  responseMs: row.response_ms,
  lastError: row.last_error,
  createdAt: row.created_at.toISOString(),
});

/** One statement per combination of filters, so that each uses its own index. */
const listText = (choice: string) =>
  `SELECT ${columns} FROM webhook_deliveries WHERE webhook_id = $1 AND ($2::uuid IS NULL OR id < $2)
     AND ${choice.includes('status') ? 'status = $3' : '$3::text IS NULL'} AND ${choice.includes('event') ? 'event = $4' : '$4::text IS NULL'}
   ORDER BY id DESC LIMIT $5`;

const replayBatch = 1_000;
const maxReplayed = 10_000;

/** Lists, tests, redelivers and replays webhook deliveries. */
export class Deliveries {
  readonly #deps: { db: Database; cursors: Cursors; wake: Wake };

  constructor(dependencies: { db: Database; cursors: Cursors; wake: Wake }) {
    this.#deps = dependencies;
  }

  /** @throws AppError `not_found`. */
  list(tenantId: string, webhookId: string, query: z.output<typeof resource.listWebhookDeliveries.query>) {
    const { db, cursors } = this.#deps;
    const { status, event } = query;
    const choice = `all${status === undefined ? '' : '_by_status'}${event === undefined ? '' : '_by_event'}`;
    const read = async (limit: number, before: string | undefined) =>
      db.read(tenantId, async (tx) => {
        const [, { rows }] = await Promise.all([
          this.#assertKnown(tx, webhookId),
          tx.query<DeliveryRow>(`list_webhook_deliveries_${choice}`, listText(choice), [
            webhookId,
            before ?? null,
            status ?? null,
            event ?? null,
            limit,
          ]),
        ]);
        return rows;
      });
    return readPage(cursors, `webhook-deliveries:${webhookId}:${status ?? ''}:${event ?? ''}`, query, read, present);
  }

  /** @throws AppError `not_found`. */
  get(tenantId: string, webhookId: string, id: string) {
    return this.#deps.db.read(tenantId, async (tx) => {
      const [{ rows }, attempts] = await Promise.all([
        tx.query<DeliveryRow & { body: string }>(
          'read_webhook_delivery',
          `SELECT ${columns}, body FROM webhook_deliveries
           WHERE id = $1 AND webhook_id = $2 AND EXISTS (SELECT FROM webhooks WHERE id = $2 AND deleted_at IS NULL)`,
          [id, webhookId],
        ),
        tx.query<{
          attempt: number;
          started_at: Date;
          response_status: number | null;
          response_ms: number;
          error: string | null;
          response: string;
        }>(
          'list_webhook_attempts',
          'SELECT attempt, started_at, response_status, response_ms, error, response FROM webhook_attempts WHERE delivery_id = $1 ORDER BY attempt DESC LIMIT $2',
          [id, retainedAttempts],
        ),
      ]);
      const [row] = rows;
      if (row === undefined) throw notFound('delivery', id);
      return {
        ...present(row),
        body: row.body,
        history: attempts.rows.toReversed().map((attempt) => ({
          attempt: attempt.attempt,
          startedAt: attempt.started_at.toISOString(),
          responseStatus: attempt.response_status,
          responseMs: attempt.response_ms,
          error: attempt.error,
          response: attempt.response,
        })),
      };
    });
  }

  /** Enqueues a delivery with a sample event. @throws AppError `not_found`, `conflict`. */
  async test(tenantId: string, webhookId: string, event: ChatEventType, actor: string): Promise<WebhookDelivery> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const webhook = await this.#active(tx, webhookId);
      const [id, eventId, at] = [newId(), newId(), new Date().toISOString()];
      const payload = samplePayload(event, { tenantId, environment: webhook.environment, actor, at });
      const { rows } = await tx.query<DeliveryRow>(
        'write_webhook_test',
        `INSERT INTO webhook_deliveries (id, tenant_id, webhook_id, sequence, event_id, event, body, next_attempt_at)
         VALUES ($1, $2, $3, 1, $4, $5, $6, now()) RETURNING ${columns}`,
        [id, tenantId, webhookId, eventId, event, deliveryBody({ event, eventId, payload, timestamp: at })],
      );
      this.#deps.wake(tx, { tenantId, environment: webhook.environment, webhookIds: [webhookId] });
      return present(rows[0] as DeliveryRow);
    });
  }

  /**
   * Makes a delivery due now, unless it is in progress or waits for the preceding event. @throws AppError `not_found`,
   * `conflict`.
   */
  async redeliver(tenantId: string, webhookId: string, id: string): Promise<WebhookDelivery> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const webhook = await this.#active(tx, webhookId);
      await tx.query(
        'redeliver_webhook_delivery',
        `UPDATE webhook_deliveries SET status = 'pending', next_attempt_at = now(), lease = NULL
         WHERE id = $1 AND webhook_id = $2 AND attempts > 0 AND body <> '' AND (lease IS NULL OR next_attempt_at <= now())`,
        [id, webhookId],
      );
      const { rows } = await tx.query<DeliveryRow & { is_erased: boolean }>(
        'read_redelivered',
        `SELECT ${columns}, body = '' AS is_erased FROM webhook_deliveries WHERE id = $1 AND webhook_id = $2`,
        [id, webhookId],
      );
      if (rows[0] === undefined) throw notFound('delivery', id);
      if (rows[0].is_erased)
        throw new AppError(
          'conflict',
          `The conversation of the delivery ${id} is erased, so there is nothing to send.`,
        );
      this.#deps.wake(tx, { tenantId, environment: webhook.environment, webhookIds: [webhookId] });
      return present(rows[0]);
    });
  }

  /**
   * Enqueues the deliveries of a period again, oldest first, with one transaction per batch. @throws AppError
   * `not_found`, `conflict`.
   */
  async replay(
    tenantId: string,
    webhookId: string,
    { since, until, status }: z.output<typeof resource.replayWebhook.body>,
  ): Promise<{ replayed: number }> {
    const end = until === undefined ? new Date() : new Date(until);
    let after = idBefore(new Date(since));
    let replayed = 0;
    for (let isLast = false; !isLast;) {
      const batch = await this.#deps.db.workspace(tenantId, async (tx) => {
        const { environment } = await this.#active(tx, webhookId);
        const { rows } = await tx.query<{ last: string | null; seen: number; replayed: number }>(
          'replay_webhook_deliveries',
          `WITH seen AS (
             SELECT id, status, attempts, lease FROM webhook_deliveries WHERE webhook_id = $1 AND id >= $2 AND id < $3 ORDER BY id LIMIT $5
           ), again AS (
             UPDATE webhook_deliveries d SET status = 'pending', next_attempt_at = now() FROM seen s
             WHERE d.id = s.id AND d.lease IS NULL AND d.attempts > 0 AND d.body <> ''
               AND CASE WHEN $4::text IS NULL THEN d.status IN ('failed', 'exhausted', 'cancelled') ELSE d.status = $4 END
             RETURNING d.id
           )
           SELECT (SELECT max(id::text) FROM seen) AS last, (SELECT count(*)::int FROM seen) AS seen, (SELECT count(*)::int FROM again) AS replayed`,
          [webhookId, after, idBefore(end), status ?? null, replayBatch],
        );
        const [found = { last: null, seen: 0, replayed: 0 }] = rows;
        const total = replayed + found.replayed;
        const isEnd = found.seen < replayBatch || total >= maxReplayed;
        if (isEnd && total > 0) this.#deps.wake(tx, { tenantId, environment, webhookIds: [webhookId] });
        return { last: found.last, total, isEnd };
      });
      replayed = batch.total;
      after = nextId(batch.last ?? after);
      isLast = batch.isEnd;
    }
    return { replayed };
  }

  async #assertKnown(tx: Transaction, webhookId: string): Promise<{ active: boolean; environment: 'live' | 'test' }> {
    const { rows } = await tx.query<{ active: boolean; environment: 'live' | 'test' }>(
      'read_webhook_state',
      'SELECT active, environment FROM webhooks WHERE id = $1 AND deleted_at IS NULL',
      [webhookId],
    );
    if (rows[0] === undefined) throw notFound('webhook', webhookId);
    return rows[0];
  }

  async #active(tx: Transaction, webhookId: string) {
    const webhook = await this.#assertKnown(tx, webhookId);
    if (!webhook.active)
      throw new AppError('conflict', `The webhook ${webhookId} is inactive. Activate it with PATCH and active: true.`);
    return webhook;
  }
}

/** The smallest id greater than the given id. */
function nextId(id: string): string {
  const hex = (BigInt(`0x${id.replaceAll('-', '')}`) + 1n).toString(16).padStart(32, '0');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}
