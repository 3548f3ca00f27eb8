import { index, integer, pgTable, sql, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, hotTenantId, instant, policies, tenantId } from '../../../platform/db/tenancy.ts';
import { chatConversations, chatMessages } from '../schema.ts';

/** Files of conversations; one that no message names yet is removed after a day. */
export const chatFiles = pgTable(
  'chat_files',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => chatConversations.id, { onDelete: 'cascade' }),
    messageId: uuid('message_id').references(() => chatMessages.id, { onDelete: 'cascade' }),
    /** `visitor:<id>` or `user:<id>`: only who sent it may put it into a message. */
    sentBy: text('sent_by').notNull(),
    /** Among those of its message. */
    position: integer('position').notNull().default(0),
    name: text('name').notNull(),
    contentType: text('content_type').notNull(),
    bytes: integer('bytes').notNull(),
    /** Where its bytes lie. */
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
    index('chat_files_room').on(table.tenantId, table.bytes),
    ...policies(),
  ],
);

/**
 * Bytes that no file names: noted before they are written, until their file is, and by a trigger when a file goes, with whatever it goes.
 * They are removed once `remove_at` is over, also those of workspaces that are gone.
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
