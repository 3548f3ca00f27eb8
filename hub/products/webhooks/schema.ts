import type { ChatEventType } from '../../../shared/contract/chat/chat-events.ts';
import type { DeliveryStatus } from '../../../shared/contract/webhooks/webhooks.ts';
import { boolean, index, integer, pgTable, primaryKey, sql, text, uuid } from '../../platform/db/orm.ts';
import { createdAt, hotTenantId, instant, policies, tenantId, updatedAt } from '../../platform/db/tenancy.ts';

/** Webhook subscriptions. */
export const webhooks = pgTable(
  'webhooks',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    url: text('url').notNull(),
    events: text('events').array().$type<ChatEventType[]>().notNull(),
    description: text('description').notNull(),
    environment: text('environment').$type<'live' | 'test'>().notNull(),
    active: boolean('active').notNull(),
    sealedSecret: text('sealed_secret').notNull(),
    secretHint: text('secret_hint').notNull(),
    /** The previous secret, valid until `previous_until`. */
    sealedPreviousSecret: text('sealed_previous_secret'),
    previousUntil: instant('previous_until'),
    disabledReason: text('disabled_reason'),
    /**
     * When the current series of failed attempts began, and its length. A successful attempt resets both to null and 0.
     */
    failingSince: instant('failing_since'),
    failures: integer('failures').notNull().default(0),
    /** When to notify the admins of a deactivation by mail; null when no mail is due. */
    mailDueAt: instant('mail_due_at'),
    /**
     * When the webhook was deleted. A deleted webhook is inactive and has no secret. A task removes its deliveries and
     * then the row.
     */
    deletedAt: instant('deleted_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('webhooks_tenant').on(table.tenantId, table.id),
    index('webhooks_mail')
      .on(table.mailDueAt)
      .where(sql`${table.mailDueAt} IS NOT NULL`),
    index('webhooks_deleted')
      .on(table.deletedAt)
      .where(sql`${table.deletedAt} IS NOT NULL`),
    ...policies(),
  ],
);

/**
 * Deliveries to webhooks, with the exact bytes of the body.
 * `next_attempt_at` is the time of the next attempt. While `lease` is set, it is the expiry of the lease.
 * It is null in a pending delivery that waits for the first attempt of the preceding event of the conversation, which
 * then sets it.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: uuid('id').primaryKey(),
    tenantId: hotTenantId(),
    webhookId: uuid('webhook_id')
      .notNull()
      .references(() => webhooks.id, { onDelete: 'cascade' }),
    /** Null for a sample event. */
    conversationId: uuid('conversation_id'),
    /** Position among the events of the conversation. */
    sequence: integer('sequence').notNull(),
    eventId: uuid('event_id').notNull(),
    event: text('event').$type<ChatEventType>().notNull(),
    body: text('body').notNull(),
    status: text('status').$type<DeliveryStatus>().notNull().default('pending'),
    attempts: integer('attempts').notNull().default(0),
    nextAttemptAt: instant('next_attempt_at'),
    lease: uuid('lease'),
    responseStatus: integer('response_status'),
    responseMs: integer('response_ms'),
    lastError: text('last_error'),
    createdAt: createdAt(),
  },
  (table) => [
    index('webhook_deliveries_webhook').on(table.webhookId, table.id),
    index('webhook_deliveries_status').on(table.webhookId, table.status, table.id),
    index('webhook_deliveries_event').on(table.webhookId, table.event, table.id),
    // First attempts and retries have separate indexes, so that many rows of one kind do not slow down queries for the
    // other.
    index('webhook_deliveries_first')
      .on(table.webhookId, table.nextAttemptAt)
      .where(sql`${table.attempts} = 0 AND ${table.nextAttemptAt} IS NOT NULL`),
    index('webhook_deliveries_again')
      .on(table.webhookId, table.nextAttemptAt)
      .where(sql`${table.attempts} > 0 AND ${table.nextAttemptAt} IS NOT NULL`),
    index('webhook_deliveries_leased')
      .on(table.webhookId)
      .where(sql`${table.lease} IS NOT NULL`),
    index('webhook_deliveries_line')
      .on(table.webhookId, table.conversationId, table.sequence)
      .where(sql`${table.attempts} = 0 AND ${table.status} = 'pending'`),
    // Rows with content that erasure has to remove.
    index('webhook_deliveries_conversation')
      .on(table.tenantId, table.conversationId)
      .where(sql`${table.body} <> ''`),
    ...policies(),
  ],
);

export const webhookAttempts = pgTable(
  'webhook_attempts',
  {
    deliveryId: uuid('delivery_id')
      .notNull()
      .references(() => webhookDeliveries.id, { onDelete: 'cascade' }),
    attempt: integer('attempt').notNull(),
    tenantId: hotTenantId(),
    startedAt: instant('started_at').notNull(),
    responseStatus: integer('response_status'),
    responseMs: integer('response_ms').notNull(),
    error: text('error'),
    response: text('response').notNull(),
  },
  (table) => [primaryKey({ columns: [table.deliveryId, table.attempt] }), ...policies()],
);
