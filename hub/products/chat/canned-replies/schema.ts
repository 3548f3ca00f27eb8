import { index, pgTable, text, unique, uuid } from '../../../platform/db/orm.ts';
import { createdAt, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

export const chatCannedReplies = pgTable(
  'chat_canned_replies',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    shortcut: text('shortcut').notNull(),
    content: text('content').notNull(),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    unique('chat_canned_replies_shortcut').on(table.tenantId, table.shortcut),
    index('chat_canned_replies_tenant').on(table.tenantId, table.id),
    ...policies(),
  ],
);
