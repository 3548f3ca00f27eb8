import {
  bigint,
  bigserial,
  boolean,
  index,
  integer,
  pgTable,
  sql,
  text,
  uniqueIndex,
  uuid,
} from '../../../platform/db/orm.ts';
import { createdAt, hotTenantId, instant, policies, tenantId } from '../../../platform/db/tenancy.ts';
import { chatConversations, chatMessages } from '../schema.ts';

/** Files of conversations. A file that is in no message is deleted after a day. */
export const chatFiles = pgTable(
  'chat_files',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => chatConversations.id, { onDelete: 'cascade' }),
    messageId: uuid('message_id').references(() => chatMessages.id, { onDelete: 'cascade' }),
    /** `visitor:<id>` or `user:<id>`: only this sender may attach the file to a message. */
    sentBy: text('sent_by').notNull(),
    /** Order within the message. */
    position: integer('position').notNull().default(0),
    name: text('name').notNull(),
    contentType: text('content_type').notNull(),
    bytes: integer('bytes').notNull(),
    /** Key of the bytes in the blob store. */
    blobKey: text('blob_key').notNull(),
    createdAt: createdAt(),
  },
  (table) => [
    index('chat_files_message').on(table.messageId, table.position),
    index('chat_files_conversation').on(table.conversationId),
    index('chat_files_loose')
      .on(table.createdAt)
      .where(sql`${table.messageId} IS NULL`),
    index('chat_files_tenant').on(table.tenantId, table.id),
    index('chat_files_sender').on(table.tenantId, table.sentBy, table.bytes).concurrently(),
    ...policies(),
  ],
);

/**
 * Blobs without a file. A blob is recorded before its bytes are written, until its file is stored. A trigger records it
 * again when the file is deleted. The bytes are deleted after `remove_at`, also those of deleted workspaces.
 */
export const chatUnusedBlobs = pgTable(
  'chat_unused_blobs',
  {
    blobKey: text('blob_key').primaryKey(),
    tenantId: hotTenantId(),
    removeAt: instant('remove_at').notNull(),
  },
  (table) => [index('chat_unused_blobs_due').on(table.removeAt), ...policies()],
);

/**
 * File usage of each workspace: the sum of its rows. A trigger adds a row for each change, in the same transaction and
 * without lock contention. The sweep folds the rows into one.
 */
export const chatFileUsage = pgTable(
  'chat_file_usage',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: tenantId(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    /** True for the one row per workspace into which the others are folded. */
    folded: boolean('folded').notNull().default(false),
  },
  (table) => [
    index('chat_file_usage_tenant').on(table.tenantId),
    uniqueIndex('chat_file_usage_total')
      .on(table.tenantId)
      .where(sql`folded`),
    index('chat_file_usage_changes')
      .on(table.id)
      .where(sql`not folded`),
    ...policies(),
  ],
);
