import { setImmediate as nextTurn } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import { guessLanguage } from '../../../platform/guess-language.ts';
import { normalizeText } from '../../../platform/normalize.ts';
import { characterPairs, clipWord, segmentsOf } from '../../../platform/words.ts';
import { languageOfLocale } from './languages.ts';
import { foldWord, meaningsOfPhrases, meaningsOfWord, meaningsWithin } from './lexicon.ts';
import type { Stemmer, Stems } from './stems.ts';

/** Kinds of words in the index: of the whole entry and of its question alone, as written and by what they mean; pieces of the words of its question. */
export const kinds = { word: 'w', questionWord: 'q', meaning: 'm', questionMeaning: 'n', piece: 'g' } as const;

/** More words of one entry are left out. */
const maxWords = 3_000;
/** Entries that are taken apart in one turn of the event loop, and about how many characters of them. */
const batch = 50;
const batchCharacters = 20_000;

export interface EntryText {
  question: string;
  answer: string;
  locale: string | null;
}

/** What is kept of an entry to find it by. */
export interface EntryWords {
  words: string[];
  questionLength: number;
}

/** Pieces of three characters, by which a word is found that is written a little otherwise. */
export function piecesOf(word: string): string[] {
  const marked = `^${word}$`;
  const pieces = new Set<string>();
  for (let at = 0; at + 3 <= marked.length; at += 1) pieces.add(marked.slice(at, at + 3));
  return [...pieces];
}

/** A word of a text: folded, and in lower case as it was written. */
export interface WrittenWord {
  folded: string;
  written: string;
}

/** The same words come again and again. */
const runs = new LRUCache<string, readonly WrittenWord[]>({ max: 50_000 });
const longestRemembered = 40;

/** The words of a text that are set apart by spaces. */
export function writtenWords(text: string): WrittenWord[] {
  const words: WrittenWord[] = [];
  for (const [run] of normalizeText(text, 'NFC').matchAll(/[\p{L}\p{M}\p{N}]+/gu)) {
    let known = runs.get(run);
    if (known === undefined) {
      const written = clipWord(run.toLowerCase());
      known = [...segmentsOf(foldWord(run))]
        .filter(({ isSpaced }) => isSpaced)
        .map((part) => ({ folded: clipWord(part.text), written }));
      if (run.length <= longestRemembered) runs.set(run, known);
    }
    words.push(...known);
  }
  return words;
}

const isLatin = /^[\0-\u024f\u2000-\u206f]*$/;

/** The parts of a text in scripts without spaces. */
export const unspacedParts = (text: string): string[] =>
  isLatin.test(text)
    ? []
    : [...segmentsOf(foldWord(text))].filter(({ isSpaced }) => !isSpaced).map((part) => part.text);

/** The language of an entry, for its stems. */
export const languageOf = ({ question, answer, locale }: EntryText): string | null =>
  locale === null ? guessLanguage(`${question} ${answer.slice(0, 500)}`) : languageOfLocale(locale);

/** Takes entries apart, some at a time. */
export async function wordsOfEntries(stemmer: Stemmer, entries: readonly EntryText[]): Promise<EntryWords[]> {
  const found: EntryWords[] = [];
  while (found.length < entries.length) {
    const some = nextBatch(entries, found.length).map((entry) => ({ entry, language: languageOf(entry) }));
    const asked = new Map<string, Set<string>>();
    for (const { entry, language } of some) {
      if (language === null) continue;
      const words = asked.get(language) ?? new Set();
      asked.set(language, words);
      for (const { folded, written } of [...writtenWords(entry.question), ...writtenWords(entry.answer)])
        words.add(written).add(folded);
    }
    const stems = await stemmer.look(asked);
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
  const take = (text: string, isQuestion: boolean): number => {
    const written = writtenWords(text);
    let count = 0;
    const addWord = (word: string) => {
      add(kinds.word, word);
      if (isQuestion) add(kinds.questionWord, word);
    };
    const addMeanings = (meanings: Iterable<number>) => {
      for (const meaning of meanings) {
        add(kinds.meaning, meaning);
        if (isQuestion) add(kinds.questionMeaning, meaning);
      }
    };
    for (const each of written) {
      const found = stemsOf(each, language, stems);
      addWord(each.folded);
      if (found === null) continue;
      count += 1;
      for (const stem of found) addWord(stem);
      addMeanings(meaningsOfWord(each.folded, language));
      if (isQuestion && each.folded.length >= 4) for (const piece of piecesOf(each.folded)) add(kinds.piece, piece);
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
  // The question first: where there are too many words, those of the answer are left out.
  const questionLength = take(entry.question, true);
  take(entry.answer, false);
  return { words: [...words], questionLength };
}

/** The stems of a word in a language, folded; null for one of its little words. */
export function stemsOf({ folded, written }: WrittenWord, language: string | null, stems: Stems): string[] | null {
  if (language === null) return [];
  const stem = stems.of(language, written);
  if (stem === null) return stems.knows(language) ? null : [];
  const ofFolded = stems.of(language, folded);
  const found = new Set([foldWord(stem), ...(ofFolded === null ? [] : [foldWord(ofFolded)])]);
  found.delete(folded);
  return [...found];
}
