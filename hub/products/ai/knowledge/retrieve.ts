import type { Database } from '../../../platform/db/database.ts';
import { findEntries } from './find-entries.ts';
import { languageOfLocale } from './languages.ts';
import type { Stemmer } from './stems.ts';
import { wordsOfQuestion } from './words-of-question.ts';

/** What was found for a question. */
export interface Passage {
  id: string;
  question: string;
  answer: string;
  url: string | null;
  locale: string | null;
  /** From 0 to 1: how much of what was asked for is found in it. */
  score: number;
}

/** How near entries are to a question by what a model makes of both. */
export interface Nearness {
  /** The nearest, with how much nearer than others each is, from 0 to 1; null where nothing can be said. */
  nearest(tenantId: string, question: string, count: number, signal: AbortSignal): Promise<Map<number, number> | null>;
}

export interface RetrieveOptions {
  limit: number;
  locale?: string | undefined;
  signal?: AbortSignal | undefined;
}

interface Row extends Omit<Passage, 'score'> {
  number: number;
  question_length: number;
}

/** Entries that are looked at more closely. */
const candidates = 40;

/** What it counts that a model finds an entry near, beside the words: squared, so that what stands out little counts little. */
const nearWorth = 1.5;

/** Finds what answers a question, best first. */
export async function retrieve(
  { db, stemmer, nearness }: { db: Database; stemmer: Stemmer; nearness: Nearness | null },
  tenantId: string,
  question: string,
  { limit, locale, signal = new AbortController().signal }: RetrieveOptions,
): Promise<Passage[]> {
  const byWords = async () => {
    const [count, asked] = await Promise.all([countEntries(db, tenantId), wordsOfQuestion(stemmer, question, locale)]);
    return { ...asked, found: await findEntries(db, tenantId, asked.asked, count) };
  };
  const [{ asked, language, found }, nearest] = await Promise.all([
    byWords(),
    nearness?.nearest(tenantId, question, candidates, signal) ?? null,
  ]);
  const best = [...found].toSorted(([, left], [, right]) => right - left).slice(0, candidates);
  const numbers = [...new Set([...best.map(([number]) => number), ...(nearest?.keys() ?? [])])];
  if (numbers.length === 0) return [];
  const rows = await readEntries(db, tenantId, numbers);
  const wanted = locale === undefined ? language : languageOfLocale(locale);
  const rated = rows.map((row) => {
    const held = found.get(row.number) ?? 0;
    // Of two that hold as much, the one that asks for little else; then the one in the language of the question.
    const length = asked.length / (asked.length + row.question_length);
    const own = row.locale !== null && languageOfLocale(row.locale) === wanted ? 1.05 : 1;
    const near = nearest?.get(row.number) ?? 0;
    return { row, worth: held * (0.5 + 0.4 * length) * own + nearWorth * near ** 2, score: Math.max(held, near) };
  });
  return rated
    .toSorted((left, right) => right.worth - left.worth || left.row.number - right.row.number)
    .slice(0, limit)
    .map(({ row: { number: _number, question_length: _length, ...entry }, score }) => ({
      ...entry,
      score: Math.round(Math.min(1, score) * 1000) / 1000,
    }));
}

async function countEntries(db: Database, tenantId: string): Promise<number> {
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<{ entries: number }>('count_knowledge', 'SELECT entries FROM knowledge_bases WHERE tenant_id = $1', [
      tenantId,
    ]),
  );
  return rows[0]?.entries ?? 0;
}

async function readEntries(db: Database, tenantId: string, numbers: readonly number[]): Promise<Row[]> {
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<Row>(
      'read_found_knowledge',
      `SELECT id, number, question, answer, url, locale, question_length FROM knowledge_entries WHERE tenant_id = $1 AND number = ANY($2::int[])`,
      [tenantId, numbers],
    ),
  );
  return rows;
}
