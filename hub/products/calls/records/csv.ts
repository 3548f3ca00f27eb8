/** Reads CSV files of spreadsheets and exports (RFC 4180). */

/** Removes the apostrophes that an export adds against formula injection. */
export const fromCell = (cell: string): string =>
  cell.replaceAll(/^'|(?<=[;\t\r\n])'(?=['"]*[=+\-@\uFF0D\uFF1D\uFF0B\uFF20\t\r])/g, '');

const maxRecordLength = 64 * 1024;

/**
 * Reads records from a stream of text, with the line number where each record begins.
 * The first comma or semicolon of the text is the separator. Spreadsheets use semicolons in locales with decimal
 * commas.
 * @throws SyntaxError for a quote without an end, or a record over 64 KiB.
 */
export async function* readCsv(pieces: AsyncIterable<string>): AsyncGenerator<{ line: number; cells: string[] }> {
  let cells: string[] = [];
  let cell = '';
  let length = 0;
  let separator: ',' | ';' | null = null;
  // `closed` means that the previous character ended a quoted part.
  let state: 'plain' | 'quoted' | 'closed' = 'plain';
  let line = 1;
  let startLine = 1;
  let isFirst = true;
  let wasReturn = false;
  for await (const piece of pieces) {
    for (const letter of isFirst ? piece.replace(/^\uFEFF/, '') : piece) {
      isFirst = false;
      if ((length += letter.length) > maxRecordLength)
        throw new SyntaxError(
          `The record that begins on line ${startLine} has more than 64 KiB; is a quote missing there?`,
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
        if (cells.length > 0 || cell !== '') yield { line: startLine, cells: [...cells, cell] };
        cells = [];
        cell = '';
        length = 0;
        state = 'plain';
        startLine = line;
      } else cell += letter;
    }
  }
  if (state === 'quoted')
    throw new SyntaxError(`A quote in the record that begins on line ${startLine} is never closed.`);
  if (cells.length > 0 || cell !== '') yield { line: startLine, cells: [...cells, cell] };
}
