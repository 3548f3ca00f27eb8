import type { MessageSource, ToolUse } from '../../../../shared/contract/chat/ai-settings.ts';
import type {
  ChatMessage,
  Conversation,
  ConversationOwner,
  SenderType,
  Visitor,
} from '../../../../shared/contract/chat/shapes.ts';
import { picturePath } from '../../../../shared/contract/common.ts';
import type { JsonObject } from '../../../../shared/json.ts';

/** Database rows, and the public projection of each row for visitors, API keys, webhooks and models. */

export interface ConversationRow {
  id: string;
  visitor_id: string | null;
  name: string;
  source: string;
  status: Conversation['status'];
  priority: Conversation['priority'];
  assigned_user_id: string | null;
  owner: ConversationOwner | null;
  context_seq: number;
  ai_replies: number;
  environment: 'live' | 'test';
  unread_count: number;
  last_seq: number;
  last_position: number;
  last_event: string;
  visitor_read_seq: number;
  agent_read_seq: number;
  snoozed_until: Date | null;
  closed_at: Date | null;
  closings: number;
  last_message_at: Date | null;
  created_at: Date;
  updated_at: Date;
}

export const conversationColumns =
  'id, visitor_id, name, source, status, priority, assigned_user_id, owner, context_seq, ai_replies, environment, unread_count, last_seq, last_position, last_event, visitor_read_seq, agent_read_seq, snoozed_until, closed_at, closings, last_message_at, created_at, updated_at';

export const presentConversation = (row: ConversationRow): Conversation => ({
  id: row.id,
  name: row.name,
  source: row.source,
  status: row.status,
  priority: row.priority,
  assignedUserId: row.assigned_user_id,
  visitorId: row.visitor_id,
  unreadCount: row.unread_count,
  lastMessageAt: row.last_message_at?.toISOString() ?? null,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
});

export interface VisitorRow {
  id: string;
  external_id: string | null;
  display_name: string | null;
  email: string | null;
  phone: string | null;
  attributes: JsonObject;
  last_seen_at: Date | null;
  created_at: Date;
}

export const visitorColumns = 'id, external_id, display_name, email, phone, attributes, last_seen_at, created_at';

export const presentVisitor = (row: VisitorRow): Visitor => ({
  id: row.id,
  display_name: row.display_name,
  email: row.email,
  phone: row.phone,
  external_id: row.external_id,
  attributes: row.attributes,
  created_at: row.created_at.toISOString(),
  last_seen_at: row.last_seen_at?.toISOString() ?? null,
});

interface FileOfMessage {
  id: string;
  name: string;
  contentType: string;
  bytes: number;
}

/** A message or a note. */
export interface MessageRow {
  id: string;
  conversation_id: string;
  position: number;
  /** Null for a note. */
  seq: number | null;
  content: string;
  sender_type: SenderType;
  sender_id: string | null;
  /** Display name of the agent. Null if the agent is no longer a member. */
  sender_name: string | null;
  /** Id of the sender's picture. */
  sender_picture: string | null;
  client_id: string | null;
  /** Null unless the AI agent wrote the message. */
  sources: MessageSource[] | null;
  /** Tools that the AI agent called. */
  tools: ToolUse[] | null;
  created_at: Date;
  files: FileOfMessage[];
}

/** A message that is not a note, so that the visitor may see it. */
export type PublicMessageRow = MessageRow & { seq: number };

/** The display name of the agent who wrote a message. No part of an email address is shown to visitors. */
export const senderNameOf = (message: string) =>
  `CASE WHEN ${message}.sender_type = 'agent' THEN (SELECT u.display_name FROM users u WHERE u.id = ${message}.sender_id::uuid) END`;

/** Id of the picture of the agent who wrote a message. */
export const senderPictureOf = (message: string) =>
  `CASE WHEN ${message}.sender_type = 'agent' THEN (SELECT p.id FROM member_pictures p WHERE p.user_id = ${message}.sender_id::uuid) END`;

export const messageColumns = `id, conversation_id, position, seq, content, sender_type, sender_id, ${senderNameOf('chat_messages')} AS sender_name,
  ${senderPictureOf('chat_messages')} AS sender_picture, client_id, sources, tools, created_at,
  coalesce((SELECT json_agg(json_build_object('id', f.id, 'name', f.name, 'contentType', f.content_type, 'bytes', f.bytes) ORDER BY f.position)
    FROM chat_files f WHERE f.message_id = chat_messages.id), '[]'::json) AS files`;

export const presentMessage = (row: PublicMessageRow): ChatMessage => ({ ...presentContent(row), seq: row.seq });

/** The fields that messages and notes share. */
export const presentContent = (row: MessageRow): Omit<ChatMessage, 'seq'> => ({
  id: row.id,
  conversationId: row.conversation_id,
  content: row.content,
  senderType: row.sender_type,
  senderId: row.sender_id,
  senderName: row.sender_name,
  senderPicture: row.sender_picture === null ? null : picturePath(row.sender_picture),
  attachments: row.files,
  clientId: row.client_id,
  createdAt: row.created_at.toISOString(),
});

/** Converts the `*_at` and `*_until` texts of a row that was read as JSON to dates. */
export function withDates<Row extends { created_at: Date }>(row: Row): Row {
  return Object.fromEntries(
    Object.entries(row).map(([name, value]) => [
      name,
      (name.endsWith('_at') || name.endsWith('_until')) && value !== null
        ? new Date(value as unknown as string)
        : value,
    ]),
  ) as Row;
}
