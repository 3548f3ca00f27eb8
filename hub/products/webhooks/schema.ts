import type { ChatEventType } from '../../../shared/contract/chat/chat-events.ts';
import type { DeliveryStatus } from '../../../shared/contract/webhooks/webhooks.ts';
import { boolean, index, integer, pgTable, primaryKey, sql, text, uuid } from '../../platform/db/orm.ts';
import { createdAt, hotTenantId, instant, policies, tenantId, updatedAt } from '../../platform/db/tenancy.ts';

/** Addresses that get what happens. */
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
    /** What signed before, while it still does. */
    sealedPreviousSecret: text('sealed_previous_secret'),
    previousUntil: instant('previous_until'),
    disabledReason: text('disabled_reason'),
    /** Since when no try succeeded, and how many failed; null and 0 after one that did. */
    failingSince: instant('failing_since'),
    failures: integer('failures').notNull().default(0),
    /** When its admins are to be told that it was switched off; null when there is nothing to tell. */
    mailDueAt: instant('mail_due_at'),
    /** Since when it counts as gone: it is off and has no secret; a task removes its deliveries, and then the row. */
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
 * What is sent to one of them, as the bytes that it is. `next_attempt_at` says when; while an attempt is under way it is the time at which
 * whoever makes it counts as dead, and `lease` tells its attempt from others. Null in a row that is still to be tried for the first time says
 * that the event before it of the same conversation is, too: the end of that first attempt sets it.
 */
export const webhookDeliveries = pgTable(
  'webhook_deliveries',
  {
    id: uuid('id').primaryKey(),
    tenantId: hotTenantId(),
    webhookId: uuid('webhook_id')
      .notNull()
      .references(() => webhooks.id, { onDelete: 'cascade' }),
    /** Null for a test. */
    conversationId: uuid('conversation_id'),
    /** Its place among the events of the conversation. */
    sequence: integer('sequence').notNull(),
    eventId: uuid('event_id').notNull(),
    event: text('event').$type<ChatEventType>().notNull(),
    /** Empty once the conversation is erased. */
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
    // First tries and others, apart: neither stands in the way of the other.
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
    // What is left to erase of a conversation.
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
