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
 * Counts of the resolved, the closed, and the unread conversations among both, by workspace. A count is the sum of its
 * rows.
 * Triggers add a row for each change, in the same transaction. The sweep folds the rows into one row per kind.
 * Open and pending conversations are counted directly.
 */
export const chatDoneCounts = pgTable(
  'chat_done_counts',
  {
    id: bigserial('id', { mode: 'number' }).primaryKey(),
    tenantId: tenantId(),
    kind: text('kind').$type<'resolved' | 'closed' | 'unread'>().notNull(),
    count: bigint('count', { mode: 'number' }).notNull(),
    /** True for the one row per kind into which the others are folded. */
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

/** Drafts of agents: at most one per agent and conversation. */
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
