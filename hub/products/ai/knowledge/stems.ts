import { LRUCache } from 'lru-cache';
import type { Database } from '../../../platform/db/database.ts';
import { dictionaries } from './languages.ts';

/** Stems of words in some languages. */
export interface Stems {
  /** As the language spells it; null for one of its little words, or where its words are not known. */
  of(language: string, word: string): string | null;
  /** Whether there is a dictionary for it. */
  knows(language: string): boolean;
}

const maxCached = 50_000;
/** Words of one statement. */
const batch = 5_000;

/** Brings words to their stems by the dictionaries of PostgreSQL, and remembers the last ones. */
export class Stemmer {
  readonly #db: Database;
  readonly #known = new LRUCache<string, { stem: string | null }>({ max: maxCached });

  constructor(db: Database) {
    this.#db = db;
  }

  /** Looks words up, all that are not remembered in one statement or a few. @param words lower case, by language; other languages are left out. */
  async look(words: ReadonlyMap<string, ReadonlySet<string>>): Promise<Stems> {
    const found = new Map<string, string | null>();
    const asked: { key: string; dictionary: string; word: string }[] = [];
    for (const [language, each] of words) {
      const dictionary = dictionaries[language];
      if (dictionary === undefined) continue;
      for (const word of each) {
        const key = `${language}:${word}`;
        const known = this.#known.get(key);
        if (known === undefined) asked.push({ key, dictionary, word });
        else found.set(key, known.stem);
      }
    }
    for (let from = 0; from < asked.length; from += batch) {
      const some = asked.slice(from, from + batch);
      const rows = await this.#db.systemStatement<{ stem: string | null }>(
        'stem_words',
        `SELECT (ts_lexize(dictionary::regdictionary, word))[1] AS stem FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS asked(dictionary, word, n) ORDER BY n`,
        [some.map(({ dictionary }) => dictionary), some.map(({ word }) => word)],
      );
      some.forEach(({ key }, index) => {
        const stem = rows[index]?.stem ?? null;
        found.set(key, stem);
        this.#known.set(key, { stem });
      });
    }
    return {
      of: (language, word) => found.get(`${language}:${word}`) ?? null,
      knows: (language) => dictionaries[language] !== undefined,
    };
  }
}
