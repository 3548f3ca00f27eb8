/**
 * The words by which a text is found. Each begins with the short name of its workspace: an index entry belongs to one workspace alone, so that
 * a search reads nothing of another. Scripts that are written without spaces are found by pairs of their characters.
 */

/** More words than that of one text are left out. */
const maxWords = 2_000;
/** More of one word is left out. */
const maxWordLength = 40;

const runs = /[\p{L}\p{M}\p{N}]+/gu;
const unspaced =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}]/u;
const pieces = new RegExp(`${unspaced.source}[${unspaced.source.slice(1, -1)}\\p{M}]*|[^]`, 'gu');

/** What the words of a workspace begin with. */
const prefixOf = (tenantId: string) => `${tenantId.replaceAll('-', '').slice(-10)}:`;

/** As words are compared: without case and marks, in one form. */
export const foldText = (text: string): string =>
  text
    .normalize('NFKD')
    .replaceAll(/\p{Mn}/gu, '')
    .toLowerCase()
    .normalize('NFC');

/** Splits a folded run of letters where its script changes between spaced and unspaced. */
function* partsOf(run: string): Generator<{ text: string; isSpaced: boolean }> {
  let spaced = '';
  for (const [piece] of run.matchAll(pieces)) {
    if (!unspaced.test(piece)) {
      spaced += piece;
      continue;
    }
    if (spaced !== '') yield { text: spaced, isSpaced: true };
    spaced = '';
    yield { text: piece, isSpaced: false };
  }
  if (spaced !== '') yield { text: spaced, isSpaced: true };
}

function pairsOf(text: string): string[] {
  const characters = [...text];
  return characters.length === 1 ? characters : characters.slice(1).map((next, index) => `${characters[index]}${next}`);
}

const clip = (word: string) => [...word].slice(0, maxWordLength).join('');

/** The words of a text, as they are kept with it. */
export function wordsOf(tenantId: string, text: string): string[] {
  const prefix = prefixOf(tenantId);
  const words = new Set<string>();
  for (const [run] of foldText(text).matchAll(runs))
    for (const part of partsOf(run)) {
      const found = part.isSpaced ? [clip(part.text)] : [...new Set([...part.text, ...pairsOf(part.text)])];
      for (const word of found) {
        if (words.size >= maxWords) return [...words];
        words.add(prefix + word);
      }
    }
  return [...words];
}

/** A question for texts that hold every word, the last of which may be the beginning of one; null where it has no word. */
export function questionOf(tenantId: string, query: string): string | null {
  const prefix = prefixOf(tenantId);
  const parts = [...foldText(query).matchAll(runs)].flatMap(([run]) => [...partsOf(run)]);
  const last = parts.at(-1);
  const terms = parts.flatMap((part) =>
    part.isSpaced
      ? [`'${prefix}${clip(part.text)}'${part === last ? ':*' : ''}`]
      : pairsOf(part.text).map((pair) => `'${prefix}${pair}'`),
  );
  return terms.length === 0 ? null : [...new Set(terms)].slice(0, 50).join(' & ');
}
