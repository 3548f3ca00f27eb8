import { bigint, date, index, integer, pgTable, unique, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId } from '../../../platform/db/tenancy.ts';
import { chatConversations } from '../../chat/schema.ts';

/**
 * One row per conversation waiting for an AI reply. Inserted in the transaction that stores the visitor's message,
 * deleted in the transaction that stores the reply. If no reply was needed, the row stays and is due at infinity.
 * A process leases the row until `leased_until`. `lease` is a random value that each claim and each message of the
 * visitor replaces.
 */
export const chatAiTurns = pgTable(
  'chat_ai_turns',
  {
    conversationId: uuid('conversation_id')
      .primaryKey()
      .references(() => chatConversations.id, { onDelete: 'cascade' }),
    tenantId: tenantId(),
    /** The visitor's newest message. */
    seq: integer('seq').notNull(),
    dueAt: instant('due_at').notNull(),
    lease: integer('lease').notNull().default(0),
    leasedUntil: instant('leased_until'),
    /** Number of attempts that were started and have not ended. */
    attempts: integer('attempts').notNull().default(0),
    createdAt: createdAt(),
  },
  (table) => [index('chat_ai_turns_due').on(table.tenantId, table.dueAt), ...policies()],
);

/** Counts of the AI agent per workspace and day (UTC). */
export const chatAiDays = pgTable(
  'chat_ai_days',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    day: date('day').notNull(),
    replies: integer('replies').notNull().default(0),
    suggestions: integer('suggestions').notNull().default(0),
    handOvers: integer('hand_overs').notNull().default(0),
    inputTokens: bigint('input_tokens', { mode: 'number' }).notNull().default(0),
    outputTokens: bigint('output_tokens', { mode: 'number' }).notNull().default(0),
  },
  (table) => [unique('chat_ai_days_day').on(table.tenantId, table.day), ...policies()],
);
