import type { Presence } from '../../../../shared/contract/chat/agent-shapes.ts';
import { index, pgTable, text, unique, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId, updatedAt } from '../../../platform/db/tenancy.ts';

/** Presence of agents. An assignment locks the row of its agent. */
export const chatAgents = pgTable(
  'chat_agents',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    userId: uuid('user_id').notNull(),
    presence: text('presence').$type<Presence>().notNull().default('online'),
    /** Last time at which a live connection was open. Each process updates the rows of its agents. */
    seenAt: instant('seen_at'),
    /** Time of the agent's last assignment. */
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
