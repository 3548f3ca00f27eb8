import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { ChatChanges } from '../changes/index.ts';
import type { ChatEvents } from '../events/index.ts';

/** Messages that one transaction removes at most, so that none holds its locks for long. */
const batch = 5_000;
/** Conversations that one transaction removes at most. */
const conversationsAtOnce = 100;

export interface RemovalDependencies {
  db: Database;
  changes: ChatChanges;
  /** Erases what other products keep about conversations, before these are removed. */
  chatEvents: ChatEvents;
}

/** Which conversations of a workspace go. */
export interface Doomed {
  /** A name for the statement that finds them. */
  name: string;
  /** SQL over `chat_conversations`; `$1` is the workspace, `$2` is `value`, `$3` how many are taken at once. */
  condition: string;
  value: unknown;
  /** Whether those that somebody writes into now are left to the next time, rather than waited for. */
  skipsBusy: boolean;
}

/**
 * Removes some of the conversations that are to go, with messages, files, ratings and drafts. One that one batch has room for goes whole, under its lock: whoever
 * writes into it comes before and goes with it, or afterwards and finds it missing. Of a longer one the oldest messages go first.
 * @param withThem removes what goes with them, in the same transaction.
 * @returns whether there may be more.
 */
export async function removeConversations(
  { db, changes, chatEvents }: RemovalDependencies,
  tenantId: string,
  { name, condition, value, skipsBusy }: Doomed,
  withThem: (tx: Transaction, visitors: string[]) => Promise<unknown>,
): Promise<boolean> {
  const { removed, isMore } = await db.workspace(tenantId, async (tx) => {
    const { rows } = await tx.query<{ id: string; visitor_id: string | null; last_position: number }>(
      `take_conversations_${name}`,
      `SELECT id, visitor_id, last_position FROM chat_conversations WHERE tenant_id = $1 AND ${condition}
       ORDER BY moved_at, id LIMIT $3 FOR UPDATE${skipsBusy ? ' SKIP LOCKED' : ''}`,
      [tenantId, value, conversationsAtOnce],
    );
    const taken: typeof rows = [];
    let messages = 0;
    for (const row of rows) {
      messages += row.last_position;
      if (taken.length > 0 && messages > batch) break;
      taken.push(row);
    }
    const ids = taken.map(({ id }) => id);
    if (ids.length === 0) return { removed: [], isMore: false };
    const gone = await tx.query(
      'remove_some_messages',
      `DELETE FROM chat_messages WHERE tenant_id = $1 AND id = ANY(ARRAY(
         SELECT id FROM chat_messages WHERE conversation_id = ANY($2::uuid[]) ORDER BY conversation_id, position LIMIT $3))`,
      [tenantId, ids, batch],
    );
    if (gone.rowCount === batch) return { removed: [], isMore: true };
    if (await chatEvents.erase(tx, tenantId, ids)) return { removed: [], isMore: true };
    await tx.query(
      'remove_conversations',
      'DELETE FROM chat_conversations WHERE tenant_id = $1 AND id = ANY($2::uuid[])',
      [tenantId, ids],
    );
    await withThem(
      tx,
      taken.flatMap(({ visitor_id: visitorId }) => visitorId ?? []),
    );
    return { removed: ids, isMore: taken.length < rows.length || rows.length === conversationsAtOnce };
  });
  for (const id of removed) changes.tell(tenantId, id, { kind: 'removed' });
  return isMore;
}
