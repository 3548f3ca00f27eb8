import { clipWord, foldText, pairsOf, partsOf } from '../../../platform/words.ts';

/**
 * The words by which a text is found. Each begins with the short name of its workspace: an index entry belongs to one
 * workspace alone, so that
 * a search reads nothing of another. Scripts that are written without spaces are found by pairs of their characters.
 */

/** More words than that of one text are left out. */
const maxWords = 2_000;
/** More words of a question are left out. */
const maxTerms = 50;

/** What the words of a workspace begin with. */
const prefixOf = (tenantId: string) => `${tenantId.replaceAll('-', '').slice(-10)}:`;
/** A word that every private note has; no text has it, because it is none of letters. */
const noteWord = '!note';

/** The words of a text, as they are kept with it. */
export function wordsOf(tenantId: string, text: string, { isNote }: { isNote: boolean }): string[] {
  const prefix = prefixOf(tenantId);
  const words = new Set<string>(isNote ? [prefix + noteWord] : []);
  for (const part of partsOf(foldText(text))) {
    const found = part.isSpaced ? [clipWord(part.text)] : [...new Set([...part.text, ...pairsOf(part.text)])];
    for (const word of found) {
      if (words.size >= maxWords) return [...words];
      words.add(prefix + word);
    }
  }
  return [...words];
}

/**
 * What a text must hold to be found: a word, the beginning of one, or a character or pair of a script without spaces.
 */
export interface Term {
  text: string;
  kind: 'word' | 'beginning' | 'characters';
}

/** What a question asks for: every word, the last of which may be the beginning of one. */
export function termsOf(query: string): Term[] {
  const parts = [...partsOf(foldText(query))];
  const last = parts.at(-1);
  const terms = parts.flatMap((part): Term[] =>
    part.isSpaced
      ? [{ text: clipWord(part.text), kind: part === last ? 'beginning' : 'word' }]
      : pairsOf(part.text).map((text) => ({ text, kind: 'characters' })),
  );
  const known = new Set<string>();
  return terms
    .filter(({ text, kind }) => {
      const name = `${kind} ${text}`;
      return !known.has(name) && known.add(name);
    })
    .slice(0, maxTerms);
}

/** Terms as a `tsquery` over the words of a workspace; null where there is none. */
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
