import type { z } from 'zod';
import type { chatPeople as resource } from '../../../../shared/contract/chat/people.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { messageColumns } from '../conversations/index.ts';
import type { MessageRow } from '../conversations/index.ts';
import { presentInboxMessage } from '../inbox/index.ts';
import { findMessages, highlightsOf, termsOf } from '../search/index.ts';

type Query = z.output<typeof resource.searchInbox.query>;
type Hit = MessageRow & { conversation_name: string };

/** Finds messages and notes that contain every word of `q`, newest first. @throws AppError `invalid_cursor`. */
export async function searchMessages(
  { db, cursors }: { db: Database; cursors: Cursors },
  tenantId: string,
  { q, private: notes, limit, cursor }: Query,
) {
  const scope = `chat-search:${tenantId}:${notes ?? ''}:${q}`;
  const before = cursor === undefined ? undefined : cursors.decode(scope, cursor);
  const terms = termsOf(q);
  const ids = await findMessages(
    db,
    tenantId,
    { terms, before, notes: notes === undefined ? undefined : notes === 'true' },
    limit + 1,
  );
  const shown = ids.slice(0, limit);
  const rows = shown.length === 0 ? [] : await readHits(db, tenantId, shown);
  const last = shown.at(-1);
  return {
    data: rows.map((row) => ({
      message: presentInboxMessage(row),
      conversationName: row.conversation_name,
      highlights: highlightsOf(row.content, terms),
    })),
    meta: { limit, nextCursor: ids.length > limit && last !== undefined ? cursors.encode(scope, last) : null },
  };
}

/** Reads with the workspace's row-level security, so that only its own messages are returned. */
async function readHits(db: Database, tenantId: string, ids: readonly string[]): Promise<Hit[]> {
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<Hit>(
      'read_found_messages',
      `SELECT ${messageColumns}, (SELECT c.name FROM chat_conversations c WHERE c.id = chat_messages.conversation_id) AS conversation_name
       FROM chat_messages WHERE tenant_id = $1 AND id = ANY($2::uuid[]) ORDER BY id DESC`,
      [tenantId, ids],
    ),
  );
  return rows;
}
