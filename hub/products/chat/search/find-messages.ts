import type { Database } from '../../../platform/db/database.ts';
import { questionOf } from './words.ts';
import type { Term } from './words.ts';

/**
 * Finds messages by their words, newest first. The work is bounded for rare and for frequent words.
 *
 * `@@` is not leakproof, so PostgreSQL does not use the word index under row-level security and would read every
 * message.
 * The ids are therefore found with the system role. Each indexed and each queried word has the workspace prefix, the
 * statement also filters by `tenant_id`, and it returns only ids. The caller reads the messages with the workspace's
 * role.
 */

/** A message search. `before` is an exclusive upper id. `notes` selects only notes or only messages. */
export interface MessageQuestion {
  terms: readonly Term[];
  before: string | undefined;
  notes: boolean | undefined;
}

const newestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** Newest messages to scan: at first, and when the first scan found some hits but not enough. */
const nearScanSize = 5_000;
const wideScanSize = 50_000;
/**
 * A word with at least this many hits is frequent. Scanning the newest messages is then cheaper than sorting all hits.
 */
const frequentWordHits = 5_000;
/**
 * The cost of a prefix in the index grows with the words that match it. Shorter prefixes are checked only in the
 * messages that match the other terms.
 */
const shortestIndexedBeginning = 3;

const kindMatches = '($4::boolean IS NULL OR (seq IS NULL) = $4)';

/** Scans the newest messages by primary key. */
const scanNewest = (count: number) =>
  `SELECT id FROM (SELECT id, tenant_id, words, seq FROM chat_messages WHERE id < $3 ORDER BY id DESC LIMIT ${count}) newest
   WHERE tenant_id = $1 AND words @@ $2::tsquery AND ${kindMatches} LIMIT $5`;

const byIndex = `SELECT id FROM (SELECT id, words, seq FROM chat_messages WHERE tenant_id = $1 AND words @@ $2::tsquery AND id < $3 OFFSET 0) found
   WHERE words @@ $5::tsquery AND ${kindMatches} LIMIT $6`;

// This form of the condition cannot use the word index, so the scan runs by primary key until it has enough hits.
const throughAll = `SELECT id FROM chat_messages
   WHERE tenant_id = $1 AND (words || ''::tsvector) @@ $2::tsquery AND id < $3 AND ${kindMatches} ORDER BY id DESC LIMIT $5`;

/** The ids of at most `limit` messages that contain every term, newest first. */
export async function findMessages(
  db: Database,
  tenantId: string,
  { terms, before = newestId, notes }: MessageQuestion,
  limit: number,
): Promise<string[]> {
  const options = { notesOnly: notes === true };
  const question = questionOf(tenantId, terms, options);
  if (question === null) return [];
  const values = [tenantId, question, before, notes ?? null];
  const near = await db.systemStatement<{ id: string }>('find_messages_near', scanNewest(nearScanSize), [
    ...values,
    limit,
  ]);
  if (near.length === limit) return idsOf(near);
  // A larger scan only pays off for a frequent word. The index finds a rare word faster.
  if (near.length * (wideScanSize / nearScanSize) >= limit) {
    const more = await db.systemStatement<{ id: string }>('find_messages_further', scanNewest(wideScanSize), [
      ...values,
      limit,
    ]);
    if (more.length === limit) return idsOf(more);
  }
  const indexed = terms.filter(({ kind, text }) => kind !== 'beginning' || text.length >= shortestIndexedBeginning);
  const found = await db.system(
    async (tx) => {
      const [, answer] = await Promise.all([
        tx.query(
          'find_by_bitmaps',
          `SELECT set_config('enable_seqscan', 'off', true), set_config('enable_indexscan', 'off', true)`,
          [],
        ),
        tx.query<{ id: string }>('find_messages_by_index', byIndex, [
          tenantId,
          questionOf(tenantId, indexed, options) ?? question,
          before,
          notes ?? null,
          question,
          frequentWordHits + 1,
        ]),
      ]);
      return answer.rows;
    },
    { readOnly: true },
  );
  if (found.length <= frequentWordHits)
    return idsOf(found)
      .toSorted((left, right) => (left < right ? 1 : -1))
      .slice(0, limit);
  // Not `systemStatement`: a scan of all messages would delay the few connections that renew leases and sign users in.
  const everywhere = await db.system(
    (tx) => tx.query<{ id: string }>('find_messages_everywhere', throughAll, [...values, limit]),
    { readOnly: true },
  );
  return idsOf(everywhere.rows);
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
