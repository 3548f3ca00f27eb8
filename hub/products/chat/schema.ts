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

/** A transaction's id, which tells whether a snapshot sees what it wrote. */
const transactionId = customType<{ data: string }>({ dataType: () => 'xid8' });
const tsvector = customType<{ data: string }>({ dataType: () => 'tsvector' });

/** The site key under which a workspace's hosted page and widget are opened, and how it wants its chat. */
export const chatWidgets = pgTable(
  'chat_widgets',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    siteKey: text('site_key').notNull(),
    /** What was set of them; the rest is as it comes. */
    settings: jsonb('settings').$type<Partial<ChatSettings>>().notNull().default({}),
    settingsChangedAt: instant('settings_changed_at'),
    /** What was set of how the AI agent answers. */
    aiSettings: jsonb('ai_settings').$type<Partial<ChatAiSettings>>().notNull().default({}),
    aiSettingsChangedAt: instant('ai_settings_changed_at'),
    /** Who last changed each of them. */
    aiSettingsAuthors: jsonb('ai_settings_authors').$type<FieldAuthors>().notNull().default({}),
    createdAt: createdAt(),
  },
  (table) => [
    unique('chat_widgets_site_key').on(table.siteKey),
    unique('chat_widgets_tenant').on(table.tenantId),
    ...policies(),
  ],
);

/** People who write. Nothing but the external id that a token's holder gave identifies one; an email never does. */
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
    /** When it was said that they be erased: nobody is shown them any more, and what is left of them goes. */
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
 * A conversation. Its row is locked by whoever writes into it, so that its counters count without a gap, and what
 * `last_message_at`
 * says is the time of message `last_seq`.
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
    /** Who takes care of it; null while nobody has it. Nobody is assigned by itself what the AI has. */
    owner: text('owner').$type<ConversationOwner>(),
    /** What came up to this message is of an earlier matter: it was opened again then. */
    contextSeq: integer('context_seq').notNull().default(0),
    /** Messages of the AI since a person last wrote. */
    aiReplies: integer('ai_replies').notNull().default(0),
    environment: text('environment').$type<'live' | 'test'>().notNull(),
    /**
     * Whether it needs an agent: not while its visitor has not written. A site opens a conversation for each visitor of
     * a page, and most never write.
     */
    hasBegun: boolean('has_begun').notNull().default(true),
    unreadCount: integer('unread_count').notNull().default(0),
    lastPosition: integer('last_position').notNull().default(0),
    lastSeq: integer('last_seq').notNull().default(0),
    /** Of the events that were told of it. */
    lastEvent: bigint('last_event', { mode: 'number' }).notNull().default(0),
    /** Up to which message each side has read. */
    visitorReadSeq: integer('visitor_read_seq').notNull().default(0),
    agentReadSeq: integer('agent_read_seq').notNull().default(0),
    /** The newest message of an agent or the API: of whoever replies without having seen it. */
    lastReplySeq: integer('last_reply_seq').notNull().default(0),
    snoozedUntil: instant('snoozed_until'),
    assignedAt: instant('assigned_at'),
    closedAt: instant('closed_at'),
    /** How often it was closed: each closing is rated by itself. */
    closings: integer('closings').notNull().default(0),
    lastMessageAt: instant('last_message_at'),
    /** By what lists are ordered: the last message, or the making where there is none. */
    movedAt: instant('moved_at').notNull().defaultNow(),
    /** The transaction that moved it last. */
    movedBy: transactionId('moved_by')
      .notNull()
      .default(sql`pg_current_xact_id()`),
    /** The transaction that made it. */
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
    // What can be given to an agent.
    index('chat_conversations_waiting')
      .on(table.tenantId, table.movedAt, table.id)
      .where(
        sql`${table.status} = 'open' AND ${table.assignedUserId} IS NULL AND ${table.snoozedUntil} IS NULL AND ${table.owner} IS DISTINCT FROM 'ai' AND ${table.hasBegun}`,
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
    /** Among all that is written there, notes included. */
    position: integer('position').notNull(),
    /** Among what everybody sees; null for a note, which so no question for messages from some seq on can find. */
    seq: integer('seq'),
    content: text('content').notNull(),
    senderType: text('sender_type').$type<SenderType>().notNull(),
    senderId: text('sender_id'),
    clientId: text('client_id'),
    /** The entries of the knowledge that an answer used; only agents see them. */
    sources: jsonb('sources').$type<MessageSource[]>(),
    /** Names of tools that were called for it. */
    tools: jsonb('tools').$type<ToolUse[]>(),
    /** Its words, each after the short name of its workspace, so that a search reads the entries of no other. */
    words: tsvector('words'),
    /** The transaction that wrote it. */
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

/** What a workspace used, for whoever bills it. */
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
 * Where replies to a visitor of a channel are sent. `channel_id` refers to no row, so that a reply through a deleted
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
