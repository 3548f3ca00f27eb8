import type { MessageSource, ToolUse } from '../../../../shared/contract/chat/ai-settings.ts';
import type { SenderType } from '../../../../shared/contract/chat/shapes.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { newId } from '../../../platform/ids.ts';
import type { ChatChanges } from '../changes/index.ts';
import type { ChatEvents } from '../events/index.ts';
import { wordsOf } from '../search/index.ts';
import { isReachable } from './actor.ts';
import type { ChatActor } from './actor.ts';
import { ownerNow } from './owner.ts';
import {
  dated,
  messageColumns,
  senderNameOf,
  senderPictureOf,
  presentConversation,
  presentMessage,
  presentVisitor,
} from './rows.ts';
import type { ConversationRow, MessageRow, PublicMessageRow, VisitorRow } from './rows.ts';

/** What somebody writes. */
export interface NewMessage {
  /** A new one when left out. */
  id?: string;
  content: string;
  clientId?: string | undefined;
  senderType: SenderType;
  senderId: string | null;
  /** A note that only agents see; it moves no conversation, and no webhook tells of it. */
  private?: boolean;
  /** Files that the sender sent for this conversation. */
  attachmentIds?: readonly string[];
  /** As whom the sender sent those, such as `visitor:<id>`. */
  sentBy?: string;
  /** The newest message that the sender has seen, where a colleague's newer reply is to stop this one. */
  lastSeenSeq?: number | undefined;
  /** What an answer of the AI stands on. */
  sources?: readonly MessageSource[];
  /** What the AI called for it. */
  tools?: readonly ToolUse[];
}

export interface WrittenMessage {
  row: MessageRow;
  /** Whether it was there before. */
  isRepeated: boolean;
  /** Whether it made a conversation open again that was pending or resolved. */
  hasReopened: boolean;
  /** Whether the conversation needs an agent since this message. */
  hasBegun: boolean;
  committed: () => void;
}

interface Locked {
  status: ConversationRow['status'];
  environment: ConversationRow['environment'];
  last_reply_seq: number;
  has_begun: boolean;
}

/** Whether a conversation needs an agent since such a message: not since the greeting of a workflow. */
const begins = (senderType: string): boolean => senderType === 'visitor' || senderType === 'agent';

/** Writes messages, each in the transaction of its caller, under the lock of its conversation. */
export class MessageWriter {
  readonly #events: ChatEvents;
  readonly #changes: ChatChanges;

  constructor(events: ChatEvents, changes: ChatChanges) {
    this.#events = events;
    this.#changes = changes;
  }

  /**
   * Writes a message; the same `clientId` of the same sender again is the message that there is.
   * @param depth runs that led to it: 0 for what a person did.
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
        'SELECT status, environment, last_reply_seq, has_begun FROM chat_conversations WHERE id = $1 FOR NO KEY UPDATE',
        [id],
      ),
      // Looked for once the row is ours: whoever sent the same has committed by then.
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
    if (sent !== undefined)
      return { row: sent, isRepeated: true, hasReopened: false, hasBegun: false, committed: () => undefined };
    if (conversationNow.status === 'closed' && !isNote)
      throw new AppError('conversation_closed', `The conversation ${id} is closed; begin a new one for this person.`);
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
    const conversation = dated(written.conversation);
    const row: MessageRow =
      files.length === 0
        ? { ...dated(written.message), files: [] }
        : ((
            await tx.query<MessageRow>('read_message', `SELECT ${messageColumns} FROM chat_messages WHERE id = $1`, [
              messageId,
            ])
          ).rows[0] as MessageRow);
    const told = isNote
      ? () => undefined
      : await this.#events.emit(
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
            ...(visitor === null ? {} : { visitor: presentVisitor(dated(visitor)) }),
          },
          depth,
        );
    return {
      row,
      isRepeated: false,
      hasReopened: conversation.status !== conversationNow.status,
      hasBegun: !isNote && !conversationNow.has_begun && begins(senderType),
      committed: () => {
        told();
        this.#changes.tell(tenantId, id, { kind: 'message', position: row.position, seq: row.seq });
      },
    };
  }
}

const answerOf = `SELECT to_jsonb(w) || jsonb_build_object('sender_name', ${senderNameOf('w')}, 'sender_picture', ${senderPictureOf('w')}) AS message, to_jsonb(m) AS conversation, to_jsonb(v) AS visitor
       FROM written w CROSS JOIN moved m LEFT JOIN chat_visitors v ON v.id = m.visitor_id`;
const writtenColumns =
  'id, conversation_id, position, seq, content, sender_type, sender_id, client_id, sources, tools, created_at';

// An agent's reply since it was last opened or taken back, though nobody has it: a process that knows no owners wrote it.
const agentHasReplied = `last_reply_seq > context_seq AND EXISTS (SELECT FROM chat_messages m WHERE m.conversation_id = chat_conversations.id
             AND m.seq > context_seq AND m.sender_type = 'agent' AND m.created_at > coalesce(assigned_at, '-infinity'))`;

// A visitor's message opens again what is not closed, and ends its rest; an agent who replies has read what came before, and has the conversation from then on.
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
               THEN CASE ${ownerNow('$3')} WHEN 'ai' THEN CASE WHEN status <> 'resolved' AND ${agentHasReplied} THEN 'person' ELSE 'ai' END END ELSE owner END,
           has_begun = has_begun OR $5 IN ('visitor', 'agent'),
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
       ${answerOf}`;

const writeNote = `WITH moved AS (
         UPDATE chat_conversations SET last_position = last_position + 1, updated_at = clock_timestamp()
         WHERE id = $2 RETURNING chat_conversations.*
       ), written AS (
         INSERT INTO chat_messages (id, tenant_id, conversation_id, position, seq, content, sender_type, sender_id, client_id, created_at, words, sources, tools)
         SELECT $1, $3, id, last_position, NULL, $4, $5, $6, $7, clock_timestamp(), array_to_tsvector($8::text[]), $9::jsonb, $10::jsonb FROM moved RETURNING ${writtenColumns}
       )
       ${answerOf}`;

/** Asked only where there is a newer reply, once the conversation is locked. @throws AppError `newer_reply` where it is a colleague's. */
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
      'A colleague has replied since you looked; read that first, and send this again with the seq of the newest message as lastSeenSeq.',
    );
}

/** Puts files into their message, in the order in which they are named. @throws AppError `validation_failed`. */
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
  const message = 'must each name a file once that you sent for this conversation and that is in no message yet';
  throw new AppError('validation_failed', `body.attachmentIds ${message}.`, {
    details: [{ path: 'body.attachmentIds', message }],
  });
}
