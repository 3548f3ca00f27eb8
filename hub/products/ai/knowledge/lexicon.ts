import { readFileSync } from 'node:fs';
import { LRUCache } from 'lru-cache';
import { clipWord, foldText } from '../../../platform/words.ts';

/**
 * A lexicon of customer service: words of ten languages that have the same meaning. Without a model for embeddings it
 * matches questions with entries in other words or in another language. `lexicon.txt` describes its format.
 */

/** Normalizes a word for comparison. Arabic letters that are often exchanged become the same letter. */
export const foldWord = (text: string): string => foldText(text).replaceAll('ة', 'ه').replaceAll('ى', 'ي');

interface Meanings {
  /** Meanings of whole words. */
  whole: Map<string, Set<number>>;
  /** Meanings of word prefixes. */
  prefixes: Map<string, Set<number>>;
  /** Meanings of phrases of several words. */
  phrases: Map<string, Set<number>>;
  firstWordsOfPhrases: Set<string>;
  /** Words and prefixes of languages with compound words. */
  compounding: Set<string>;
  /** Meanings of words in scripts without spaces. */
  unspaced: Map<string, Set<number>>;
}

const languages = ['en', 'de', 'fr', 'es', 'it', 'pt', 'nl', 'ja', 'ar', 'zh'];
const compoundingLanguages = ['de', 'nl'];
const unspacedLanguages = ['ja', 'zh'];
const minPartLength = 4;

const cache = new LRUCache<string, ReadonlySet<number>>({ max: 50_000 });

let loaded: Meanings | undefined;

/** Reads the lexicon once, when it is first needed. */
function load(): Meanings {
  if (loaded !== undefined) return loaded;
  const meanings: Meanings = {
    whole: new Map(),
    prefixes: new Map(),
    phrases: new Map(),
    firstWordsOfPhrases: new Set(),
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
            // A star inside a word is treated as one at its end: only the prefix before it is compared.
            const star = written.indexOf('*');
            const prefix = star === -1 ? written : written.slice(0, star);
            add(star === -1 ? meanings.whole : meanings.prefixes, prefix, meaning);
            if (compoundingLanguages.includes(language) && prefix.length >= minPartLength)
              meanings.compounding.add(prefix);
          }
        }
      }),
    );
  for (const phrase of meanings.phrases.keys()) meanings.firstWordsOfPhrases.add(phrase.split(' ')[0] ?? '');
  loaded = meanings;
  return meanings;
}

/** Arabic prefixes that are not part of the word. */
const arabicPrefix = /^(?:وال|بال|كال|فال|لل|ال|و|ب|ل)(?=[\u0621-\u064a]{3})/u;

/**
 * Returns the meanings of a normalized word of a script with spaces.
 * In a language with compound words, or an unknown language, it includes the meanings of the parts of the word.
 */
export function meaningsOfWord(word: string, language: string | null): ReadonlySet<number> {
  const key = `${language}:${word}`;
  const known = cache.get(key);
  if (known !== undefined) return known;
  const found = findMeanings(word, language);
  cache.set(key, found);
  return found;
}

function findMeanings(word: string, language: string | null): ReadonlySet<number> {
  const found = new Set(directMeanings(word));
  const bare = word.replace(arabicPrefix, '');
  if (bare !== word) for (const meaning of directMeanings(bare)) found.add(meaning);
  if (word.length >= 2 * minPartLength && (language === null || compoundingLanguages.includes(language))) {
    const { compounding, whole, prefixes } = load();
    // The longest known part at each position.
    for (let from = 0; from + minPartLength <= word.length; from += 1)
      for (let to = Math.min(word.length, from + 16); to >= from + minPartLength; to -= 1) {
        const part = word.slice(from, to);
        if (!compounding.has(part) || (from > 0 && from < 3)) continue;
        const partMeanings = [...(to === word.length ? (whole.get(part) ?? []) : []), ...(prefixes.get(part) ?? [])];
        if (partMeanings.length === 0) continue;
        partMeanings.forEach((meaning) => found.add(meaning));
        from = to - 1;
        break;
      }
  }
  return found;
}

function directMeanings(word: string): Iterable<number> {
  const { whole, prefixes } = load();
  const found = new Set(whole.get(word));
  for (let length = Math.min(word.length, clipWord(word).length); length >= 2; length -= 1) {
    const meanings = prefixes.get(word.slice(0, length));
    if (meanings === undefined) continue;
    for (const meaning of meanings) found.add(meaning);
    break;
  }
  return found;
}

/** Returns the phrases in a text. @param words the normalized words of the text. */
export function meaningsOfPhrases(words: readonly string[]): { words: string; meanings: Set<number> }[] {
  const { phrases, firstWordsOfPhrases } = load();
  const found: { words: string; meanings: Set<number> }[] = [];
  for (let from = 0; from < words.length; from += 1) {
    if (!firstWordsOfPhrases.has(words[from] ?? '')) continue;
    for (let count = 2; count <= 4 && from + count <= words.length; count += 1) {
      const run = words.slice(from, from + count);
      // One word may be in between: "send this back".
      const phrase = [run, run.length > 2 ? run.toSpliced(1, 1) : []]
        .map((each) => each.join(' '))
        .find((each) => phrases.has(each));
      if (phrase !== undefined) found.push({ words: phrase, meanings: phrases.get(phrase) as Set<number> });
    }
  }
  return found;
}

/** Returns the known words in a normalized text of a script without spaces, the longest one at each position. */
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
