import type { Database } from '../../../platform/db/database.ts';
import { questionOf } from './words.ts';
import type { Term } from './words.ts';

/**
 * Finds messages by their words, newest first, with bounded work whether a word is rare or in every message.
 *
 * `@@` is not leakproof, so PostgreSQL does not look into the index of words for a role that row-level security holds
 * to its workspace: it would
 * read every message instead. So the ids are found as the system role. Each word in the index begins with its workspace
 * and so does each one asked for,
 * `tenant_id` is asked for besides, and nothing but ids comes of it: whoever shows the messages reads them as the
 * workspace.
 */

/** What is looked for: messages older than `before`, notes alone or none of them where `notes` says so. */
export interface MessageQuestion {
  terms: readonly Term[];
  before: string | undefined;
  notes: boolean | undefined;
}

const newestId = 'ffffffff-ffff-ffff-ffff-ffffffffffff';
/** How many of the newest messages are looked through: at first, and where those held some but not enough. */
const nearest = 5_000;
const further = 50_000;
/**
 * From so many hits on, a word is common: then the newest are near, and reading them all to sort them is not worth it.
 */
const commonFrom = 5_000;
/**
 * In an index, the beginning of a word is as dear as all the words that begin so; shorter ones are looked at in the
 * messages that have the others.
 */
const shortestIndexedBeginning = 3;

const kindMatches = '($4::boolean IS NULL OR (seq IS NULL) = $4)';

/** Looks through the newest messages of the hub, by primary key. */
const through = (count: number) =>
  `SELECT id FROM (SELECT id, tenant_id, words, seq FROM chat_messages WHERE id < $3 ORDER BY id DESC LIMIT ${count}) newest
   WHERE tenant_id = $1 AND words @@ $2::tsquery AND ${kindMatches} LIMIT $5`;

const byIndex = `SELECT id FROM (SELECT id, words, seq FROM chat_messages WHERE tenant_id = $1 AND words @@ $2::tsquery AND id < $3 OFFSET 0) found
   WHERE words @@ $5::tsquery AND ${kindMatches} LIMIT $6`;

// The question is put in a form that no index answers: by primary key from the newest on, until there are enough.
const throughAll = `SELECT id FROM chat_messages
   WHERE tenant_id = $1 AND (words || ''::tsvector) @@ $2::tsquery AND id < $3 AND ${kindMatches} ORDER BY id DESC LIMIT $5`;

/** The ids of at most `limit` messages that hold every term, newest first. */
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
  const near = await db.systemStatement<{ id: string }>('find_messages_near', through(nearest), [...values, limit]);
  if (near.length === limit) return idsOf(near);
  // Where it promises to be enough; a rare word is found sooner by the index.
  if (near.length * (further / nearest) >= limit) {
    const more = await db.systemStatement<{ id: string }>('find_messages_further', through(further), [
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
          commonFrom + 1,
        ]),
      ]);
      return answer.rows;
    },
    { readOnly: true },
  );
  if (found.length <= commonFrom)
    return idsOf(found)
      .toSorted((left, right) => (left < right ? 1 : -1))
      .slice(0, limit);
  return idsOf(await db.systemStatement<{ id: string }>('find_messages_everywhere', throughAll, [...values, limit]));
}

const idsOf = (rows: readonly { id: string }[]) => rows.map(({ id }) => id);
