import type { ChatAiSettings } from '../../../../shared/contract/chat/ai-settings.ts';
import type { ChatMessage } from '../../../../shared/contract/chat/shapes.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import {
  conversationColumns,
  messageColumns,
  presentMessage,
  someAgentIsOnline,
} from '../../chat/conversations/index.ts';
import type { ConversationRow, PublicMessageRow } from '../../chat/conversations/index.ts';
import { readAiSettings } from '../../chat/settings/index.ts';
import { readDay } from './turn-store.ts';

/** Messages that a model is shown at most. */
const maxMessages = 30;

/** What may be done in a conversation at a moment. */
export interface AiAvailability {
  settings: ChatAiSettings;
  /** Whether the AI agent may do anything in this workspace at all. */
  isActive: boolean;
  someAgentIsOnline: boolean;
}

/** A conversation as the AI agent finds it. */
export interface ReplyContext extends AiAvailability {
  conversation: ConversationRow;
  /** What its visitor may see of it since it was opened last, oldest first: no note is among it, and no word of another visitor. */
  messages: ChatMessage[];
  /** Replies and suggestions of today. */
  usedToday: number;
}

/** Whether the AI agent may answer in the conversations that it has. */
export const mayAiReply = ({ settings: { mode }, isActive, someAgentIsOnline: isOnline }: AiAvailability): boolean =>
  isActive && (mode === 'always' || (mode === 'when_no_agent_online' && !isOnline));

/** Of the conversation's workspace, now. */
export async function readAiAvailability(tx: Transaction, tenantId: string): Promise<AiAvailability> {
  const [{ settings }, { rows }] = await Promise.all([
    readAiSettings(tx, tenantId),
    tx.query<{ is_entitled: boolean; is_online: boolean }>(
      'read_ai_availability',
      `SELECT coalesce((entitlements->>'ai_agent')::boolean AND (entitlements->>'conversations_suite')::boolean, false) AS is_entitled,
         ${someAgentIsOnline('$1')} AS is_online FROM tenants WHERE id = $1`,
      [tenantId],
    ),
  ]);
  const [row] = rows;
  return {
    settings,
    isActive: settings.enabled && row?.is_entitled === true,
    someAgentIsOnline: row?.is_online === true,
  };
}

/** In one round trip; null for a conversation that there is not. */
export async function readReplyContext(
  tx: Transaction,
  tenantId: string,
  conversationId: string,
): Promise<ReplyContext | null> {
  const [availability, found, recent, day] = await Promise.all([
    readAiAvailability(tx, tenantId),
    tx.query<ConversationRow>(
      'read_conversation_to_answer',
      `SELECT ${conversationColumns} FROM chat_conversations WHERE id = $1`,
      [conversationId],
    ),
    tx.query<PublicMessageRow>(
      'read_messages_to_answer',
      `SELECT ${messageColumns} FROM chat_messages
       WHERE conversation_id = $1 AND seq > (SELECT context_seq FROM chat_conversations WHERE id = $1) ORDER BY seq DESC LIMIT $2`,
      [conversationId, maxMessages],
    ),
    readDay(tx, tenantId),
  ]);
  const [conversation] = found.rows;
  if (conversation === undefined) return null;
  const messages = recent.rows.toReversed().map(presentMessage);
  return { ...availability, conversation, messages, usedToday: day.replies + day.suggestions };
}

/** What the visitor wrote since somebody answered. */
export function unansweredMessages(messages: readonly ChatMessage[]): ChatMessage[] {
  const last = messages.findLastIndex(({ senderType }) => senderType !== 'visitor' && senderType !== 'system');
  return messages.slice(last + 1).filter(({ senderType }) => senderType === 'visitor');
}
