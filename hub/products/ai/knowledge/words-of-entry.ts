import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { guessLanguage } from '../../../platform/guess-language.ts';
import { normalizeText } from '../../../platform/normalize.ts';
import { characterPairs, clipWord, segmentsOf } from '../../../platform/words.ts';
import { languageOfLocale } from './languages.ts';
import { foldWord, meaningsOfPhrases, meaningsOfWord, meaningsWithin } from './lexicon.ts';
import type { Stemmer, Stems } from './stems.ts';

/**
 * Prefixes of the kinds of index words: words and meanings, of the whole entry or its question, and trigrams of the
 * question.
 */
export const wordKinds = { word: 'w', questionWord: 'q', meaning: 'm', questionMeaning: 'n', piece: 'g' } as const;

/** Maximum number of index words per entry. */
const maxWords = 3_000;
/** Entries, and approximate number of characters, that are analyzed in one turn of the event loop. */
const batch = 50;
const batchCharacters = 20_000;

export interface EntryText {
  question: string;
  answer: string;
  locale: string | null;
}

/** The index words of an entry. */
export interface EntryWords {
  words: string[];
  questionLength: number;
}

/** Returns the trigrams of a word. They match words with typing errors. */
export function piecesOf(word: string): string[] {
  const marked = `^${word}$`;
  const pieces = new Set<string>();
  for (let at = 0; at + 3 <= marked.length; at += 1) pieces.add(marked.slice(at, at + 3));
  return [...pieces];
}

/** A word of a text, normalized and as written in lower case. */
export interface WrittenWord {
  folded: string;
  written: string;
}

/** Cache of analyzed words, because words repeat often. */
const wordCache = new LRUCache<string, readonly WrittenWord[]>({ max: 50_000 });
const maxCachedLength = 40;

/** Returns the words of a text in scripts with spaces. */
export function writtenWords(text: string): WrittenWord[] {
  const words: WrittenWord[] = [];
  for (const [run] of normalizeText(text, 'NFC').matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    let cached = wordCache.get(run);
    if (cached === undefined) {
      const written = clipWord(run.toLowerCase());
      cached = [...segmentsOf(foldWord(run))]
        .filter(({ isSpaced }) => isSpaced)
        .map((part) => ({ folded: clipWord(part.text), written }));
      if (run.length <= maxCachedLength) wordCache.set(run, cached);
    }
    words.push(...cached);
  }
  return words;
}

const isLatin = /^[\0-\u024f\u2000-\u206f]*$/;

/** Returns the parts of a text in scripts without spaces. */
export const unspacedParts = (text: string): string[] =>
  isLatin.test(text)
    ? []
    : [...segmentsOf(foldWord(text))].filter(({ isSpaced }) => !isSpaced).map((part) => part.text);

/** Returns the language of an entry for stemming. */
export const languageOf = ({ question, answer, locale }: EntryText): string | null =>
  locale === null ? guessLanguage(`${question} ${answer.slice(0, 500)}`) : languageOfLocale(locale);

/** Analyzes entries in batches. */
export async function wordsOfEntries(stemmer: Stemmer, entries: readonly EntryText[]): Promise<EntryWords[]> {
  const found: EntryWords[] = [];
  while (found.length < entries.length) {
    const some = nextBatch(entries, found.length).map((entry) => ({ entry, language: languageOf(entry) }));
    const wordsByLanguage = new Map<string, Set<string>>();
    for (const { entry, language } of some) {
      if (language === null) continue;
      const words = wordsByLanguage.get(language) ?? new Set();
      wordsByLanguage.set(language, words);
      for (const { folded, written } of [...writtenWords(entry.question), ...writtenWords(entry.answer)])
        words.add(written).add(folded);
    }
    const stems = await stemmer.lookUp(wordsByLanguage);
    for (const { entry, language } of some) found.push(wordsOfEntry(entry, language, stems));
    await nextTurn();
  }
  return found;
}

function nextBatch(entries: readonly EntryText[], from: number): readonly EntryText[] {
  let characters = 0;
  let to = from;
  for (; to < entries.length && to < from + batch && characters < batchCharacters; to += 1) {
    const { question, answer } = entries[to] as EntryText;
    characters += question.length + answer.length;
  }
  return entries.slice(from, to);
}

function wordsOfEntry(entry: EntryText, language: string | null, stems: Stems): EntryWords {
  const words = new Set<string>();
  const add = (kind: string, word: string | number) => {
    if (words.size < maxWords) words.add(`${kind}${word}`);
  };
  const addText = (text: string, isQuestion: boolean): number => {
    const written = writtenWords(text);
    let count = 0;
    const addWord = (word: string) => {
      add(wordKinds.word, word);
      if (isQuestion) add(wordKinds.questionWord, word);
    };
    const addMeanings = (meanings: Iterable<number>) => {
      for (const meaning of meanings) {
        add(wordKinds.meaning, meaning);
        if (isQuestion) add(wordKinds.questionMeaning, meaning);
      }
    };
    for (const each of written) {
      const found = stemsOf(each, language, stems);
      addWord(each.folded);
      if (found === null) continue;
      count += 1;
      for (const stem of found) addWord(stem);
      addMeanings(meaningsOfWord(each.folded, language));
      if (isQuestion && each.folded.length >= 4) for (const piece of piecesOf(each.folded)) add(wordKinds.piece, piece);
    }
    for (const { meanings } of meaningsOfPhrases(written.map(({ folded }) => folded))) addMeanings(meanings);
    for (const part of unspacedParts(text)) {
      const characters = [...part];
      count += Math.ceil(characters.length / 2);
      for (const pair of new Set(characters.length === 1 ? characters : characterPairs(part))) addWord(pair);
      for (const { meanings } of meaningsWithin(part)) addMeanings(meanings);
    }
    return count;
  };
  // The question comes first, so that words of the answer are dropped at the limit.
  const questionLength = addText(entry.question, true);
  addText(entry.answer, false);
  return { words: [...words], questionLength };
}

/** Returns the normalized stems of a word; null for a stop word. */
export function stemsOf({ folded, written }: WrittenWord, language: string | null, stems: Stems): string[] | null {
  if (language === null) return [];
  const stem = stems.of(language, written);
  if (stem === null) return stems.hasDictionary(language) ? null : [];
  const ofFolded = stems.of(language, folded);
  const found = new Set([foldWord(stem), ...(ofFolded === null ? [] : [foldWord(ofFolded)])]);
  found.delete(folded);
  return [...found];
}
