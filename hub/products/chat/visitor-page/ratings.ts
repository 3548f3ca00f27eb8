import type { z } from 'zod';
import type { rating } from '../../../../shared/contract/chat/shapes.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import type { VisitorIdentity } from '../../../platform/http/auth/principal.ts';
import { newId } from '../../../platform/ids.ts';
import { presentConversation, presentVisitor, visitorColumns } from '../conversations/index.ts';
import type { ConversationWriter, VisitorRow } from '../conversations/index.ts';
import type { ChatEvents } from '../events/index.ts';
import { readVisitorView } from './view.ts';

/**
 * Adds or changes the rating for the last closing of a conversation. The first rating of a closing emits
 * `csat.submitted`.
 * @throws AppError `not_found`, `rating_not_offered`.
 */
export async function rateConversation(
  tx: Transaction,
  { conversationWriter, events }: { conversationWriter: ConversationWriter; events: ChatEvents },
  { tenantId, visitorId, conversationId, environment }: VisitorIdentity,
  { score, comment }: { score: number; comment: string },
): Promise<z.output<typeof rating>> {
  // The lock makes a concurrent rating wait, so that only the first one emits the event.
  const { closings } = await conversationWriter.lock(tx, conversationId);
  const { conversation: before } = await readVisitorView(tx, conversationId);
  if (!before.ratingOffered)
    throw new AppError(
      'rating_not_offered',
      'This conversation can not be rated now: that is offered for 14 days after it was closed, and a rating can be changed for 24 hours.',
    );
  const [{ rows }, visitor] = await Promise.all([
    tx.query<{ score: number; comment: string; created_at: Date; updated_at: Date }>(
      'rate_conversation',
      `INSERT INTO chat_ratings (id, tenant_id, conversation_id, closing, score, comment) VALUES ($1, $2, $3, $4, $5, $6)
       ON CONFLICT (conversation_id, closing) DO UPDATE SET score = excluded.score, comment = excluded.comment, updated_at = now()
       RETURNING score, comment, created_at, updated_at`,
      [newId(), tenantId, conversationId, closings, score, comment],
    ),
    tx.query<VisitorRow>('read_rating_visitor', `SELECT ${visitorColumns} FROM chat_visitors WHERE id = $1`, [
      visitorId,
    ]),
  ]);
  const [row] = rows;
  if (row === undefined) throw new Error('a rating was not written');
  const rated = {
    score: row.score,
    comment: row.comment,
    createdAt: row.created_at.toISOString(),
    updatedAt: row.updated_at.toISOString(),
  };
  if (before.rating !== null) return rated;
  const conversation = await conversationWriter.nextEvent(tx, conversationId);
  const [known] = visitor.rows;
  await events.emit(tx, 'csat.submitted', {
    tenantId,
    sequence: Number(conversation.last_event),
    environment,
    actor: `visitor:${visitorId}`,
    conversation: presentConversation(conversation),
    ...(known === undefined ? {} : { visitor: presentVisitor(known) }),
    csat: { score, comment },
  });
  return rated;
}
