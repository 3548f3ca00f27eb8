import type { Database } from '../../../platform/db/database.ts';
import { findEntries } from './find-entries.ts';
import { languageOfLocale } from './languages.ts';
import type { Stemmer } from './stems.ts';
import { wordsOfQuestion } from './words-of-question.ts';

/** An entry that was found for a question. */
export interface Passage {
  id: string;
  question: string;
  answer: string;
  url: string | null;
  locale: string | null;
  /** The matched share of the question, from 0 to 1. */
  score: number;
}

/** Finds entries by the vectors of a model for embeddings. */
export interface VectorSearch {
  /**
   * Returns the nearest entries with their similarity above the average, from 0 to 1; null when it is not available.
   */
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

/** Maximum number of entries that are ranked in detail. */
const maxCandidates = 40;

/**
 * Weight of the squared vector similarity relative to the word score. The square reduces the weight of weak matches.
 */
const vectorWeight = 1.5;

/** Finds the entries that answer a question, best first. */
export async function retrieve(
  { db, stemmer, vectorSearch }: { db: Database; stemmer: Stemmer; vectorSearch: VectorSearch | null },
  tenantId: string,
  question: string,
  { limit, locale, signal = new AbortController().signal }: RetrieveOptions,
): Promise<Passage[]> {
  const byWords = async () => {
    const [count, analyzed] = await Promise.all([
      countEntries(db, tenantId),
      wordsOfQuestion(stemmer, question, locale),
    ]);
    return { ...analyzed, found: await findEntries(db, tenantId, analyzed.terms, count) };
  };
  const [{ terms, language, found }, nearest] = await Promise.all([
    byWords(),
    vectorSearch?.nearest(tenantId, question, maxCandidates, signal) ?? null,
  ]);
  const best = [...found].toSorted(([, left], [, right]) => right - left).slice(0, maxCandidates);
  const numbers = [...new Set([...best.map(([number]) => number), ...(nearest?.keys() ?? [])])];
  if (numbers.length === 0) return [];
  const rows = await readEntries(db, tenantId, numbers);
  const questionLanguage = locale === undefined ? language : languageOfLocale(locale);
  const rated = rows.map((row) => {
    const wordScore = found.get(row.number) ?? 0;
    // For equal word scores, entries with a shorter question and entries in the language of the question rank higher.
    const length = terms.length / (terms.length + row.question_length);
    const languageFactor = row.locale !== null && languageOfLocale(row.locale) === questionLanguage ? 1.05 : 1;
    const nearScore = nearest?.get(row.number) ?? 0;
    return {
      row,
      rank: wordScore * (0.5 + 0.4 * length) * languageFactor + vectorWeight * nearScore ** 2,
      score: Math.max(wordScore, nearScore),
    };
  });
  return rated
    .toSorted((left, right) => right.rank - left.rank || left.row.number - right.row.number)
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
