/**
 * Text from outside, shown as what it is. Characters that show nothing, look like a space, or turn round what stands beside them make
 * a text read otherwise than it runs: each is replaced by its code point, as `⟨U+202E⟩`.
 */

const marks = String.raw`\p{Cf}\p{Default_Ignorable_Code_Point}\p{Zl}\p{Zp}\p{Cs}\u00A0\u1680\u2000-\u200A\u202F\u205F\u2800`;
const inText = new RegExp(String.raw`(?:(?![\t\n])[${marks}\p{Cc}])+`, 'gu');
const inLine = new RegExp(String.raw`[${marks}\p{Cc}]+`, 'gu');
const mostNamed = 8;

const codePoint = (character: string) =>
  `U+${(character.codePointAt(0) as number).toString(16).toUpperCase().padStart(4, '0')}`;

/** How a mark is written where it stands. */
export type MarkWriter = (name: string) => string;

const bracketed: MarkWriter = (name) => `⟨${name}⟩`;

/** What a run of such characters is called: by their code points, or by the first ones and how many more there are. */
function nameOf(run: string): string {
  const characters = [...run];
  const named = characters.slice(0, mostNamed).map(codePoint).join(' ');
  return characters.length > mostNamed ? `${named} and ${characters.length - mostNamed} more` : named;
}

/** A text of several lines with its misleading characters marked; line breaks and tabs stay. */
export function visibleText(text: string, write: MarkWriter = bracketed): string {
  return text.replaceAll('\r\n', '\n').replaceAll(inText, (run) => write(nameOf(run)));
}

/** A text for one line, such as a name, a title or a row of a table: line breaks and tabs are marked as well. */
export function visibleLine(text: string, write: MarkWriter = bracketed): string {
  return text.replaceAll(inLine, (run) => write(nameOf(run)));
}

const inJson = new RegExp(String.raw`[${marks}\u007F-\u009F]`, 'gu');
const escaped = (character: string) =>
  Array.from(
    { length: character.length },
    (_, index) => `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`,
  ).join('');

/** A value as JSON that means the same to a program, and holds no character that misleads whoever reads it in a terminal. */
export function visibleJson(value: unknown, indent = 0): string {
  return JSON.stringify(value, null, indent).replaceAll(inJson, escaped);
}
