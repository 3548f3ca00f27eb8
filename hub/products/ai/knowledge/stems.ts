import { LRUCache } from 'lru-cache';
import type { Database } from '../../../platform/db/database.ts';
import { dictionaries } from './languages.ts';

/** The stems of some words. */
export interface Stems {
  /** Returns the stem; null for a stop word, or in a language without a dictionary. */
  of(language: string, word: string): string | null;
  /** Whether the language has a dictionary. */
  hasDictionary(language: string): boolean;
}

const maxCached = 50_000;
/** Words per statement. */
const batch = 5_000;

/** Finds the stems of words with the dictionaries of PostgreSQL, with a cache. */
export class Stemmer {
  readonly #db: Database;
  readonly #cache = new LRUCache<string, { stem: string | null }>({ max: maxCached });

  constructor(db: Database) {
    this.#db = db;
  }

  /** Finds stems in batches. @param words lower-case words by language. Languages without a dictionary are ignored. */
  async lookUp(words: ReadonlyMap<string, ReadonlySet<string>>): Promise<Stems> {
    const found = new Map<string, string | null>();
    const missing: { key: string; dictionary: string; word: string }[] = [];
    for (const [language, each] of words) {
      const dictionary = dictionaries[language];
      if (dictionary === undefined) continue;
      for (const word of each) {
        const key = `${language}:${word}`;
        const cached = this.#cache.get(key);
        if (cached === undefined) missing.push({ key, dictionary, word });
        else found.set(key, cached.stem);
      }
    }
    for (let from = 0; from < missing.length; from += batch) {
      const some = missing.slice(from, from + batch);
      const rows = await this.#db.systemStatement<{ stem: string | null }>(
        'stem_words',
        `SELECT (ts_lexize(dictionary::regdictionary, word))[1] AS stem FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked(dictionary, word, n) ORDER BY n`,
        [some.map(({ dictionary }) => dictionary), some.map(({ word }) => word)],
      );
      some.forEach(({ key }, index) => {
        const stem = rows[index]?.stem ?? null;
        found.set(key, stem);
        this.#cache.set(key, { stem });
      });
    }
    return {
      of: (language, word) => found.get(`${language}:${word}`) ?? null,
      hasDictionary: (language) => dictionaries[language] !== undefined,
    };
  }
}
