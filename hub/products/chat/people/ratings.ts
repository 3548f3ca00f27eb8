import type { z } from 'zod';
import type { chatPeople as resource } from '../../../../shared/contract/chat/people.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';

export interface RatingRow {
  id: string;
  conversation_id: string;
  score: number;
  comment: string;
  created_at: Date;
  updated_at: Date;
}

export const ratingColumns = 'id, conversation_id, score, comment, created_at, updated_at';

export const presentRating = (row: RatingRow) => ({
  id: row.id,
  conversationId: row.conversation_id,
  score: row.score,
  comment: row.comment,
  createdAt: row.created_at.toISOString(),
  updatedAt: row.updated_at.toISOString(),
});

/** Lists ratings, newest first. @throws AppError `invalid_cursor`. */
export function listRatings(
  { db, cursors }: { db: Database; cursors: Cursors },
  tenantId: string,
  query: z.output<typeof resource.listChatRatings.query>,
) {
  const read = async (limit: number, before: string | undefined) =>
    (
      await db.read(tenantId, (tx) =>
        tx.query<RatingRow>(
          'list_chat_ratings',
          `SELECT ${ratingColumns} FROM chat_ratings WHERE tenant_id = $1 AND ($2::uuid IS NULL OR id < $2) ORDER BY id DESC LIMIT $3`,
          [tenantId, before ?? null, limit],
        ),
      )
    ).rows;
  return readPage(cursors, `chat-ratings:${tenantId}`, query, read, presentRating);
}
