import { createHash } from 'node:crypto';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { z } from 'zod';
import type { knowledgeBase as resource } from '../../../../shared/contract/ai/knowledge.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { lockKnowledge } from './lock-knowledge.ts';
import type { LockedKnowledge } from './lock-knowledge.ts';
import type { Stemmer } from './stems.ts';
import { wordsOfEntries } from './words-of-entry.ts';
import type { EntryWords } from './words-of-entry.ts';

export type PutBody = z.output<typeof resource.putKnowledge.body>;
type Entry = PutBody['entries'][number];

export interface Change {
  tenantId: string;
  body: PutBody;
  /** The expected current versions (If-Match); null for any version. */
  expected: readonly number[] | null;
  actor: string;
}

/**
 * Version of the word analysis. Increase it when the analysis changes, so that the next update analyzes all entries.
 */
const analysisVersion = 1;
/** Rows per statement. */
const batch = 500;
const wordBatch = 5_000;
/** Entries whose words (at most 3,000 each) are collected in one turn of the event loop. */
const entriesPerTurn = 10;
/** Maximum number of attempts of an update when other updates commit first. */
const maxAttempts = 5;

/**
 * Replaces the knowledge of a workspace by `body`, in one transaction that writes only the differences.
 * @throws AppError `precondition_failed`.
 */
export async function changeKnowledge(db: Database, stemmer: Stemmer, change: Change): Promise<void> {
  const { tenantId, body } = change;
  const hashes = new Map(body.entries.map((entry) => [entry.id, hashOf(entry)]));
  const prepared = new Map<string, EntryWords>();
  for (let attempt = 1; ; attempt += 1) {
    const before = await db.read(tenantId, async (tx) => {
      const [base, known] = await Promise.all([readBase(tx, tenantId), readHashes(tx, tenantId)]);
      return { version: base?.version ?? 0, known };
    });
    const written = body.entries.filter(({ id }) => before.known.get(id) !== hashes.get(id));
    const unprepared = written.filter(({ id }) => !prepared.has(id));
    // The analysis runs before the transaction, to keep the lock short.
    const words = await wordsOfEntries(stemmer, unprepared.map(withLocale));
    unprepared.forEach(({ id }, index) => prepared.set(id, words[index] as EntryWords));
    const removed = [...before.known.keys()].filter((id) => !hashes.has(id));
    const isWritten = await db.workspace(tenantId, (tx) =>
      write(tx, change, { version: before.version, written, removed, hashes, prepared, known: before.known }),
    );
    if (isWritten) return;
    if (attempt === maxAttempts)
      throw new AppError(
        'unavailable',
        'Other updates are changing the knowledge at the same time; try again shortly.',
        {
          retryAfterSeconds: 1,
        },
      );
  }
}

interface Difference {
  /** The version that `body` was compared with. */
  version: number;
  written: readonly Entry[];
  removed: readonly string[];
  hashes: ReadonlyMap<string, string>;
  prepared: ReadonlyMap<string, EntryWords>;
  known: ReadonlyMap<string, string>;
}

/** Writes a difference. Returns false when the knowledge has another version by now. */
async function write(
  tx: Transaction,
  { tenantId, body, expected, actor }: Change,
  { version: comparedVersion, written, removed, hashes, prepared, known }: Difference,
): Promise<boolean> {
  await tx.query('make_knowledge_base', 'INSERT INTO knowledge_bases (tenant_id) VALUES ($1) ON CONFLICT DO NOTHING', [
    tenantId,
  ]);
  const base = (await lockKnowledge(tx, tenantId)) as LockedKnowledge;
  if (expected !== null && !expected.includes(base.version)) throw versionConflict(base.version);
  if (base.version !== comparedVersion) return false;
  const termsChanged = base.terms !== body.terms;
  if (written.length === 0 && removed.length === 0 && !termsChanged) return true;
  const deleted = [...removed, ...written.filter(({ id }) => known.has(id)).map(({ id }) => id)];
  if (deleted.length > 0) await deleteEntries(tx, tenantId, deleted, deleted.length === known.size);
  for (let from = 0; from < written.length; from += batch)
    await insertEntries(tx, tenantId, base.lastNumber + from, written.slice(from, from + batch), hashes, prepared);
  await addWords(tx, tenantId, base.lastNumber, written, prepared);
  const version = base.version + 1;
  await tx.query(
    'change_knowledge_base',
    `UPDATE knowledge_bases SET version = $2, terms = $3, last_number = $4, entries = $7, vectors_version = vectors_version + CASE WHEN $5 THEN 1 ELSE 0 END,
       vectors_model = CASE WHEN $6 THEN NULL ELSE vectors_model END, updated_at = now() WHERE tenant_id = $1`,
    [
      tenantId,
      version,
      body.terms,
      base.lastNumber + written.length,
      written.length + removed.length > 0,
      written.length > 0,
      body.entries.length,
    ],
  );
  await recordAudit(tx, {
    tenantId,
    actor,
    action: 'knowledge.updated',
    targetType: 'knowledge',
    targetId: tenantId,
    details: { version, entries: body.entries.length, written: written.length, removed: removed.length, termsChanged },
  });
  return true;
}

async function insertEntries(
  tx: Transaction,
  tenantId: string,
  lastNumber: number,
  entries: readonly Entry[],
  hashes: ReadonlyMap<string, string>,
  prepared: ReadonlyMap<string, EntryWords>,
): Promise<void> {
  const wordsOf = ({ id }: Entry) => prepared.get(id) as EntryWords;
  await tx.query(
    'insert_knowledge',
    `INSERT INTO knowledge_entries (tenant_id, number, id, question, answer, url, locale, hash, words, question_length)
     SELECT $1, $2 + n, id, question, answer, url, locale, hash, string_to_array(words, ' '), question_length
     FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::text[], $10::int[])
       WITH ORDINALITY AS given(id, question, answer, url, locale, hash, words, question_length, n)`,
    [
      tenantId,
      lastNumber,
      entries.map(({ id }) => id),
      entries.map(({ question }) => question),
      entries.map(({ answer }) => answer),
      entries.map(({ url }) => url ?? null),
      entries.map(({ locale }) => locale ?? null),
      entries.map(({ id }) => hashes.get(id)),
      entries.map((entry) => wordsOf(entry).words.join(' ')),
      entries.map((entry) => wordsOf(entry).questionLength),
    ],
  );
}

/** Deletes entries, and removes their numbers from the word index. */
async function deleteEntries(tx: Transaction, tenantId: string, ids: readonly string[], isAll: boolean): Promise<void> {
  if (isAll) await tx.query('delete_knowledge_words', 'DELETE FROM knowledge_words WHERE tenant_id = $1', [tenantId]);
  const { rows } = await tx.query<{ number: number; words: string[] }>(
    'delete_knowledge',
    'DELETE FROM knowledge_entries WHERE tenant_id = $1 AND id = ANY($2::text[]) RETURNING number, words',
    [tenantId, ids],
  );
  if (isAll) return;
  const numbers = rows.map(({ number }) => number);
  const words = [...new Set(rows.flatMap((row) => row.words))].toSorted();
  await tx.query(
    'remove_knowledge_words',
    `UPDATE knowledge_words SET numbers = ARRAY(SELECT number FROM unnest(numbers) AS number WHERE number <> ALL($3::int[]))
     WHERE tenant_id = $1 AND word = ANY($2::text[])`,
    [tenantId, words, numbers],
  );
  await tx.query(
    'delete_empty_knowledge_words',
    `DELETE FROM knowledge_words WHERE tenant_id = $1 AND word = ANY($2::text[]) AND numbers = '{}'`,
    [tenantId, words],
  );
}

/** Adds the numbers of the written entries to the word index. */
async function addWords(
  tx: Transaction,
  tenantId: string,
  lastNumber: number,
  entries: readonly Entry[],
  prepared: ReadonlyMap<string, EntryWords>,
): Promise<void> {
  const numbers = new Map<string, number[]>();
  for (const [index, { id }] of entries.entries()) {
    if (index % entriesPerTurn === 0) await nextTurn();
    for (const word of (prepared.get(id) as EntryWords).words) {
      const known = numbers.get(word);
      if (known === undefined) numbers.set(word, [lastNumber + index + 1]);
      else known.push(lastNumber + index + 1);
    }
  }
  const words = [...numbers.keys()].toSorted();
  for (let from = 0; from < words.length; from += wordBatch) {
    const some = words.slice(from, from + wordBatch);
    await tx.query(
      'add_knowledge_words',
      `INSERT INTO knowledge_words (tenant_id, word, numbers) SELECT $1, word, string_to_array(numbers, ' ')::int[] FROM unnest($2::text[], $3::text[]) AS given(word, numbers)
       ON CONFLICT (tenant_id, word) DO UPDATE SET numbers = knowledge_words.numbers || excluded.numbers`,
      [tenantId, some, some.map((word) => numbers.get(word)?.join(' '))],
    );
  }
}

const withLocale = ({ question, answer, locale }: Entry) => ({ question, answer, locale: locale ?? null });

const hashOf = ({ question, answer, url, locale }: Entry): string =>
  createHash('sha256')
    .update(JSON.stringify([analysisVersion, question, answer, url ?? null, locale ?? null]))
    .digest('base64url');

async function readBase(tx: Transaction, tenantId: string): Promise<{ version: number } | undefined> {
  const { rows } = await tx.query<{ version: number }>(
    'read_knowledge_version',
    'SELECT version FROM knowledge_bases WHERE tenant_id = $1',
    [tenantId],
  );
  return rows[0];
}

async function readHashes(tx: Transaction, tenantId: string): Promise<Map<string, string>> {
  const { rows } = await tx.query<{ id: string; hash: string }>(
    'read_knowledge_hashes',
    'SELECT id, hash FROM knowledge_entries WHERE tenant_id = $1',
    [tenantId],
  );
  return new Map(rows.map(({ id, hash }) => [id, hash]));
}

function versionConflict(version: number): AppError {
  return new AppError(
    'precondition_failed',
    `The knowledge was changed and is now at version ${version}; read it, and update that version.`,
    {
      headers: { ETag: `"${version}"` },
      details: [{ path: 'headers.if-match', message: `the current version is ${version}` }],
    },
  );
}
