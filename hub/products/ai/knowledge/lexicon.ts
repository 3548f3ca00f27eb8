import { readFileSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { clipWord, foldText } from '../../../platform/words.ts';

/**
 * A lexicon of customer service: which words of ten languages mean the same. It joins a question to entries that say it in other words or in another language,
 * where no model does. `lexicon.txt` holds it and says how it is written.
 */

/** As words of knowledge are compared; of Arabic letters that are written for each other, one. */
export const foldWord = (text: string): string => foldText(text).replaceAll('ة', 'ه').replaceAll('ى', 'ي');

interface Meanings {
  /** Of whole words. */
  whole: Map<string, Set<number>>;
  /** Of beginnings of words. */
  beginnings: Map<string, Set<number>>;
  /** Of several words in a row. */
  phrases: Map<string, Set<number>>;
  beginningsOfPhrases: Set<string>;
  /** Of beginnings and words of languages that write several as one. */
  compounding: Set<string>;
  /** Of texts in scripts without spaces. */
  unspaced: Map<string, Set<number>>;
}

const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'ja', 'ar', 'zh'];
const compoundingLanguages = ['de', 'nl'];
const unspacedLanguages = ['ja', 'zh'];
const shortestPart = 4;

const remembered = new LRUCache<string, ReadonlySet<number>>({ max: 50_000 });

let loaded: Meanings | undefined;

/** Reads the lexicon once, when it is first needed. */
function load(): Meanings {
  if (loaded !== undefined) return loaded;
  const meanings: Meanings = {
    whole: new Map(),
    beginnings: new Map(),
    phrases: new Map(),
    beginningsOfPhrases: new Set(),
    compounding: new Set(),
    unspaced: new Map(),
  };
  const add = (map: Map<string, Set<number>>, word: string, meaning: number) =>
    map.set(word, (map.get(word) ?? new Set()).add(meaning));
  const lines = readFileSync(new URL('lexicon.txt', import.meta.url), 'utf8').split('\n');
  lines
    .filter((line) => line !== '' && !line.startsWith('#'))
    .forEach((line, meaning) =>
      line.split('|').forEach((column, at) => {
        const language = languages[at] ?? '';
        for (const written of column.split(',').map((word) => foldWord(word.trim()))) {
          if (written === '') continue;
          const word = written.replaceAll('*', '');
          if (unspacedLanguages.includes(language)) add(meanings.unspaced, word, meaning);
          else if (/[\s-]/.test(written)) add(meanings.phrases, word.replaceAll(/[\s-]+/g, ' '), meaning);
          else {
            // A star within a word stands for little: what is before it is enough.
            const star = written.indexOf('*');
            const beginning = star === -1 ? written : written.slice(0, star);
            add(star === -1 ? meanings.whole : meanings.beginnings, beginning, meaning);
            if (compoundingLanguages.includes(language) && beginning.length >= shortestPart)
              meanings.compounding.add(beginning);
          }
        }
      }),
    );
  for (const phrase of meanings.phrases.keys()) meanings.beginningsOfPhrases.add(phrase.split(' ')[0] ?? '');
  loaded = meanings;
  return meanings;
}

/** What stands before Arabic words without being of them. */
const arabicBeginning = /^(?:وال|بال|كال|فال|لل|ال|و|ب|ل)(?=[\u0621-\u064a]{3})/u;

/** What a folded word of a script with spaces means; in a language that writes several as one, or one that is not known, of those that it is put together of, too. */
export function meaningsOfWord(word: string, language: string | null): ReadonlySet<number> {
  const key = `${language}:${word}`;
  const known = remembered.get(key);
  if (known !== undefined) return known;
  const found = findMeanings(word, language);
  remembered.set(key, found);
  return found;
}

function findMeanings(word: string, language: string | null): ReadonlySet<number> {
  const found = new Set(directMeanings(word));
  const bare = word.replace(arabicBeginning, '');
  if (bare !== word) for (const meaning of directMeanings(bare)) found.add(meaning);
  if (word.length >= 2 * shortestPart && (language === null || compoundingLanguages.includes(language))) {
    const { compounding, whole, beginnings } = load();
    // From each place on, the longest part that is known.
    for (let from = 0; from + shortestPart <= word.length; from += 1)
      for (let to = Math.min(word.length, from + 16); to >= from + shortestPart; to -= 1) {
        const part = word.slice(from, to);
        if (!compounding.has(part) || (from > 0 && from < 3)) continue;
        const meant = [...(to === word.length ? (whole.get(part) ?? []) : []), ...(beginnings.get(part) ?? [])];
        if (meant.length === 0) continue;
        meant.forEach((meaning) => found.add(meaning));
        from = to - 1;
        break;
      }
  }
  return found;
}

function directMeanings(word: string): Iterable<number> {
  const { whole, beginnings } = load();
  const found = new Set(whole.get(word));
  for (let length = Math.min(word.length, clipWord(word).length); length >= 2; length -= 1) {
    const meanings = beginnings.get(word.slice(0, length));
    if (meanings === undefined) continue;
    for (const meaning of meanings) found.add(meaning);
    break;
  }
  return found;
}

/** Phrases of a text, which is given as its folded words. */
export function meaningsOfPhrases(words: readonly string[]): { words: string; meanings: Set<number> }[] {
  const { phrases, beginningsOfPhrases } = load();
  const found: { words: string; meanings: Set<number> }[] = [];
  for (let from = 0; from < words.length; from += 1) {
    if (!beginningsOfPhrases.has(words[from] ?? '')) continue;
    for (let count = 2; count <= 4 && from + count <= words.length; count += 1) {
      const run = words.slice(from, from + count);
      // A word may stand between: "send this back".
      const phrase = [run, run.length > 2 ? run.toSpliced(1, 1) : []]
        .map((each) => each.join(' '))
        .find((each) => phrases.has(each));
      if (phrase !== undefined) found.push({ words: phrase, meanings: phrases.get(phrase) as Set<number> });
    }
  }
  return found;
}

/** Words within a folded text of a script without spaces, the longest at each place. */
export function meaningsWithin(text: string): { word: string; at: number; meanings: Set<number> }[] {
  const { unspaced } = load();
  const found: { word: string; at: number; meanings: Set<number> }[] = [];
  for (let at = 0; at < text.length; at += 1)
    for (let length = Math.min(8, text.length - at); length >= 1; length -= 1) {
      const word = text.slice(at, at + length);
      const meanings = unspaced.get(word);
      if (meanings === undefined) continue;
      found.push({ word, at, meanings });
      at += length - 1;
      break;
    }
  return found;
}
