import type { Transaction } from '../../../platform/db/database.ts';
import type { Assignment } from '../assignment/index.ts';
import { publishChatChange } from '../changes/index.ts';
import { conversationColumns } from '../conversations/index.ts';
import type { ChatActor, ConversationRow, ConversationWriter, MessageWriter } from '../conversations/index.ts';
import type { ChatEvents } from '../events/index.ts';

export interface AppendDependencies {
  conversationWriter: ConversationWriter;
  messageWriter: MessageWriter;
  assignment: Assignment;
  events: ChatEvents;
}

/** The conversation whose messages move (`source`), and the one that receives them. Neither is closed. */
export interface Append {
  source: ConversationRow;
  target: ConversationRow;
  /** Whether the visitor or an agent has written in the source. */
  hasStarted: boolean;
}

const system: ChatActor = { actor: 'system', environment: null };

/**
 * Appends the messages of a conversation to another conversation of the same visitor, and closes the first one. The
 * caller has locked both conversations and the assignment of the target.
 * Messages keep their ids, senders, times and files. Their `seq` continues that of the target. An assignment, an owner
 * or an open status of the source passes to the target, unless the target has its own agent.
 * No `message.created` is emitted, because subscribers received it for the source.
 */
export async function appendConversation(
  tx: Transaction,
  tenantId: string,
  { conversationWriter, messageWriter, assignment, events }: AppendDependencies,
  { source, target, hasStarted }: Append,
  actor: ChatActor,
): Promise<void> {
  const values = [tenantId, source.id, target.id];
  const [, , , , { rows: moved }] = await Promise.all([
    tx.query(
      'append_messages',
      // The target may have a message with the same client id. A repeated request then returns that one.
      `UPDATE chat_messages m SET conversation_id = $3, seq = m.seq + $4, position = m.position + $5, written_by = pg_current_xact_id(),
         client_id = CASE WHEN EXISTS (SELECT FROM chat_messages o WHERE o.conversation_id = $3 AND o.sender_type = m.sender_type
           AND o.sender_id = m.sender_id AND o.client_id = m.client_id) THEN NULL ELSE m.client_id END
       WHERE m.tenant_id = $1 AND m.conversation_id = $2`,
      [...values, target.last_seq, target.last_position],
    ),
    tx.query(
      'append_files',
      'UPDATE chat_files SET conversation_id = $3 WHERE tenant_id = $1 AND conversation_id = $2',
      values,
    ),
    tx.query(
      'append_suggestions',
      'UPDATE chat_ai_suggestions SET conversation_id = $3, seq = seq + $4 WHERE tenant_id = $1 AND conversation_id = $2',
      [...values, target.last_seq],
    ),
    tx.query(
      'append_drafts',
      `UPDATE chat_drafts d SET conversation_id = $3 WHERE d.tenant_id = $1 AND d.conversation_id = $2
         AND NOT EXISTS (SELECT FROM chat_drafts o WHERE o.conversation_id = $3 AND o.user_id = d.user_id)`,
      values,
    ),
    tx.query<ConversationRow>(
      'append_to_conversation',
      `UPDATE chat_conversations t SET last_position = t.last_position + s.last_position, last_seq = t.last_seq + s.last_seq,
         unread_count = t.unread_count + s.unread_count, ai_replies = t.ai_replies + s.ai_replies,
         visitor_read_seq = CASE WHEN t.visitor_read_seq >= t.last_seq THEN t.last_seq + s.visitor_read_seq ELSE t.visitor_read_seq END,
         agent_read_seq = CASE WHEN t.agent_read_seq >= t.last_seq THEN t.last_seq + s.agent_read_seq ELSE t.agent_read_seq END,
         last_reply_seq = CASE WHEN s.last_reply_seq > 0 THEN t.last_seq + s.last_reply_seq ELSE t.last_reply_seq END,
         context_seq = CASE WHEN t.last_seq = 0 OR t.status <> 'open' AND s.has_started THEN t.last_seq + s.context_seq ELSE t.context_seq END,
         status = CASE WHEN NOT s.has_started THEN t.status WHEN t.last_position = 0 THEN s.status WHEN s.status = 'open' THEN 'open' ELSE t.status END,
         snoozed_until = CASE WHEN s.has_started THEN s.snoozed_until ELSE t.snoozed_until END,
         priority = CASE WHEN t.priority = 'normal' THEN s.priority ELSE t.priority END,
         owner = CASE WHEN NOT s.has_started OR t.assigned_user_id IS NOT NULL OR t.owner = 'person' AND t.status <> 'resolved' THEN t.owner
           ELSE coalesce(s.owner, t.owner) END,
         has_started = t.has_started OR s.has_started, last_message_at = coalesce(s.last_message_at, t.last_message_at),
         moved_at = clock_timestamp(), moved_by = pg_current_xact_id(), updated_at = clock_timestamp()
       FROM chat_conversations s WHERE t.tenant_id = $1 AND t.id = $3 AND s.id = $2 RETURNING ${columnsOf('t')}`,
      values,
    ),
    tx.query(
      'empty_appended_conversation',
      'UPDATE chat_conversations SET unread_count = 0 WHERE tenant_id = $1 AND id = $2',
      [tenantId, source.id],
    ),
  ]);
  const conversation = moved[0] as ConversationRow;
  await conversationWriter.change(tx, tenantId, source.id, { status: 'closed' }, actor);
  if (source.last_seq > 0) {
    const note = { content: `The conversation continues as ${target.id}.`, private: true } as const;
    const sender = { senderType: 'system', senderId: null } as const;
    await messageWriter.write(tx, tenantId, source.id, { ...note, ...sender }, system);
  }
  if (hasStarted) {
    if (conversation.assigned_user_id === null && (await isMember(tx, source.assigned_user_id)))
      await conversationWriter.assign(tx, tenantId, target.id, { userId: source.assigned_user_id }, system);
    else await assignment.auto(tx, tenantId, conversation);
    await events.messagesMoved(tx, tenantId, target.id);
  }
  const { last_position: position, last_seq: seq } = conversation;
  publishChatChange(tx, tenantId, target.id, { kind: 'message', position, seq });
  publishChatChange(tx, tenantId, target.id, { kind: 'conversation' });
}

const columnsOf = (table: string) =>
  conversationColumns
    .split(', ')
    .map((column) => `${table}.${column}`)
    .join(', ');

async function isMember(tx: Transaction, userId: string | null): Promise<boolean> {
  if (userId === null) return false;
  return (await tx.query('is_member', 'SELECT FROM users WHERE id = $1', [userId])).rowCount === 1;
}
