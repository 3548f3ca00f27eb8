import type { ChatAiSettings, MessageSource, ToolUse } from '../../../shared/contract/chat/ai-settings.ts';
import type { ChatSettings } from '../../../shared/contract/chat/settings.ts';
import type {
  ConversationOwner,
  ConversationStatus,
  Priority,
  SenderType,
} from '../../../shared/contract/chat/shapes.ts';
import type { JsonObject } from '../../../shared/json.ts';
import {
  bigint,
  boolean,
  customType,
  index,
  integer,
  pgTable,
  sql,
  text,
  unique,
  uniqueIndex,
  uuid,
} from '../../platform/db/orm.ts';
import { createdAt, hotTenantId, instant, jsonb, policies, tenantId, updatedAt } from '../../platform/db/tenancy.ts';
import type { FieldAuthors } from '../../platform/field-authors.ts';

/** A transaction id. It shows whether a snapshot sees the writes of the transaction. */
const transactionId = customType<{ data: string }>({ dataType: () => 'xid8' });
const tsvector = customType<{ data: string }>({ dataType: () => 'tsvector' });

/** The site key and the chat settings of a workspace. */
export const chatWidgets = pgTable(
  'chat_widgets',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    siteKey: text('site_key').notNull(),
    /** Stored chat settings. Missing values use the defaults. */
    settings: jsonb('settings').$type<Partial<ChatSettings>>().notNull().default({}),
    settingsChangedAt: instant('settings_changed_at'),
    /** Stored AI settings. Missing values use the defaults. */
    aiSettings: jsonb('ai_settings').$type<Partial<ChatAiSettings>>().notNull().default({}),
    aiSettingsChangedAt: instant('ai_settings_changed_at'),
    /** The user who last changed each AI setting. */
    aiSettingsAuthors: jsonb('ai_settings_authors').$type<FieldAuthors>().notNull().default({}),
    createdAt: createdAt(),
  },
  (table) => [
    unique('chat_widgets_site_key').on(table.siteKey),
    unique('chat_widgets_tenant').on(table.tenantId),
    ...policies(),
  ],
);

/** Visitors. Only the external id from an API key identifies a visitor, never an email address. */
export const chatVisitors = pgTable(
  'chat_visitors',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    /** A test key sees and changes test visitors only. An external id is unique within its environment. */
    environment: text('environment').$type<'live' | 'test'>().notNull().default('live'),
    externalId: text('external_id'),
    displayName: text('display_name'),
    email: text('email'),
    phone: text('phone'),
    attributes: jsonb('attributes').$type<JsonObject>().notNull(),
    lastSeenAt: instant('last_seen_at'),
    lastAddress: text('last_address'),
    blockedAt: instant('blocked_at'),
    /** Time of the erasure request. The visitor is hidden from then on, and the remaining data is deleted. */
    erasedAt: instant('erased_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    uniqueIndex('chat_visitors_identity').on(table.tenantId, table.environment, table.externalId).concurrently(),
    index('chat_visitors_tenant').on(table.tenantId, table.id),
    index('chat_visitors_test')
      .on(table.tenantId, table.id)
      .where(sql`${table.environment} = 'test'`)
      .concurrently(),
    index('chat_visitors_blocked')
      .on(table.tenantId, table.id)
      .where(sql`${table.blockedAt} IS NOT NULL`),
    index('chat_visitors_erased')
      .on(table.id)
      .where(sql`${table.erasedAt} IS NOT NULL`),
    ...policies(),
  ],
);

/**
 * A conversation. Every write locks its row, so that its counters have no gaps and `last_message_at` is the time of
 * message `last_seq`.
 */
export const chatConversations = pgTable(
  'chat_conversations',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    visitorId: uuid('visitor_id').references(() => chatVisitors.id, { onDelete: 'cascade' }),
    name: text('name').notNull(),
    source: text('source').notNull(),
    status: text('status').$type<ConversationStatus>().notNull().default('open'),
    priority: text('priority').$type<Priority>().notNull().default('normal'),
    assignedUserId: uuid('assigned_user_id'),
    /** Who answers the conversation. Null if unassigned. Automatic assignment skips conversations of the AI. */
    owner: text('owner').$type<ConversationOwner>(),
    /** `last_seq` when the conversation was last reopened. Earlier messages belong to an earlier issue. */
    contextSeq: integer('context_seq').notNull().default(0),
    /** Replies of the AI since an agent last wrote. */
    aiReplies: integer('ai_replies').notNull().default(0),
    environment: text('environment').$type<'live' | 'test'>().notNull(),
    /**
     * Whether the conversation needs an agent. False until the visitor writes: a page opens a conversation for each
     * visitor, and most visitors never write.
     */
    hasStarted: boolean('has_started').notNull().default(true),
    unreadCount: integer('unread_count').notNull().default(0),
    lastPosition: integer('last_position').notNull().default(0),
    lastSeq: integer('last_seq').notNull().default(0),
    /** Number of the last event of the conversation. */
    lastEvent: bigint('last_event', { mode: 'number' }).notNull().default(0),
    /** `seq` of the last message that each side has read. */
    visitorReadSeq: integer('visitor_read_seq').notNull().default(0),
    agentReadSeq: integer('agent_read_seq').notNull().default(0),
    /** `seq` of the newest reply of an agent, the API or the AI. Used to reject replies that have not seen it. */
    lastReplySeq: integer('last_reply_seq').notNull().default(0),
    snoozedUntil: instant('snoozed_until'),
    assignedAt: instant('assigned_at'),
    closedAt: instant('closed_at'),
    /** Number of closings. Each closing has its own rating. */
    closings: integer('closings').notNull().default(0),
    lastMessageAt: instant('last_message_at'),
    /** Sort key of lists: the time of the last message, or of the creation if there is none. */
    movedAt: instant('moved_at').notNull().defaultNow(),
    /** The transaction that last changed `moved_at`. */
    movedBy: transactionId('moved_by')
      .notNull()
      .default(sql`pg_current_xact_id()`),
    /** The transaction that created the conversation. */
    madeBy: transactionId('made_by')
      .notNull()
      .default(sql`pg_current_xact_id()`),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    index('chat_conversations_moved').on(table.tenantId, table.movedAt, table.id),
    index('chat_conversations_test')
      .on(table.tenantId, table.movedAt, table.id)
      .where(sql`${table.environment} = 'test'`)
      .concurrently(),
    index('chat_conversations_status').on(table.tenantId, table.status, table.movedAt, table.id),
    index('chat_conversations_source').on(table.tenantId, table.source, table.movedAt, table.id),
    index('chat_conversations_mover').on(table.tenantId, table.movedBy),
    index('chat_conversations_visitor').on(table.visitorId, table.movedAt),
    index('chat_conversations_changed').on(table.tenantId, table.updatedAt),
    index('chat_conversations_assigned')
      .on(table.tenantId, table.assignedUserId, table.movedAt, table.id)
      .where(sql`${table.status} IN ('open', 'pending')`),
    index('chat_conversations_unassigned')
      .on(table.tenantId, table.movedAt, table.id)
      .where(sql`${table.status} IN ('open', 'pending') AND ${table.assignedUserId} IS NULL`),
    // Conversations that can be assigned.
    index('chat_conversations_waiting')
      .on(table.tenantId, table.movedAt, table.id)
      .where(
        sql`${table.status} = 'open' AND ${table.assignedUserId} IS NULL AND ${table.snoozedUntil} IS NULL AND ${table.owner} IS DISTINCT FROM 'ai' AND ${table.hasStarted}`,
      )
      .concurrently(),
    index('chat_conversations_unread')
      .on(table.tenantId, table.movedAt, table.id)
      .where(sql`${table.unreadCount} > 0`),
    index('chat_conversations_snoozed')
      .on(table.snoozedUntil)
      .where(sql`${table.snoozedUntil} IS NOT NULL`),
    index('chat_conversations_done')
      .on(table.tenantId, table.movedAt)
      .where(sql`${table.status} IN ('resolved', 'closed')`),
    index('chat_conversations_empty')
      .on(table.tenantId, table.movedAt)
      .where(sql`${table.source} = 'widget' AND ${table.lastPosition} = 0`),
    ...policies(),
  ],
);

export const chatMessages = pgTable(
  'chat_messages',
  {
    id: uuid('id').primaryKey(),
    tenantId: hotTenantId(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => chatConversations.id, { onDelete: 'cascade' }),
    /** Position among all messages and notes of the conversation. */
    position: integer('position').notNull(),
    /** Position among the public messages. Null for a note, so that queries by `seq` never return notes. */
    seq: integer('seq'),
    content: text('content').notNull(),
    senderType: text('sender_type').$type<SenderType>().notNull(),
    senderId: text('sender_id'),
    clientId: text('client_id'),
    /** Knowledge entries that a reply used. Only agents see them. */
    sources: jsonb('sources').$type<MessageSource[]>(),
    /** Tools that were called for the reply. */
    tools: jsonb('tools').$type<ToolUse[]>(),
    /** Indexed words, each with the prefix of the workspace, so that a search reads only its own entries. */
    words: tsvector('words'),
    /** The transaction that wrote the message. */
    writtenBy: transactionId('written_by')
      .notNull()
      .default(sql`pg_current_xact_id()`),
    createdAt: createdAt(),
  },
  (table) => [
    unique('chat_messages_seq').on(table.conversationId, table.seq),
    unique('chat_messages_position').on(table.conversationId, table.position),
    uniqueIndex('chat_messages_client')
      .on(table.conversationId, table.senderType, table.senderId, table.clientId)
      .where(sql`${table.clientId} IS NOT NULL`),
    index('chat_messages_words').using('gin', table.words),
    ...policies(),
  ],
);

/** Usage of a workspace, for billing. */
export const usageEvents = pgTable(
  'usage_events',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    kind: text('kind').notNull(),
    subjectId: uuid('subject_id').notNull(),
    environment: text('environment').$type<'live' | 'test'>().notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('usage_events_tenant').on(table.tenantId, table.kind, table.id),
    index('usage_events_newest').on(table.tenantId, table.id).concurrently(),
    ...policies(),
  ],
);

/**
 * The address for replies to a visitor of a channel. `channel_id` refers to no row, so that a reply through a deleted
 * channel fails visibly.
 */
export const chatVisitorChannels = pgTable(
  'chat_visitor_channels',
  {
    visitorId: uuid('visitor_id')
      .primaryKey()
      .references(() => chatVisitors.id, { onDelete: 'cascade' }),
    tenantId: tenantId(),
    channelId: uuid('channel_id').notNull(),
    /** The sender's address, as the provider of the channel names it. */
    replyTo: text('reply_to').notNull(),
    /** Replies of workflows and the AI since `countedFrom`. */
    automaticReplies: integer('automatic_replies').notNull().default(0),
    countedFrom: instant('counted_from').notNull().defaultNow(),
  },
  (table) => [index('chat_visitor_channels_tenant').on(table.tenantId), ...policies()],
);
