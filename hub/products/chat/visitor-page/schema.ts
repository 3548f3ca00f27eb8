import { index, integer, pgTable, text, unique, uuid } from '../../../platform/db/orm.ts';
import { bytea, createdAt, instant, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';
import { chatConversations, chatVisitors } from '../schema.ts';

/** Links to the hosted page, each of which opens one conversation; only the SHA-256 of a token is kept. */
export const chatLinks = pgTable(
  'chat_links',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => chatConversations.id, { onDelete: 'cascade' }),
    visitorId: uuid('visitor_id')
      .notNull()
      .references(() => chatVisitors.id, { onDelete: 'cascade' }),
    tokenHash: bytea('token_hash').notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    unique('chat_links_token').on(table.tokenHash),
    index('chat_links_expiry').on(table.expiresAt),
    index('chat_links_conversation').on(table.conversationId),
    index('chat_links_visitor').on(table.visitorId),
    ...policies(),
  ],
);

/** Sessions of visitors, each in one conversation; only the SHA-256 of a token is kept. */
export const chatSessions = pgTable(
  'chat_sessions',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => chatConversations.id, { onDelete: 'cascade' }),
    visitorId: uuid('visitor_id')
      .notNull()
      .references(() => chatVisitors.id, { onDelete: 'cascade' }),
    tokenHash: bytea('token_hash').notNull(),
    expiresAt: instant('expires_at').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    unique('chat_sessions_token').on(table.tokenHash),
    index('chat_sessions_expiry').on(table.expiresAt),
    index('chat_sessions_conversation').on(table.conversationId),
    index('chat_sessions_visitor').on(table.visitorId),
    ...policies(),
  ],
);

/** A visitor's rating of a conversation, one per closing. */
export const chatRatings = pgTable(
  'chat_ratings',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => chatConversations.id, { onDelete: 'cascade' }),
    closing: integer('closing').notNull(),
    score: integer('score').notNull(),
    comment: text('comment').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    unique('chat_ratings_closing').on(table.conversationId, table.closing),
    index('chat_ratings_tenant').on(table.tenantId, table.id),
    ...policies(),
  ],
);
