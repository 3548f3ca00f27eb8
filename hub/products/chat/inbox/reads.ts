import type { InboxConversation, InboxMessage } from '../../../../shared/contract/chat/agent-shapes.ts';
import { maxSeq } from '../../../../shared/contract/chat/shapes.ts';
import { notFound } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { messageColumns, pageOf, pageText } from '../conversations/index.ts';
import type { MessageRow } from '../conversations/index.ts';
import {
  inboxColumns,
  inboxJoins,
  inboxVisitorColumns,
  presentInboxConversation,
  presentInboxMessage,
  presentInboxVisitor,
} from './rows.ts';
import type { InboxConversationRow, InboxVisitorRow } from './rows.ts';

const readConversation = (tx: Transaction, id: string) =>
  tx.query<InboxConversationRow>(
    'read_inbox_conversation',
    `SELECT ${inboxColumns} FROM chat_conversations c ${inboxJoins} WHERE c.id = $1`,
    [id],
  );

/** A conversation as agents see it. @throws AppError `not_found`. */
export async function readInboxConversation(tx: Transaction, id: string): Promise<InboxConversation> {
  const [row] = (await readConversation(tx, id)).rows;
  if (row === undefined) throw notFound('conversation', id);
  return presentInboxConversation(row);
}

/**
 * A conversation with its visitor, the member's own draft and its last rating, in one round trip.
 * @throws AppError `not_found`.
 */
export async function readInboxDetail(tx: Transaction, id: string, userId: string) {
  const [conversation, visitor, draft, rating] = await Promise.all([
    readConversation(tx, id),
    tx.query<InboxVisitorRow>(
      'read_visitor_of_conversation',
      `SELECT ${inboxVisitorColumns} FROM chat_visitors WHERE id = (SELECT visitor_id FROM chat_conversations WHERE id = $1)`,
      [id],
    ),
    tx.query<{ content: string; private: boolean; updated_at: Date }>(
      'read_chat_draft',
      'SELECT content, private, updated_at FROM chat_drafts WHERE conversation_id = $1 AND user_id = $2',
      [id, userId],
    ),
    tx.query<{ score: number; comment: string; created_at: Date; updated_at: Date }>(
      'read_last_rating',
      `SELECT score, comment, created_at, updated_at FROM chat_ratings
       WHERE conversation_id = $1 AND closing = (SELECT closings FROM chat_conversations WHERE id = $1)`,
      [id],
    ),
  ]);
  const [row] = conversation.rows;
  if (row === undefined) throw notFound('conversation', id);
  const [visitorRow] = visitor.rows;
  const [draftRow] = draft.rows;
  const [ratingRow] = rating.rows;
  return {
    ...presentInboxConversation(row),
    visitor: visitorRow === undefined ? null : presentInboxVisitor(visitorRow),
    draft:
      draftRow === undefined
        ? null
        : { content: draftRow.content, private: draftRow.private, updatedAt: draftRow.updated_at.toISOString() },
    rating:
      ratingRow === undefined
        ? null
        : {
            score: ratingRow.score,
            comment: ratingRow.comment,
            createdAt: ratingRow.created_at.toISOString(),
            updatedAt: ratingRow.updated_at.toISOString(),
          },
  };
}

/**
 * One page of messages and notes, oldest first: after a position, or the last ones before a position.
 * @throws AppError `not_found`.
 */
export async function readInboxMessages(
  tx: Transaction,
  id: string,
  { limit, after, before }: { limit: number; after?: string | undefined; before?: string | undefined },
): Promise<{ data: InboxMessage[]; meta: { limit: number; nextCursor: string | null } }> {
  const [existing, { rows }] = await Promise.all([
    tx.query('has_conversation', 'SELECT FROM chat_conversations WHERE id = $1', [id]),
    after === undefined
      ? tx.query<MessageRow & { found: number }>(
          'list_inbox_messages_before',
          pageText(
            `SELECT ${messageColumns} FROM chat_messages WHERE conversation_id = $1 AND position < $2 ORDER BY position DESC LIMIT $3`,
            'position DESC',
          ),
          [id, Math.min(Number(before ?? maxSeq), maxSeq), limit + 1],
        )
      : tx.query<MessageRow & { found: number }>(
          'list_inbox_messages_after',
          pageText(
            `SELECT ${messageColumns} FROM chat_messages WHERE conversation_id = $1 AND position > $2 ORDER BY position LIMIT $3`,
            'position',
          ),
          [id, Math.min(Number(after), maxSeq), limit + 1],
        ),
  ]);
  if (existing.rowCount === 0) throw notFound('conversation', id);
  const { shown, next } = pageOf<MessageRow>(rows, limit);
  if (after === undefined) shown.reverse();
  return {
    data: shown.map(presentInboxMessage),
    meta: { limit, nextCursor: next === null ? null : String(next.position) },
  };
}
