import type { MessageSource, ToolUse } from '../../../../shared/contract/chat/ai-settings.ts';
import type { AiAction, AiSuggestion } from '../../../../shared/contract/chat/ai-suggestions.ts';
import { index, integer, pgTable, text, uuid } from '../../../platform/db/orm.ts';
import { createdAt, instant, jsonb, policies, tenantId } from '../../../platform/db/tenancy.ts';
import { chatConversations } from '../schema.ts';

/** Suggestions of the AI agent. They are deleted with their conversation. */
export const chatAiSuggestions = pgTable(
  'chat_ai_suggestions',
  {
    id: uuid('id').primaryKey(),
    tenantId: tenantId(),
    conversationId: uuid('conversation_id')
      .notNull()
      .references(() => chatConversations.id, { onDelete: 'cascade' }),
    content: text('content').notNull(),
    action: text('action').$type<AiAction>().notNull(),
    reason: text('reason').notNull(),
    sources: jsonb('sources').$type<MessageSource[]>().notNull(),
    tools: jsonb('tools').$type<ToolUse[]>(),
    /** The newest message that the suggestion takes into account. */
    seq: integer('seq').notNull(),
    origin: text('origin').$type<AiSuggestion['origin']>().notNull(),
    acceptedAt: instant('accepted_at'),
    acceptedBy: uuid('accepted_by'),
    createdAt: createdAt(),
  },
  (table) => [index('chat_ai_suggestions_conversation').on(table.conversationId, table.id), ...policies()],
);
