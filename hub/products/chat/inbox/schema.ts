import {
  bigint,
  bigserial,
  boolean,
  index,
  pgTable,
  sql,
  text,
  unique,
  uniqueIndex,
  uuid,
} from '../../../platform/db/orm.ts';
import { policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';
import { chatConversations } from '../schema.ts';

/**
 * How many conversations of each workspace are resolved, how many are closed, and how many of both hold what no agent has read (`unread`): the sums of its rows. Triggers add a row for
 * each change, in its transaction, whatever changes or goes; the sweep folds them into one of each kind. What is at work is counted by itself.
 */
export const chatDoneCounts = pgTable(
  'chat_done_counts',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: tenantId(),
    kind: text('kind').$type<'resolved' | 'closed' | 'unread'>().notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
    /** Of one row of each kind: what the others were folded into. */
    folded: boolean('folded').notNull().default(false),
  },
  (table) => [
    index('chat_done_counts_tenant').on(table.tenantId),
    uniqueIndex('chat_done_counts_total')
      .on(table.tenantId, table.kind)
      .where(sql`folded`),
    index('chat_done_counts_changes')
      .on(table.id)
      .where(sql`not folded`),
    ...policies(),
  ],
);

/** What agents have begun to write; one each in a conversation. */
export const chatDrafts = pgTable(
  'chat_drafts',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => chatConversations.id, { onDelete: 'cascade' }),
    userId: uuid('user_id').notNull(),
    content: text('content').notNull(),
    private: boolean('private').notNull(),
    updatedAt: updatedAt(),
  },
  (table) => [
    unique('chat_drafts_user').on(table.conversationId, table.userId),
    index('chat_drafts_tenant').on(table.tenantId, table.userId),
    ...policies(),
  ],
);
