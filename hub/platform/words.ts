import { normalizeText } from './normalize.ts';

/** Splits texts of any language into the words by which search finds them. */

/** Longest indexed word, in characters. The rest of a longer word is ignored. */
const maxWordLength = 40;

const letterRuns = /[\p{L}\p{M}\p{N}]+/gu;
const unspacedScript =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const scriptPieces = new RegExp(`${unspacedScript.source}[${unspacedScript.source.slice(1, -1)}\\p{M}]*|[^]`, 'gu');

/**
 * Normalizes a text for comparison: lower case, without diacritics, in one Unicode form, with final sigma as sigma and
 * ß as ss.
 */
export const foldText = (text: string): string =>
  normalizeText(
    normalizeText(text, 'NFKD')
      .replaceAll(/\p{Mn}/gu, '')
      .toLowerCase()
      .replaceAll('ς', 'σ')
      .replaceAll('ß', 'ss'),
    'NFC',
  );

/**
 * A part of a folded text in one kind of script: with spaces between words, or without. `at` is its position in the
 * folded text.
 */
export interface TextSegment {
  text: string;
  isSpaced: boolean;
  at: number;
}

/** Splits a folded text at characters that belong to no word, and where a script with spaces meets one without. */
export function* segmentsOf(folded: string): Generator<TextSegment> {
  for (const { 0: run, index } of folded.matchAll(letterRuns)) {
    let spaced = '';
    let at = index;
    for (const [piece] of run.matchAll(scriptPieces)) {
      if (!unspacedScript.test(piece)) {
        spaced += piece;
        continue;
      }
      if (spaced !== '') yield { text: spaced, isSpaced: true, at };
      at += spaced.length;
      spaced = '';
      yield { text: piece, isSpaced: false, at };
      at += piece.length;
    }
    if (spaced !== '') yield { text: spaced, isSpaced: true, at };
  }
}

/** All pairs of adjacent characters of a text. A text of one character yields that character. */
export function characterPairs(text: string): string[] {
  const characters = [...text];
  return characters.length === 1 ? characters : characters.slice(1).map((next, index) => `${characters[index]}${next}`);
}

/** Truncates a word to the longest indexed length. */
export const clipWord = (word: string) =>
  word.length <= maxWordLength ? word : [...word].slice(0, maxWordLength).join('');
