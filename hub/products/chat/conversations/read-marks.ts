import { maxSeq } from '../../../../shared/contract/chat/shapes.ts';
import { notFound } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { publishChatChange } from '../changes/index.ts';

// The lock is a separate statement, so that the update counts messages that were committed while it waited for the
// lock.
const lock = 'SELECT FROM chat_conversations WHERE id = $1 FOR NO KEY UPDATE';
const markByAgent = `UPDATE chat_conversations c SET agent_read_seq = least($2, last_seq), updated_at = clock_timestamp(),
     unread_count = (SELECT count(*) FROM chat_messages m WHERE m.conversation_id = c.id AND m.seq > $2 AND m.sender_type = 'visitor')
   WHERE id = $1 AND agent_read_seq < least($2, last_seq) RETURNING agent_read_seq AS seq`;
const markByVisitor = `UPDATE chat_conversations SET visitor_read_seq = least($2, last_seq), updated_at = clock_timestamp()
   WHERE id = $1 AND visitor_read_seq < least($2, last_seq) RETURNING visitor_read_seq AS seq`;

/**
 * Moves the read mark of one side forward, never back. The commit publishes the new mark, if the mark moved.
 * @throws AppError `not_found`.
 */
export async function markRead(
  tx: Transaction,
  tenantId: string,
  id: string,
  who: 'visitor' | 'agent',
  seq: number,
): Promise<void> {
  const [locked, marked] = await Promise.all([
    tx.query('lock_conversation_to_read', lock, [id]),
    tx.query<{ seq: number }>(`mark_read_by_${who}`, who === 'agent' ? markByAgent : markByVisitor, [
      id,
      Math.min(seq, maxSeq),
    ]),
  ]);
  if (locked.rowCount === 0) throw notFound('conversation', id);
  const [moved] = marked.rows;
  if (moved !== undefined) publishChatChange(tx, tenantId, id, { kind: 'read', who, seq: moved.seq });
}
