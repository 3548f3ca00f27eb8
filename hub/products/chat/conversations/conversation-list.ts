import type { z } from 'zod';
import type { chat as resource } from '../../../../shared/contract/chat/chat.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { decodeSnapshot, encodeSnapshot } from '../../../platform/db/snapshot.ts';
import type { Snapshot } from '../../../platform/db/snapshot.ts';
import { conversationColumns, presentConversation } from './rows.ts';
import type { ConversationRow } from './rows.ts';

type Query = z.output<typeof resource.listChatConversations.query>;

/** Where a walk stands: what it began to see, and the rank and id of the conversation that was shown last. */
interface Place {
  snapshot: Snapshot;
  rank: string;
  id: string;
}

/** By what a list is filtered: a statement for each choice, so that each finds its page in an index of its own. */
const choices = ['all', 'by_status', 'by_source', 'by_status_and_source'] as const;
type Choice = (typeof choices)[number];

const filterOf = (choice: Choice) =>
  `AND ${choice.includes('status') ? 'c.status = $2' : '$2::text IS NULL'} AND ${choice.includes('source') ? 'c.source = $3' : '$3::text IS NULL'}`;

/**
 * Whether what a transaction wrote was there when the walk began. One that this database has not got to yet comes from a backup of another, and is old.
 */
const wasThere = (transaction: string) =>
  `(pg_visible_in_snapshot(${transaction}, $4::pg_snapshot) OR ${transaction} >= pg_snapshot_xmax(pg_current_snapshot()))`;

const firstPage = (
  choice: Choice,
) => `SELECT ${conversationColumns}, moved_at::text AS rank, pg_current_snapshot()::text AS snapshot FROM chat_conversations c
  WHERE tenant_id = $1 ${filterOf(choice)} ORDER BY moved_at DESC, id DESC LIMIT $4`;

// What moved since is ranked by the last message before, and what was made since is left out.
const nextPage = (choice: Choice) => `WITH moved AS MATERIALIZED (
    SELECT c.id, coalesce(
      (SELECT m.created_at FROM chat_messages m WHERE m.conversation_id = c.id AND m.seq IS NOT NULL AND ${wasThere('m.written_by')}
        ORDER BY m.seq DESC LIMIT 1),
      CASE WHEN ${wasThere('c.made_by')} THEN c.created_at END) AS rank
    FROM chat_conversations c
    WHERE c.tenant_id = $1 AND c.moved_by >= pg_snapshot_xmin($4::pg_snapshot) AND NOT ${wasThere('c.moved_by')} ${filterOf(choice)}
  ), ranked AS (
    (SELECT c.id, c.moved_at AS rank FROM chat_conversations c
      WHERE c.tenant_id = $1 ${filterOf(choice)} AND (c.moved_at, c.id) < ($5::timestamptz, $6::uuid) AND ${wasThere('c.moved_by')}
      ORDER BY c.moved_at DESC, c.id DESC LIMIT $7)
    UNION ALL
    (SELECT id, rank FROM moved WHERE (rank, id) < ($5::timestamptz, $6::uuid) ORDER BY rank DESC, id DESC LIMIT $7)
  )
  SELECT ${conversationColumns}, r.rank::text AS rank FROM (SELECT * FROM ranked ORDER BY rank DESC, id DESC LIMIT $7) r JOIN chat_conversations USING (id)
  ORDER BY r.rank DESC, id DESC`;

const choiceOf = ({ status, source }: Query): Choice =>
  status === undefined
    ? source === undefined
      ? 'all'
      : 'by_source'
    : source === undefined
      ? 'by_status'
      : 'by_status_and_source';

const firstPages = Object.fromEntries(choices.map((choice) => [choice, firstPage(choice)])) as Record<Choice, string>;
const nextPages = Object.fromEntries(choices.map((choice) => [choice, nextPage(choice)])) as Record<Choice, string>;

/** Lists conversations by their last message: a walk shows each once, at the place that it had when the walk began, whatever moves meanwhile. */
export async function listConversations(
  { db, cursors }: { db: Database; cursors: Cursors },
  tenantId: string,
  query: Query,
) {
  const { limit, cursor, status, source } = query;
  const choice = choiceOf(query);
  const scope = `chat-conversations:${tenantId}:${status ?? ''}:${source ?? ''}`;
  const place = cursor === undefined ? null : decodePlace(cursors.decodeText(scope, cursor));
  const rows = await db.read(tenantId, async (tx) => {
    const answer =
      place === null
        ? await tx.query<ConversationRow & { rank: string; snapshot?: Snapshot }>(
            `list_conversations_${choice}`,
            firstPages[choice],
            [tenantId, status ?? null, source ?? null, limit + 1],
          )
        : await tx.query<ConversationRow & { rank: string; snapshot?: Snapshot }>(
            `list_further_conversations_${choice}`,
            nextPages[choice],
            [tenantId, status ?? null, source ?? null, place.snapshot, place.rank, place.id, limit + 1],
          );
    return answer.rows;
  });
  const shown = rows.slice(0, limit);
  const last = shown.at(-1);
  const snapshot = place?.snapshot ?? last?.snapshot;
  return {
    data: shown.map(presentConversation),
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
