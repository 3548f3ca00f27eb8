/** What a run of blank characters consists of. */
export type BlankKind = 'lineBreak' | 'lineBreaks' | 'lineBreaksAndSpaces' | 'spaces' | 'spacesAndTabs';

/** Names a run of `count` blank characters. */
export type BlankNames = (kind: BlankKind, count: number) => string;

/** Longer runs are named, because they push what follows out of sight. */
const shownLineBreaks = 3;
const shownSpaces = 16;

const bracketed = (name: string) => `⟨${name}⟩`;
const count = (text: string, character: string) => text.split(character).length - 1;

function nameSpaces(run: string, nameOf: BlankNames): string {
  if (run.length <= shownSpaces) return run;
  return bracketed(nameOf(run.includes('\t') ? 'spacesAndTabs' : 'spaces', run.length));
}

function nameBlank(run: string, isAtEnd: boolean, nameOf: BlankNames): string {
  const lines = run.split('\n');
  const lineBreaks = lines.length - 1;
  if (lineBreaks > shownLineBreaks || (isAtEnd && lineBreaks > 0)) {
    const indent = isAtEnd ? '' : (lines.at(-1) as string);
    const kind =
      lineBreaks + indent.length < run.length ? 'lineBreaksAndSpaces' : lineBreaks === 1 ? 'lineBreak' : 'lineBreaks';
    const name = bracketed(nameOf(kind, lineBreaks));
    return isAtEnd ? name : `${name}\n${nameSpaces(indent, nameOf)}`;
  }
  return lines.map((spaces) => nameSpaces(spaces, nameOf)).join('\n');
}

/**
 * Names what blank characters would hide in a text that a person must read completely: long runs of line breaks and
 * spaces, line breaks at the end, carriage returns, and the wide space of East Asian text.
 */
export function nameBlanks(text: string, nameOf: BlankNames): string {
  return text
    .replaceAll(/[ \t\n]{2,}|\n$/g, (run, offset: number) =>
      nameBlank(run, offset + run.length === text.length, nameOf),
    )
    .replaceAll('\r', bracketed('U+000D'))
    .replaceAll('\u3000', bracketed('U+3000'));
}

/** The number of lines of a text. */
export const lineCount = (text: string) => count(text, '\n') + 1;
