/**
 * Marks misleading characters in text from outside. Characters that are invisible, look like a space, or change the
 * direction of the text can hide its real content. Each is replaced by its code point, such as `⟨U+202E⟩`.
 */

const marks = String.raw`\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}\u00A0\u1680\u2000-\u200A\u202F\u205F\u2800`;
const inText = new RegExp(String.raw`(?:(?![\t\n])[${marks}\p{Cc}])+`, 'gu');
const inLine = new RegExp(String.raw`[${marks}\p{Cc}]+`, 'gu');
const maxNamedCharacters = 8;
/** No script puts so many marks on one letter. They would cover the lines around it. */
const stacked = /\p{M}{8,}/gu;

const codePoint = (character: string) =>
  `U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`;

/** Formats a mark. */
export type MarkWriter = (name: string) => string;

const bracketed: MarkWriter = (name) => `⟨${name}⟩`;

/** The name of a sequence of marked characters: their first code points, and the number of further ones. */
function nameOf(run: string): string {
  const characters = [...run];
  const named = characters.slice(0, maxNamedCharacters).map(codePoint).join(' ');
  return characters.length > maxNamedCharacters ? `${named} and ${characters.length - maxNamedCharacters} more` : named;
}

/** Marks misleading characters in a text of several lines. Line breaks and tabs are kept. */
export function visibleText(text: string, write: MarkWriter = bracketed): string {
  const named = (run: string) => write(nameOf(run));
  return text.replaceAll('\r\n', '\n').replaceAll(stacked, named).replaceAll(inText, named);
}

/**
 * Marks misleading characters in a text for one line, such as a name or a title. Line breaks and tabs are also marked.
 */
export function visibleLine(text: string, write: MarkWriter = bracketed): string {
  const named = (run: string) => write(nameOf(run));
  return text.replaceAll(stacked, named).replaceAll(inLine, named);
}

const visible = new RegExp(String.raw`[^${marks}\p{Cc}\p{Z}]`, 'u');

/** Whether a text shows anything: a character that is neither a space nor one of the misleading characters. */
export const hasVisibleCharacter = (text: string): boolean => visible.test(text);

const inJson = new RegExp(String.raw`[${marks}\u007F-\u009F]`, 'gu');
const escaped = (character: string) =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');

/**
 * JSON of a value with misleading characters escaped, so that a terminal shows it correctly. Its meaning is unchanged.
 */
export function visibleJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replaceAll(inJson, escaped);
}
