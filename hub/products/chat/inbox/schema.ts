import { boolean, index, pgTable, text, unique, uuid } from '../../../platform/db/orm.ts';
import { policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';
import { chatConversations } from '../schema.ts';

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
