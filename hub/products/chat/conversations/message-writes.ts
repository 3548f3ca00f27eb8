import type { MessageSource, ToolUse } from '../../../../shared/contract/chat/ai-settings.ts';
import type { SenderType } from '../../../../shared/contract/chat/shapes.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import { publishChatChange } from '../changes/index.ts';
import type { ChatEvents } from '../events/index.ts';
import { wordsOf } from '../search/index.ts';
import { isReachable } from './actor.ts';
import type { ChatActor } from './actor.ts';
import { initialOwner } from './owner.ts';
import {
  withDates,
  messageColumns,
  senderNameOf,
  senderPictureOf,
  presentConversation,
  presentMessage,
  presentVisitor,
} from './rows.ts';
import type { ConversationRow, MessageRow, PublicMessageRow, VisitorRow } from './rows.ts';

/** A message or note to write. */
export interface NewMessage {
  /** Generated if omitted. */
  id?: string;
  content: string;
  clientId?: string | undefined;
  senderType: SenderType;
  senderId: string | null;
  /** A note that only agents see. It does not reorder conversations and emits no event. */
  private?: boolean;
  /** Uploaded files of this conversation that are in no message yet. */
  attachmentIds?: readonly string[];
  /** Uploader of the files, such as `visitor:<id>`. Defaults to the actor. */
  sentBy?: string;
  /** `seq` of the newest message that the sender has seen. A colleague's newer reply rejects the message. */
  lastSeenSeq?: number | undefined;
  /** Sources of an AI reply. */
  sources?: readonly MessageSource[];
  /** Tools that the AI agent called for the reply. */
  tools?: readonly ToolUse[];
}

export interface WrittenMessage {
  row: MessageRow;
  /** Whether the message existed already (same `clientId`). */
  isRepeated: boolean;
  /** Whether the message reopened a pending or resolved conversation. */
  hasReopened: boolean;
  /** Whether this is the first message after which the conversation needs an agent. */
  hasStarted: boolean;
}

interface Locked {
  status: ConversationRow['status'];
  environment: ConversationRow['environment'];
  last_reply_seq: number;
  has_started: boolean;
}

/** Messages of visitors and agents start a conversation. The greeting of a workflow does not. */
const startsConversation = (senderType: string): boolean => senderType === 'visitor' || senderType === 'agent';

/** Writes messages in the caller's transaction, under the lock of the conversation, and publishes them on its commit. */
export class MessageWriter {
  readonly #events: ChatEvents;

  constructor(events: ChatEvents) {
    this.#events = events;
  }

  /**
   * Writes a message. A repeated `clientId` of the same sender returns the existing message.
   * @param depth number of runs that led to the message. 0 for an action of a person.
   * @throws AppError `not_found`, `conversation_closed`, `newer_reply`, `validation_failed`.
   */
  async write(
    tx: Transaction,
    tenantId: string,
    id: string,
    given: NewMessage,
    { actor, environment, origin = 'widget' }: ChatActor,
    depth = 0,
  ): Promise<WrittenMessage> {
    const { content, clientId, senderType, senderId, lastSeenSeq } = given;
    const isNote = given.private === true;
    const files = given.attachmentIds ?? [];
    const [locked, known] = await Promise.all([
      tx.query<Locked>(
        'lock_conversation',
        'SELECT status, environment, last_reply_seq, has_started FROM chat_conversations WHERE id = $1 FOR NO KEY UPDATE',
        [id],
      ),
      // This statement runs after the lock, so that it sees an equal message of a concurrent transaction.
      clientId === undefined
        ? { rows: [] }
        : tx.query<MessageRow>(
            'find_sent_message',
            `SELECT ${messageColumns} FROM chat_messages WHERE conversation_id = $1 AND sender_type = $2 AND sender_id IS NOT DISTINCT FROM $3 AND client_id = $4`,
            [id, senderType, senderId, clientId],
          ),
    ]);
    const [conversationNow] = locked.rows;
    if (conversationNow === undefined || !isReachable(conversationNow, environment)) throw notFound('conversation', id);
    const [sent] = known.rows;
    if (sent !== undefined) return { row: sent, isRepeated: true, hasReopened: false, hasStarted: false };
    if (conversationNow.status === 'closed' && !isNote)
      throw new AppError(
        'conversation_closed',
        `The conversation ${id} is closed. Start a new conversation with this visitor.`,
      );
    if (!isNote && lastSeenSeq !== undefined && conversationNow.last_reply_seq > lastSeenSeq)
      await assertNoneNewer(tx, id, lastSeenSeq, senderId);
    const messageId = given.id ?? newId();
    const { rows } = await tx.query<{ message: MessageRow; conversation: ConversationRow; visitor: VisitorRow | null }>(
      isNote ? 'write_note' : 'write_message',
      isNote ? writeNote : writeMessage,
      [
        messageId,
        id,
        tenantId,
        content,
        senderType,
        senderId,
        clientId ?? null,
        wordsOf(tenantId, content, { isNote }),
        given.sources === undefined ? null : JSON.stringify(given.sources),
        given.tools === undefined || given.tools.length === 0 ? null : JSON.stringify(given.tools),
      ],
    );
    const [written] = rows;
    if (written === undefined) throw new Error('a message was not written');
    if (files.length > 0) await attach(tx, id, messageId, files, given.sentBy ?? actor);
    const { visitor } = written;
    const conversation = withDates(written.conversation);
    const row: MessageRow =
      files.length === 0
        ? { ...withDates(written.message), files: [] }
        : ((
            await tx.query<MessageRow>('read_message', `SELECT ${messageColumns} FROM chat_messages WHERE id = $1`, [
              messageId,
            ])
          ).rows[0] as MessageRow);
    if (!isNote)
      await this.#events.emit(
        tx,
        'message.created',
        {
          tenantId,
          sequence: Number(conversation.last_event),
          environment: conversation.environment,
          actor,
          origin: senderType === 'visitor' ? origin : 'agent',
          conversation: presentConversation(conversation),
          message: presentMessage(row as PublicMessageRow),
          ...(visitor === null ? {} : { visitor: presentVisitor(withDates(visitor)) }),
        },
        depth,
      );
    publishChatChange(tx, tenantId, id, { kind: 'message', position: row.position, seq: row.seq });
    return {
      row,
      isRepeated: false,
      hasReopened: conversation.status !== conversationNow.status,
      hasStarted: !isNote && !conversationNow.has_started && startsConversation(senderType),
    };
  }
}

const writtenResult = `SELECT to_jsonb(w) || jsonb_build_object('sender_name', ${senderNameOf('w')}, 'sender_picture', ${senderPictureOf('w')}) AS message, to_jsonb(m) AS conversation, to_jsonb(v) AS visitor
       FROM written w CROSS JOIN moved m LEFT JOIN chat_visitors v ON v.id = m.visitor_id`;
const writtenColumns =
  'id, conversation_id, position, seq, content, sender_type, sender_id, client_id, sources, tools, created_at';

// An agent replied since the conversation was last opened or unassigned, but it has no owner. An older hub version
// wrote the reply.
const agentHasReplied = `last_reply_seq > context_seq AND EXISTS (SELECT FROM chat_messages m WHERE m.conversation_id = chat_conversations.id
             AND m.seq > context_seq AND m.sender_type = 'agent' AND m.created_at > coalesce(assigned_at, '-infinity'))`;

// A visitor's message reopens a pending or resolved conversation and ends its snooze.
// An agent's reply marks the earlier messages as read and makes the agents the owner.
const writeMessage = `WITH moved AS (
         UPDATE chat_conversations SET last_position = last_position + 1, last_seq = last_seq + 1, last_event = last_event + 1,
           unread_count = CASE $5::text WHEN 'visitor' THEN unread_count + 1 WHEN 'agent' THEN 0 ELSE unread_count END,
           agent_read_seq = CASE WHEN $5 = 'agent' THEN last_seq + 1 ELSE agent_read_seq END,
           visitor_read_seq = CASE WHEN $5 = 'visitor' THEN last_seq + 1 ELSE visitor_read_seq END,
           last_reply_seq = CASE WHEN $5 IN ('agent', 'api', 'ai') THEN last_seq + 1 ELSE last_reply_seq END,
           status = CASE WHEN $5 = 'visitor' AND status IN ('pending', 'resolved') THEN 'open' ELSE status END,
           snoozed_until = CASE WHEN $5 = 'visitor' THEN NULL ELSE snoozed_until END,
           owner = CASE WHEN $5 = 'agent' THEN 'person'
             WHEN $5 = 'visitor' AND (status = 'resolved' OR owner IS NULL AND assigned_user_id IS NULL)
               THEN CASE ${initialOwner('$3')} WHEN 'ai' THEN CASE WHEN status <> 'resolved' AND ${agentHasReplied} THEN 'person' ELSE 'ai' END END ELSE owner END,
           has_started = has_started OR $5 IN ('visitor', 'agent'),
           ai_replies = CASE $5 WHEN 'agent' THEN 0 WHEN 'ai' THEN ai_replies + 1 ELSE ai_replies END,
           context_seq = CASE WHEN $5 = 'visitor' AND status IN ('pending', 'resolved') THEN last_seq ELSE context_seq END,
           last_message_at = greatest(t.at, moved_at), moved_at = greatest(t.at, moved_at), moved_by = pg_current_xact_id(), updated_at = greatest(t.at, updated_at)
         FROM (SELECT clock_timestamp() AS at) t WHERE id = $2 RETURNING chat_conversations.*
       ), written AS (
         INSERT INTO chat_messages (id, tenant_id, conversation_id, position, seq, content, sender_type, sender_id, client_id, created_at, words, sources, tools)
         SELECT $1, $3, id, last_position, last_seq, $4, $5, $6, $7, last_message_at, array_to_tsvector($8::text[]), $9::jsonb, $10::jsonb FROM moved RETURNING ${writtenColumns}
       ), seen AS (
         UPDATE chat_visitors SET last_seen_at = now() FROM moved WHERE chat_visitors.id = moved.visitor_id AND $5 = 'visitor'
       )
       ${writtenResult}`;

const writeNote = `WITH moved AS (
         UPDATE chat_conversations SET last_position = last_position + 1, updated_at = clock_timestamp()
         WHERE id = $2 RETURNING chat_conversations.*
       ), written AS (
         INSERT INTO chat_messages (id, tenant_id, conversation_id, position, seq, content, sender_type, sender_id, client_id, created_at, words, sources, tools)
         SELECT $1, $3, id, last_position, NULL, $4, $5, $6, $7, clock_timestamp(), array_to_tsvector($8::text[]), $9::jsonb, $10::jsonb FROM moved RETURNING ${writtenColumns}
       )
       ${writtenResult}`;

/** @throws AppError `newer_reply` if a colleague replied after `lastSeenSeq`. */
async function assertNoneNewer(
  tx: Transaction,
  id: string,
  lastSeenSeq: number,
  senderId: string | null,
): Promise<void> {
  const { rowCount } = await tx.query(
    'find_newer_reply',
    `SELECT FROM chat_messages WHERE conversation_id = $1 AND seq > $2 AND sender_type IN ('agent', 'api', 'ai') AND sender_id IS DISTINCT FROM $3 LIMIT 1`,
    [id, lastSeenSeq, senderId],
  );
  if (rowCount !== 0)
    throw new AppError(
      'newer_reply',
      'A colleague replied after the last message that you saw. Read the reply, then send your message again with the seq of the newest message as lastSeenSeq.',
    );
}

/** Attaches files to a message, in the order of `files`. @throws AppError `validation_failed`. */
async function attach(
  tx: Transaction,
  conversationId: string,
  messageId: string,
  files: readonly string[],
  sentBy: string,
): Promise<void> {
  const { rowCount } = await tx.query(
    'attach_files',
    `UPDATE chat_files f SET message_id = $1, position = n.position
     FROM unnest($2::uuid[]) WITH ORDINALITY AS n (id, position)
     WHERE f.id = n.id AND f.conversation_id = $3 AND f.sent_by = $4 AND f.message_id IS NULL`,
    [messageId, files, conversationId, sentBy],
  );
  if (rowCount === files.length) return;
  const message =
    'must list each file once; you must have uploaded it to this conversation, and it must not be in a message yet';
  throw new AppError('validation_failed', `body.attachmentIds ${message}.`, {
    details: [{ path: 'body.attachmentIds', message }],
  });
}
