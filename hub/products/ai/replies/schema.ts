import { bigint, date, index, integer, pgTable, unique, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, policies, tenantId } from '../../../platform/db/tenancy.ts';
import { chatConversations } from '../../chat/schema.ts';

/**
 * A conversation whose visitor waits for the AI agent: one row for each, written in the transaction of the visitor's message and gone in that of the answer; where nothing
 * had to be said it stays, due at infinity.
 * The process that answers holds the row by `lease`, a random value that each claim and each message of the visitor replaces, until `leased_until`.
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
    /** How often it was begun without having ended. */
    attempts: integer('attempts').notNull().default(0),
    createdAt: createdAt(),
  },
  (table) => [index('chat_ai_turns_due').on(table.tenantId, table.dueAt), ...policies()],
);

/** What the AI agent of a workspace did in a day, UTC. */
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
