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
    index('chat_files_sender').on(table.tenantId, table.sentBy, table.bytes).concurrently(),
    ...policies(),
  ],
);

/**
 * Bytes that no file names: noted before they are written, until their file is, and by a trigger when a file goes, with
 * whatever it goes.
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

/**
 * What the files of each workspace take up: the sum of its rows. A trigger adds a row for each change, in its
 * transaction, also where files go
 * with something else, so that the sum is always right and nobody waits for anybody; the sweep folds them into one.
 */
export const chatFileUsage = pgTable(
  'chat_file_room',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: tenantId(),
    bytes: bigint('bytes', { mode: 'number' }).notNull(),
    /** Of one row of each workspace: what the others were folded into. */
    folded: boolean('folded').notNull().default(false),
  },
  (table) => [
    index('chat_file_room_tenant').on(table.tenantId),
    uniqueIndex('chat_file_room_total')
      .on(table.tenantId)
      .where(sql`folded`),
    index('chat_file_room_changes')
      .on(table.id)
      .where(sql`not folded`),
    ...policies(),
  ],
);
