import type { Database } from '../../../platform/db/database.ts';
import { kinds, piecesOf } from './words-of-entry.ts';
import type { Asked } from './words-of-question.ts';

/** How much of what is asked for an entry holds: by its number, from 0 to 1. */
export type Found = Map<number, number>;

/** What a hit counts, by where and how it was made. */
const worth = { questionWord: 1, word: 0.65, questionMeaning: 0.85, meaning: 0.45, similar: 0.8 };
/** Of the pieces of a word, an entry must hold this share to be said to hold the word. */
const leastSimilar = 0.5;
/** Words that are looked for by their pieces. */
const maxSimilar = 6;

/** Which entries hold each word. */
type Holders = ReadonlyMap<string, readonly number[]>;

/** Finds entries by their words, as the workspace. @param count of all its entries. */
export async function findEntries(
  db: Database,
  tenantId: string,
  asked: readonly Asked[],
  count: number,
): Promise<Found> {
  const holders = await readHolders(db, tenantId, asked.flatMap(wordsOf));
  const places = asked.map((each) => new Place(each.weight, count));
  asked.forEach(({ words, meanings }, index) => {
    const place = places[index] as Place;
    const look = (kind: string, texts: readonly (string | number)[], worthOfHit: number) =>
      place.raise(
        worthOfHit,
        holdersOfAny(
          holders,
          texts.map((text) => kind + text),
        ),
      );
    look(kinds.questionWord, words, worth.questionWord);
    look(kinds.word, words, worth.word);
    look(kinds.questionMeaning, meanings, worth.questionMeaning);
    look(kinds.meaning, meanings, worth.meaning);
  });

  // What no entry says may be written a little otherwise there, or here.
  const strange = asked
    .map(({ similarTo }, index) => ({ similarTo, place: places[index] as Place }))
    .filter((each): each is { similarTo: string; place: Place } => each.similarTo !== null && each.place.isEmpty)
    .slice(0, maxSimilar)
    .map(({ similarTo, place }) => ({ place, pieces: piecesOf(similarTo), swapped: swapsOf(similarTo) }));
  const similar = await readHolders(
    db,
    tenantId,
    strange.flatMap(({ pieces, swapped }) => [...pieces.map((piece) => kinds.piece + piece), ...swapped]),
  );
  for (const { place, pieces, swapped } of strange) {
    place.raise(worth.similar, holdersOfAny(similar, swapped));
    const shares = new Map<number, number>();
    for (const piece of pieces)
      for (const number of similar.get(kinds.piece + piece) ?? [])
        shares.set(number, (shares.get(number) ?? 0) + 1 / pieces.length);
    for (const [number, share] of shares) if (share < leastSimilar) shares.delete(number);
    place.raise(worth.similar, new Set(shares.keys()), shares);
  }

  // What is nowhere counts, too: a question of which the half is found is not found. Less than a rare word, since it may be said in other words.
  const whole = places.reduce((sum, place) => sum + place.most, 0);
  const found: Found = new Map();
  for (const { held } of places)
    for (const [number, each] of held) found.set(number, (found.get(number) ?? 0) + each / whole);
  return found;
}

/** How much of what is asked for in one place each entry holds: the best of the ways in which it is held. */
class Place {
  readonly held = new Map<number, number>();
  readonly #weight: number;
  readonly #count: number;
  #most = 0;

  constructor(weight: number, count: number) {
    this.#weight = weight;
    this.#count = count;
  }

  get isEmpty(): boolean {
    return this.held.size === 0;
  }

  /** What an entry can hold of it at most. */
  get most(): number {
    return this.isEmpty ? (this.#rarity(0) * this.#weight) / 2 : this.#most;
  }

  raise(worthOfHit: number, numbers: ReadonlySet<number>, shares?: ReadonlyMap<number, number>): void {
    if (numbers.size === 0) return;
    const weight = this.#rarity(numbers.size) * this.#weight;
    this.#most = Math.max(this.#most, weight);
    for (const number of numbers) {
      const each = weight * worthOfHit * (shares?.get(number) ?? 1);
      if (each > (this.held.get(number) ?? 0)) this.held.set(number, each);
    }
  }

  /** What is in few entries says more. */
  #rarity(hits: number): number {
    return Math.log(1 + (this.#count - hits + 0.5) / (hits + 0.5));
  }
}

const wordsOf = ({ words, meanings }: Asked): string[] => [
  ...words.flatMap((word) => [kinds.questionWord + word, kinds.word + word]),
  ...meanings.flatMap((meaning) => [`${kinds.questionMeaning}${meaning}`, `${kinds.meaning}${meaning}`]),
];

function holdersOfAny(holders: Holders, words: readonly string[]): ReadonlySet<number> {
  const found = new Set<number>();
  for (const word of words) for (const number of holders.get(word) ?? []) found.add(number);
  return found;
}

/** A word with two neighbouring letters the other way round, each in turn: what pieces find least, and people write most. */
const swapsOf = (word: string): string[] =>
  Array.from(
    { length: word.length - 1 },
    (_, at) => kinds.word + word.slice(0, at) + word.charAt(at + 1) + word.charAt(at) + word.slice(at + 2),
  );

async function readHolders(db: Database, tenantId: string, words: readonly string[]): Promise<Holders> {
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
