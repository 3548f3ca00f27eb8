import type { InboxConversation, InboxMessage, InboxVisitor } from '../../../../shared/contract/chat/agent-shapes.ts';
import { presentContent, presentConversation, presentVisitor, visitorColumns } from '../conversations/index.ts';
import type { ConversationRow, MessageRow, VisitorRow } from '../conversations/index.ts';

/** The projections for agents. They include private notes, so show them to agents only. */

export interface InboxConversationRow extends ConversationRow {
  visitor_name: string | null;
  visitor_verified: boolean | null;
  last_content: string | null;
  last_sender: string | null;
  last_created_at: Date | null;
}

/** Columns of a conversation `c`. `inboxJoins` adds its visitor `v` and its newest message `m`. */
export const inboxColumns = `c.id, c.visitor_id, c.name, c.source, c.status, c.priority, c.assigned_user_id, c.owner, c.context_seq, c.ai_replies, c.environment, c.unread_count, c.last_seq, c.last_position,
  c.last_event, c.visitor_read_seq, c.agent_read_seq, c.snoozed_until, c.closed_at, c.closings, c.last_message_at, c.created_at, c.updated_at,
  coalesce(v.display_name, v.email, v.external_id) AS visitor_name, v.external_id IS NOT NULL AS visitor_verified,
  left(m.content, 200) AS last_content, m.sender_type AS last_sender, m.created_at AS last_created_at`;

export const inboxJoins = `LEFT JOIN chat_visitors v ON v.id = c.visitor_id
  LEFT JOIN chat_messages m ON m.conversation_id = c.id AND m.seq = c.last_seq`;

export const presentInboxConversation = (row: InboxConversationRow): InboxConversation => ({
  ...presentConversation(row),
  environment: row.environment,
  owner: row.owner,
  snoozedUntil: row.snoozed_until?.toISOString() ?? null,
  lastSeq: row.last_seq,
  lastPosition: row.last_position,
  lastMessage:
    row.last_created_at === null
      ? null
      : {
          content: row.last_content ?? '',
          senderType: row.last_sender ?? 'system',
          createdAt: row.last_created_at.toISOString(),
        },
  visitorName: row.visitor_name,
  visitorVerified: row.visitor_verified === true,
  visitorReadSeq: row.visitor_read_seq,
  agentReadSeq: row.agent_read_seq,
});

export const presentInboxMessage = (row: MessageRow): InboxMessage => ({
  ...presentContent(row),
  seq: row.seq,
  position: row.position,
  private: row.seq === null,
  sources: row.sources ?? [],
  tools: row.tools ?? [],
});

export interface InboxVisitorRow extends VisitorRow {
  blocked_at: Date | null;
  last_address: string | null;
}

export const inboxVisitorColumns = `${visitorColumns}, blocked_at, last_address`;

export const presentInboxVisitor = (row: InboxVisitorRow): InboxVisitor => ({
  ...presentVisitor(row),
  verified: row.external_id !== null,
  blocked_at: row.blocked_at?.toISOString() ?? null,
  last_address: row.last_address,
});
