import type { Presence } from '../../../../shared/contract/chat/agent-shapes.ts';
import { index, pgTable, text, unique, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/** Who of a workspace takes conversations. Its row is locked by whoever assigns. */
export const chatAgents = pgTable(
  'chat_agents',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id').notNull(),
    presence: text('presence').$type<Presence>().notNull().default('online'),
    /** When a live connection of theirs was seen last; every process says so of its own. */
    seenAt: instant('seen_at'),
    /** When they got a conversation last. */
    assignedAt: instant('assigned_at'),
    createdAt: createdAt(),
    updatedAt: updatedAt(),
  },
  (table) => [
    unique('chat_agents_user').on(table.tenantId, table.userId),
    index('chat_agents_seen').on(table.seenAt),
    ...policies(),
  ],
);
