import type { Database } from '../../../platform/db/database.ts';
import { wordKinds, piecesOf } from './words-of-entry.ts';
import type { SearchTerm } from './words-of-question.ts';

/** Score of each entry by its number, from 0 to 1: the matched share of the question. */
export type EntryScores = Map<number, number>;

/** Weight of a hit by the kind of match. */
const hitWeights = { questionWord: 1, word: 0.65, questionMeaning: 0.85, meaning: 0.45, similar: 0.8 };
/** Minimum share of the trigrams of a word that an entry must contain to match the word. */
const minSimilarity = 0.5;
/** Maximum number of words that are matched by trigrams. */
const maxSimilar = 6;

/** Numbers of the entries that contain each word. */
type EntriesByWord = ReadonlyMap<string, readonly number[]>;

/** Finds entries by their words, with the rights of the workspace. @param count the number of its entries. */
export async function findEntries(
  db: Database,
  tenantId: string,
  terms: readonly SearchTerm[],
  count: number,
): Promise<EntryScores> {
  const entriesByWord = await readEntriesByWord(db, tenantId, terms.flatMap(wordsOf));
  const scores = terms.map((each) => new TermScores(each.weight, count));
  terms.forEach(({ words, meanings }, index) => {
    const termScores = scores[index] as TermScores;
    const addHits = (kind: string, texts: readonly (string | number)[], hitWeight: number) =>
      termScores.addHits(
        hitWeight,
        entriesOfAny(
          entriesByWord,
          texts.map((text) => kind + text),
        ),
      );
    addHits(wordKinds.questionWord, words, hitWeights.questionWord);
    addHits(wordKinds.word, words, hitWeights.word);
    addHits(wordKinds.questionMeaning, meanings, hitWeights.questionMeaning);
    addHits(wordKinds.meaning, meanings, hitWeights.meaning);
  });

  // A word without a match may have a typing error, here or in the entry.
  const unmatched = terms
    .map(({ similarTo }, index) => ({ similarTo, termScores: scores[index] as TermScores }))
    .filter(
      (each): each is { similarTo: string; termScores: TermScores } =>
        each.similarTo !== null && each.termScores.isEmpty,
    )
    .slice(0, maxSimilar)
    .map(({ similarTo, termScores }) => ({ termScores, pieces: piecesOf(similarTo), swapped: swapsOf(similarTo) }));
  const similar = await readEntriesByWord(
    db,
    tenantId,
    unmatched.flatMap(({ pieces, swapped }) => [...pieces.map((piece) => wordKinds.piece + piece), ...swapped]),
  );
  for (const { termScores, pieces, swapped } of unmatched) {
    termScores.addHits(hitWeights.similar, entriesOfAny(similar, swapped));
    const shares = new Map<number, number>();
    for (const piece of pieces)
      for (const number of similar.get(wordKinds.piece + piece) ?? [])
        shares.set(number, (shares.get(number) ?? 0) + 1 / pieces.length);
    for (const [number, share] of shares) if (share < minSimilarity) shares.delete(number);
    termScores.addHits(hitWeights.similar, new Set(shares.keys()), shares);
  }

  // A term without a match also counts towards the total, so that a half-matched question has a low score. It counts
  // less than a rare word, because entries may express it in other words.
  const maxTotal = scores.reduce((sum, termScores) => sum + termScores.maxScore, 0);
  const found: EntryScores = new Map();
  for (const { byEntry } of scores)
    for (const [number, each] of byEntry) found.set(number, (found.get(number) ?? 0) + each / maxTotal);
  return found;
}

/** The scores of entries for one search term. The best match of each entry counts. */
class TermScores {
  readonly byEntry = new Map<number, number>();
  readonly #weight: number;
  readonly #count: number;
  #maxScore = 0;

  constructor(weight: number, count: number) {
    this.#weight = weight;
    this.#count = count;
  }

  get isEmpty(): boolean {
    return this.byEntry.size === 0;
  }

  /** The maximum score of an entry for this term. */
  get maxScore(): number {
    return this.isEmpty ? (this.#rarity(0) * this.#weight) / 2 : this.#maxScore;
  }

  addHits(hitWeight: number, numbers: ReadonlySet<number>, shares?: ReadonlyMap<number, number>): void {
    if (numbers.size === 0) return;
    const weight = this.#rarity(numbers.size) * this.#weight;
    this.#maxScore = Math.max(this.#maxScore, weight);
    for (const number of numbers) {
      const each = weight * hitWeight * (shares?.get(number) ?? 1);
      if (each > (this.byEntry.get(number) ?? 0)) this.byEntry.set(number, each);
    }
  }

  /** Inverse document frequency: a word in few entries has more weight. */
  #rarity(hits: number): number {
    return Math.log(1 + (this.#count - hits + 0.5) / (hits + 0.5));
  }
}

const wordsOf = ({ words, meanings }: SearchTerm): string[] => [
  ...words.flatMap((word) => [wordKinds.questionWord + word, wordKinds.word + word]),
  ...meanings.flatMap((meaning) => [`${wordKinds.questionMeaning}${meaning}`, `${wordKinds.meaning}${meaning}`]),
];

function entriesOfAny(entriesByWord: EntriesByWord, words: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>();
  for (const word of words) for (const number of entriesByWord.get(word) ?? []) found.add(number);
  return found;
}

/**
 * Returns all variants of a word with two adjacent letters swapped: a common typing error that trigrams match badly.
 */
const swapsOf = (word: string): string[] =>
  Array.from(
    { length: word.length - 1 },
    (_, at) => wordKinds.word + word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2),
  );

async function readEntriesByWord(db: Database, tenantId: string, words: readonly string[]): Promise<EntriesByWord> {
  if (words.length === 0) return new Map();
  const { rows } = await db.read(tenantId, (tx) =>
    tx.query<{ word: string; numbers: string }>(
      'read_knowledge_words',
      `SELECT word, array_to_string(numbers, ' ') AS numbers FROM knowledge_words WHERE tenant_id = $1 AND word = ANY($2::text[])`,
      [tenantId, [...new Set(words)]],
    ),
  );
  return new Map(rows.map(({ word, numbers }) => [word, numbers.split(' ').map(Number)]));
}
