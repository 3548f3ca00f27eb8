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

/** Messages of the conversation that a model may receive. */
const maxMessages = 30;

/** Whether the AI agent of a workspace may act now. */
export interface AiAvailability {
  settings: ChatAiSettings;
  /** Whether the AI agent is switched on and the workspace is entitled to it. */
  isActive: boolean;
  someAgentIsOnline: boolean;
}

/** A conversation with everything that a reply depends on. */
export interface ReplyContext extends AiAvailability {
  conversation: ConversationRow;
  /**
   * The messages since the conversation was last opened, oldest first. Only messages that its visitor may see: no
   * private notes and no messages of another visitor.
   */
  messages: ChatMessage[];
  /** Number of replies and suggestions of today (UTC). */
  usedToday: number;
}

/** Whether the AI agent may reply in the conversations that it owns. */
export const mayAiReply = ({ settings: { mode }, isActive, someAgentIsOnline: isOnline }: AiAvailability): boolean =>
  isActive && (mode === 'always' || (mode === 'when_no_agent_online' && !isOnline));

/** Reads the current availability of the AI agent of a workspace. */
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

/** Reads everything in one round trip. Returns null if the conversation does not exist. */
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

/** Returns the messages of the visitor since the last answer of a person or the AI agent. */
export function unansweredMessages(messages: readonly ChatMessage[]): ChatMessage[] {
  const last = messages.findLastIndex(({ senderType }) => senderType !== 'visitor' && senderType !== 'system');
  return messages.slice(last + 1).filter(({ senderType }) => senderType === 'visitor');
}
