import { AppError } from '../../../../shared/errors.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { decodeSnapshot, encodeSnapshot } from '../../../platform/db/snapshot.ts';
import type { Snapshot } from '../../../platform/db/snapshot.ts';

/**
 * Position in a list: the snapshot of the first page, and the rank and id of the last conversation on the previous
 * page.
 */
interface ListCursor {
  snapshot: Snapshot;
  rank: string;
  id: string;
}

/** The filter of a list, as SQL over the alias `c`. */
export interface ConversationFilter {
  /** Filters with the same name must have the same SQL. The name is part of the statement name. */
  name: string;
  /** SQL conditions. `?` is the placeholder of the value, if there is one. */
  conditions: readonly { text: string; value?: unknown }[];
}

/** The columns and the form of the items of a list. */
export interface ConversationView<Row, Shown> {
  /** Part of the statement name. */
  name: string;
  /** Columns of `c` and of the tables in `joins`. */
  columns: string;
  joins: string;
  present: (row: Row) => Shown;
}

/**
 * SQL: whether the writes of a transaction are visible in the snapshot of the first page.
 * A transaction id above the current snapshot comes from a restored backup. Its writes count as visible.
 */
const isInSnapshot = (transaction: string, snapshot: string) =>
  `(pg_visible_in_snapshot(${transaction}, ${snapshot}::pg_snapshot) OR ${transaction} >= pg_snapshot_xmax(pg_current_snapshot()))`;

const order = (rank: string) => `ORDER BY ${rank} DESC, c.id DESC`;

const firstPage = (filter: string, { columns, joins }: { columns: string; joins: string }, limit: string) =>
  `SELECT ${columns}, c.moved_at::text AS rank, pg_current_snapshot()::text AS snapshot
   FROM (SELECT * FROM chat_conversations c WHERE c.tenant_id = $1 ${filter} ${order('c.moved_at')} LIMIT ${limit}) c ${joins} ${order('c.moved_at')}`;

// Conversations that moved after the snapshot are ranked by their last message in it. Later conversations are left out.
const nextPage = (
  filter: string,
  { columns, joins }: { columns: string; joins: string },
  { snapshot, rank, id, limit }: Record<'snapshot' | 'rank' | 'id' | 'limit', string>,
) => `WITH moved AS MATERIALIZED (
    SELECT c.id, coalesce(
      (SELECT m.created_at FROM chat_messages m WHERE m.conversation_id = c.id AND m.seq IS NOT NULL AND ${isInSnapshot('m.written_by', snapshot)}
        ORDER BY m.seq DESC LIMIT 1),
      CASE WHEN ${isInSnapshot('c.made_by', snapshot)} THEN c.created_at END) AS rank
    FROM chat_conversations c
    WHERE c.tenant_id = $1 AND c.moved_by >= pg_snapshot_xmin(${snapshot}::pg_snapshot) AND NOT ${isInSnapshot('c.moved_by', snapshot)} ${filter}
  ), ranked AS (
    (SELECT c.id, c.moved_at AS rank FROM chat_conversations c
      WHERE c.tenant_id = $1 ${filter} AND (c.moved_at, c.id) < (${rank}::timestamptz, ${id}::uuid) AND ${isInSnapshot('c.moved_by', snapshot)}
      ${order('c.moved_at')} LIMIT ${limit})
    UNION ALL
    (SELECT id, rank FROM moved WHERE (rank, id) < (${rank}::timestamptz, ${id}::uuid) ORDER BY rank DESC, id DESC LIMIT ${limit})
  )
  SELECT ${columns}, r.rank::text AS rank FROM (SELECT * FROM ranked ORDER BY rank DESC, id DESC LIMIT ${limit}) r
    JOIN chat_conversations c ON c.id = r.id ${joins} ${order('r.rank')}`;

/**
 * Lists conversations by their last message. All pages show the order of the first page's snapshot, so that each
 * conversation appears once.
 */
export async function listConversations<Row extends { id: string }, Shown>(
  { db, cursors }: { db: Database; cursors: Cursors },
  tenantId: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
  filter: ConversationFilter,
  view: ConversationView<Row, Shown>,
) {
  const values: unknown[] = [tenantId];
  const parameter = (value: unknown) => `$${values.push(value)}`;
  const where = filter.conditions
    .map(({ text, value }) => `AND ${value === undefined ? text : text.replaceAll('?', parameter(value))}`)
    .join(' ');
  const scope = `chat-conversations:${tenantId}:${view.name}:${filter.name}:${JSON.stringify(values.slice(1))}`;
  const after = cursor === undefined ? null : decodeListCursor(cursors.decodeText(scope, cursor));
  const text =
    after === null
      ? firstPage(where, view, parameter(limit + 1))
      : nextPage(where, view, {
          snapshot: parameter(after.snapshot),
          rank: parameter(after.rank),
          id: parameter(after.id),
          limit: parameter(limit + 1),
        });
  const name = `list_${after === null ? '' : 'further_'}${view.name}_${filter.name}`;
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<Row & { rank: string; snapshot?: Snapshot }>(name, text, values),
  );
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const snapshot = after?.snapshot ?? last?.snapshot;
  return {
    data: shown.map((row) => view.present(row)),
    meta: {
      limit,
      nextCursor:
        rows.length > limit && last !== undefined && snapshot !== undefined
          ? cursors.encodeText(scope, `${last.id} ${encodeSnapshot(snapshot)} ${last.rank}`)
          : null,
    },
  };
}

function decodeListCursor(text: string): ListCursor {
  const [id = '', encoded = '', ...rank] = text.split(' ');
  const snapshot = decodeSnapshot(encoded);
  // Cursors are signed. An unreadable snapshot therefore comes from another version of the hub.
  if (snapshot === null)
    throw new AppError(
      'invalid_cursor',
      'The cursor comes from another version of this hub. Start again from the first page.',
    );
  return { id, snapshot, rank: rank.join(' ') };
}
