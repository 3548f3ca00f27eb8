import { clipWord, foldText, segmentsOf } from '../../../platform/words.ts';
import type { Term } from './words.ts';

/** A range of a text in UTF-16 units. `end` is exclusive. */
export interface Place {
  start: number;
  end: number;
}

/** Highlights of one text. More are left out. */
export const maxPlaces = 100;

const jamo = '\\u1100-\\u11ff\\u3131-\\u318e\\ua960-\\ua97f\\ud7b0-\\ud7ff\\uffa0-\\uffdc';
/** Parts of a text that can be folded separately. No part starts with a combining mark or a joining letter. */
const unfolded = new RegExp(`[^][\\p{M}${jamo}]*`, 'gu');
const isPlain = /^[\0-\x7f]*$/;

/** A folded text, with the original position of each of its UTF-16 units. */
function foldWithPlaces(text: string): { folded: string; placeOf: (from: number, to: number) => Place } {
  if (isPlain.test(text)) return { folded: text.toLowerCase(), placeOf: (start, end) => ({ start, end }) };
  const known = new Map<string, string>();
  const starts: number[] = [];
  const ends: number[] = [];
  let folded = '';
  for (const { 0: original, index } of text.matchAll(unfolded)) {
    let piece = known.get(original);
    if (piece === undefined) {
      piece = foldText(original);
      known.set(original, piece);
    }
    folded += piece;
    for (let unit = 0; unit < piece.length; unit += 1) {
      starts.push(index);
      ends.push(index + original.length);
    }
  }
  return {
    folded,
    placeOf: (from, to) => ({ start: starts[from] as number, end: ends[to - 1] as number }),
  };
}

/**
 * Finds the terms of a query in a text, in order and without overlap. A prefix term highlights the whole word.
 */
export function highlightsOf(text: string, terms: readonly Term[]): Place[] {
  const textsOf = (...kinds: Term['kind'][]) =>
    terms.filter(({ kind }) => kinds.includes(kind)).map((term) => term.text);
  const words = new Set(textsOf('word', 'beginning'));
  const beginnings = textsOf('beginning');
  const characters = new Set(textsOf('characters'));
  const { folded, placeOf } = foldWithPlaces(text);
  const places: Place[] = [];
  const add = (from: number, length: number): void => {
    const place = placeOf(from, from + length);
    const last = places.at(-1);
    if (last !== undefined && place.start < last.end) last.end = Math.max(last.end, place.end);
    else places.push(place);
  };
  for (const part of segmentsOf(folded)) {
    if (places.length > maxPlaces) break;
    if (part.isSpaced) {
      const word = clipWord(part.text);
      if (words.has(word) || beginnings.some((beginning) => word.startsWith(beginning))) add(part.at, part.text.length);
      continue;
    }
    let at = part.at;
    let before = '';
    for (const character of part.text) {
      if (characters.has(before + character)) add(at - before.length, before.length + character.length);
      else if (characters.has(character)) add(at, character.length);
      before = character;
      at += character.length;
    }
  }
  return places.slice(0, maxPlaces);
}
