import { characterPairs, clipWord, foldText, segmentsOf } from '../../../platform/words.ts';

/**
 * The words under which a text is indexed. Each word starts with a prefix for its workspace, so that a search reads
 * only the index entries of one workspace. Scripts without spaces are indexed by pairs of characters.
 */

/** Indexed words of one text. More are left out. */
const maxWords = 2_000;
/** Words of one query. More are left out. */
const maxTerms = 50;

/** The prefix of a workspace's words. */
const prefixOf = (tenantId: string) => `${tenantId.replaceAll('-', '').slice(-10)}:`;
/** A word that marks private notes. It contains no letters, so no text produces it. */
const noteWord = '!note';

/** The words of a text, as they are stored. */
export function wordsOf(tenantId: string, text: string, { isNote }: { isNote: boolean }): string[] {
  const prefix = prefixOf(tenantId);
  const words = new Set<string>(isNote ? [prefix + noteWord] : []);
  for (const part of segmentsOf(foldText(text))) {
    const found = part.isSpaced ? [clipWord(part.text)] : [...new Set([...part.text, ...characterPairs(part.text)])];
    for (const word of found) {
      if (words.size >= maxWords) return [...words];
      words.add(prefix + word);
    }
  }
  return [...words];
}

/**
 * A search term: a word, a prefix of a word, or a character or pair of a script without spaces.
 */
export interface Term {
  text: string;
  kind: 'word' | 'beginning' | 'characters';
}

/** The terms of a query. All must match; the last word matches as a prefix. */
export function termsOf(query: string): Term[] {
  const parts = [...segmentsOf(foldText(query))];
  const last = parts.at(-1);
  const terms = parts.flatMap((part): Term[] =>
    part.isSpaced
      ? [{ text: clipWord(part.text), kind: part === last ? 'beginning' : 'word' }]
      : characterPairs(part.text).map((text) => ({ text, kind: 'characters' })),
  );
  const known = new Set<string>();
  return terms
    .filter(({ text, kind }) => {
      const name = `${kind} ${text}`;
      return !known.has(name) && known.add(name);
    })
    .slice(0, maxTerms);
}

/** Terms as a `tsquery` over the words of a workspace. Null if there are no terms. */
export function questionOf(
  tenantId: string,
  terms: readonly Term[],
  { notesOnly }: { notesOnly: boolean },
): string | null {
  if (terms.length === 0) return null;
  const prefix = prefixOf(tenantId);
  const asked = terms.map(({ text, kind }) => `'${prefix}${text}'${kind === 'beginning' ? ':*' : ''}`);
  return [...asked, ...(notesOnly ? [`'${prefix}${noteWord}'`] : [])].join(' & ');
}
