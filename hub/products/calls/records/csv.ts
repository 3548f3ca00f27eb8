/** CSV as spreadsheets and exports write it (RFC 4180). */

/** What a cell said before it was defused. */
export const fromCell = (cell: string): string =>
  cell.replaceAll(/^'|(?<=[;\t\r\n])'(?=['"]*[=+\-@\uFF0D\uFF1D\uFF0B\uFF20\t\r])/g, '');

const maxRecordLength = 64 * 1024;

/**
 * Reads records from text as it comes, with the line on which each begins. Cells end at a comma or a semicolon, whichever the text has first:
 * spreadsheets write semicolons where a comma is in numbers.
 * @throws SyntaxError where a quote is never closed, or a record has more than 64 KiB.
 */
export async function* readCsv(pieces: AsyncIterable<string>): AsyncGenerator<{ line: number; cells: string[] }> {
  let cells: string[] = [];
  let cell = '';
  let length = 0;
  let separator: ',' | ';' | null = null;
  // Whether within quotes, right behind a closing one, or neither.
  let state: 'plain' | 'quoted' | 'closed' = 'plain';
  let line = 1;
  let beganAt = 1;
  let isFirst = true;
  let wasReturn = false;
  for await (const piece of pieces) {
    for (const letter of isFirst ? piece.replace(/^\uFEFF/, '') : piece) {
      isFirst = false;
      if ((length += letter.length) > maxRecordLength)
        throw new SyntaxError(
          `The record that begins on line ${beganAt} has more than 64 KiB; is a quote missing there?`,
        );
      const isBreak = letter === '\n' || letter === '\r';
      const isSecondOfBreak = letter === '\n' && wasReturn;
      wasReturn = letter === '\r';
      if (isBreak && !isSecondOfBreak) line += 1;
      if (state === 'quoted') {
        if (letter === '"') state = 'closed';
        else cell += letter;
      } else if (letter === '"' && state === 'closed') {
        cell += letter;
        state = 'quoted';
      } else if (letter === '"' && cell === '') state = 'quoted';
      else if (letter === separator || (separator === null && (letter === ',' || letter === ';'))) {
        separator = letter;
        cells.push(cell);
        cell = '';
        state = 'plain';
      } else if (isBreak) {
        if (isSecondOfBreak) continue;
        if (cells.length > 0 || cell !== '') yield { line: beganAt, cells: [...cells, cell] };
        cells = [];
        cell = '';
        length = 0;
        state = 'plain';
        beganAt = line;
      } else cell += letter;
    }
  }
  if (state === 'quoted')
    throw new SyntaxError(`A quote in the record that begins on line ${beganAt} is never closed.`);
  if (cells.length > 0 || cell !== '') yield { line: beganAt, cells: [...cells, cell] };
}
