import { normalizeText } from './normalize.ts';

/** Takes texts of any language apart into what they are found by. */

/** More of one word is left out. */
const maxWordLength = 40;

const runs = /[\p{L}\p{M}\p{N}]+/gu;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const pieces = new RegExp(`${unspaced.source}[${unspaced.source.slice(1, -1)}\\p{M}]*|[^]`, 'gu');

/** As words are compared: without case and marks, in one form; what stands in two ways for the same letters in one of them. */
export const foldText = (text: string): string =>
  normalizeText(
    normalizeText(text, 'NFKD')
      .replaceAll(/\p{Mn}/gu, '')
      .toLowerCase()
      .replaceAll('ς', 'σ')
      .replaceAll('ß', 'ss'),
    'NFC',
  );

/** A piece of a folded text in which words are written in one way, and where it begins there. */
export interface TextSegment {
  text: string;
  isSpaced: boolean;
  at: number;
}

/** Splits a folded text into runs of letters, and those where their script changes between spaced and unspaced. */
export function* segmentsOf(folded: string): Generator<TextSegment> {
  for (const { 0: run, index } of folded.matchAll(runs)) {
    let spaced = '';
    let at = index;
    for (const [piece] of run.matchAll(pieces)) {
      if (!unspaced.test(piece)) {
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

/** The pairs of neighbouring characters of a text; its one character where it has no more. */
export function characterPairs(text: string): string[] {
  const characters = [...text];
  return characters.length === 1 ? characters : characters.slice(1).map((next, index) => `${characters[index]}${next}`);
}

/** A word as far as it is kept. */
export const clipWord = (word: string) =>
  word.length <= maxWordLength ? word : [...word].slice(0, maxWordLength).join('');
