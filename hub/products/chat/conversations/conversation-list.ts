import { AppError } from '../../../../shared/errors.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { decodeSnapshot, encodeSnapshot } from '../../../platform/db/snapshot.ts';
import type { Snapshot } from '../../../platform/db/snapshot.ts';

/** Where a walk stands: what it began to see, and the rank and id of the conversation that was shown last. */
interface Place {
  snapshot: Snapshot;
  rank: string;
  id: string;
}

/** By what a list is filtered, of a conversation `c`. */
export interface ConversationFilter {
  /** Names the conditions: filters of the same name are the same statement. */
  name: string;
  /** Conditions, each with `?` where its value stands, if it has one. */
  conditions: readonly { text: string; value?: unknown }[];
}

/** What a list shows of each conversation. */
export interface ConversationView<Row, Shown> {
  /** Names the columns, in the names of statements. */
  name: string;
  /** Of a conversation `c`, and of what `joins` adds. */
  columns: string;
  joins: string;
  present: (row: Row) => Shown;
}

/**
 * Whether what a transaction wrote was there when the walk began. One that this database has not got to yet comes from a backup of another, and is old.
 */
const wasThere = (transaction: string, snapshot: string) =>
  `(pg_visible_in_snapshot(${transaction}, ${snapshot}::pg_snapshot) OR ${transaction} >= pg_snapshot_xmax(pg_current_snapshot()))`;

const order = (rank: string) => `ORDER BY ${rank} DESC, c.id DESC`;

const firstPage = (filter: string, { columns, joins }: { columns: string; joins: string }, limit: string) =>
  `SELECT ${columns}, c.moved_at::text AS rank, pg_current_snapshot()::text AS snapshot
   FROM (SELECT * FROM chat_conversations c WHERE c.tenant_id = $1 ${filter} ${order('c.moved_at')} LIMIT ${limit}) c ${joins} ${order('c.moved_at')}`;

// What moved since is ranked by the last message before, and what was made since is left out.
const nextPage = (
  filter: string,
  { columns, joins }: { columns: string; joins: string },
  { snapshot, rank, id, limit }: Record<'snapshot' | 'rank' | 'id' | 'limit', string>,
) => `WITH moved AS MATERIALIZED (
    SELECT c.id, coalesce(
      (SELECT m.created_at FROM chat_messages m WHERE m.conversation_id = c.id AND m.seq IS NOT NULL AND ${wasThere('m.written_by', snapshot)}
        ORDER BY m.seq DESC LIMIT 1),
      CASE WHEN ${wasThere('c.made_by', snapshot)} THEN c.created_at END) AS rank
    FROM chat_conversations c
    WHERE c.tenant_id = $1 AND c.moved_by >= pg_snapshot_xmin(${snapshot}::pg_snapshot) AND NOT ${wasThere('c.moved_by', snapshot)} ${filter}
  ), ranked AS (
    (SELECT c.id, c.moved_at AS rank FROM chat_conversations c
      WHERE c.tenant_id = $1 ${filter} AND (c.moved_at, c.id) < (${rank}::timestamptz, ${id}::uuid) AND ${wasThere('c.moved_by', snapshot)}
      ${order('c.moved_at')} LIMIT ${limit})
    UNION ALL
    (SELECT id, rank FROM moved WHERE (rank, id) < (${rank}::timestamptz, ${id}::uuid) ORDER BY rank DESC, id DESC LIMIT ${limit})
  )
  SELECT ${columns}, r.rank::text AS rank FROM (SELECT * FROM ranked ORDER BY rank DESC, id DESC LIMIT ${limit}) r
    JOIN chat_conversations c ON c.id = r.id ${joins} ${order('r.rank')}`;

/** Lists conversations by their last message: a walk shows each once, at the place that it had when the walk began, whatever moves meanwhile. */
export async function listConversations<Row extends { id: string }, Shown>(
  { db, cursors }: { db: Database; cursors: Cursors },
  tenantId: string,
  { limit, cursor }: { limit: number; cursor?: string | undefined },
  filter: ConversationFilter,
  view: ConversationView<Row, Shown>,
) {
  const values: unknown[] = [tenantId];
  const place$ = (value: unknown) => `$${values.push(value)}`;
  const where = filter.conditions
    .map(({ text, value }) => `AND ${value === undefined ? text : text.replaceAll('?', place$(value))}`)
    .join(' ');
  const scope = `chat-conversations:${tenantId}:${view.name}:${filter.name}:${JSON.stringify(values.slice(1))}`;
  const place = cursor === undefined ? null : decodePlace(cursors.decodeText(scope, cursor));
  const text =
    place === null
      ? firstPage(where, view, place$(limit + 1))
      : nextPage(where, view, {
          snapshot: place$(place.snapshot),
          rank: place$(place.rank),
          id: place$(place.id),
          limit: place$(limit + 1),
        });
  const name = `list_${place === null ? '' : 'further_'}${view.name}_${filter.name}`;
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<Row & { rank: string; snapshot?: Snapshot }>(name, text, values),
  );
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const snapshot = place?.snapshot ?? last?.snapshot;
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

function decodePlace(text: string): Place {
  const [id = '', encoded = '', ...rank] = text.split(' ');
  const snapshot = decodeSnapshot(encoded);
  // It is signed; so only a hub of another version wrote it.
  if (snapshot === null)
    throw new AppError('invalid_cursor', 'cursor is of another version of this hub; begin the walk anew.');
  return { id, snapshot, rank: rank.join(' ') };
}
