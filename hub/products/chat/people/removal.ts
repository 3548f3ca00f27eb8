import type { Database, Transaction } from '../../../platform/db/database.ts';
import { publishChatChange } from '../changes/index.ts';
import type { ChatEvents } from '../events/index.ts';

/** Messages that one transaction deletes. The limit keeps locks short. */
const maxMessagesPerBatch = 5_000;
/** Conversations that one transaction deletes. */
const maxConversationsPerBatch = 100;

export interface RemovalDependencies {
  db: Database;
  /** Erases the data of other products before the conversations are deleted. */
  chatEvents: ChatEvents;
}

/** Selects the conversations of a workspace to delete. */
export interface RemovalFilter {
  /** Part of the statement name. */
  name: string;
  /** SQL over `chat_conversations`; `$1` is the workspace, `$2` is `value`, `$3` is the batch size. */
  condition: string;
  value: unknown;
  /** Whether locked conversations are left to the next batch instead of waited for. */
  skipsBusy: boolean;
}

/**
 * Deletes one batch of the selected conversations, with their messages, files, ratings and drafts.
 * A conversation that fits into the batch is deleted whole, under its lock: a concurrent message is deleted with it or
 * fails with `not_found`.
 * Of a longer conversation, the oldest messages are deleted first.
 * @param removeRelated deletes related rows in the same transaction.
 * @returns whether there may be more.
 */
export async function removeConversations(
  { db, chatEvents }: RemovalDependencies,
  tenantId: string,
  { name, condition, value, skipsBusy }: RemovalFilter,
  removeRelated: (tx: Transaction, visitors: string[]) => Promise<unknown>,
): Promise<boolean> {
  return db.workspace(tenantId, async (tx) => {
    const { rows } = await tx.query<{ id: string; visitor_id: string | null; last_position: number }>(
      `lock_conversations_${name}`,
      `SELECT id, visitor_id, last_position FROM chat_conversations WHERE tenant_id = $1 AND ${condition}
       ORDER BY moved_at, id LIMIT $3 FOR UPDATE${skipsBusy ? ' SKIP LOCKED' : ''}`,
      [tenantId, value, maxConversationsPerBatch],
    );
    const batch: typeof rows = [];
    let messages = 0;
    for (const row of rows) {
      messages += row.last_position;
      if (batch.length > 0 && messages > maxMessagesPerBatch) break;
      batch.push(row);
    }
    const ids = batch.map(({ id }) => id);
    if (ids.length === 0) return false;
    const deleted = await tx.query(
      'remove_some_messages',
      `DELETE FROM chat_messages WHERE tenant_id = $1 AND id = ANY(ARRAY(
         SELECT id FROM chat_messages WHERE conversation_id = ANY($2::uuid[]) ORDER BY conversation_id, position LIMIT $3))`,
      [tenantId, ids, maxMessagesPerBatch],
    );
    if (deleted.rowCount === maxMessagesPerBatch) return true;
    if (await chatEvents.erase(tx, tenantId, ids)) return true;
    await tx.query(
      'remove_conversations',
      'DELETE FROM chat_conversations WHERE tenant_id = $1 AND id = ANY($2::uuid[])',
      [tenantId, ids],
    );
    await removeRelated(
      tx,
      batch.flatMap(({ visitor_id: visitorId }) => visitorId ?? []),
    );
    for (const id of ids) publishChatChange(tx, tenantId, id, { kind: 'removed' });
    return batch.length < rows.length || rows.length === maxConversationsPerBatch;
  });
}
