import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { visibleText } from '../../shared/visible-text.ts';

/** Input and output of the command line. */

/** Prints a value as JSON, or its text with misleading characters made visible. */
export function print(value: unknown, json: boolean | undefined, text: string): void {
  process.stdout.write(json === true ? `${JSON.stringify(value, null, 2)}\n` : `${visibleText(text)}\n`);
}

/** Formats rows as a table with column names. */
export function table(rows: Record<string, string>[]): string {
  const [first] = rows;
  if (first === undefined) return 'none';
  const columns = Object.keys(first);
  const widths = columns.map((column) => Math.max(column.length, ...rows.map((row) => (row[column] ?? '').length)));
  const line = (cells: string[]) =>
    cells
      .map((cell, index) => cell.padEnd(widths[index] ?? 0))
      .join('  ')
      .trimEnd();
  return [line(columns), ...rows.map((row) => line(columns.map((column) => row[column] ?? '')))].join('\n');
}

/** Colors a diff for the terminal. `plain` (NO_COLOR) and output to a file or pipe disable colors. */
export function renderDiff(raw: string, { plain }: { plain: boolean }): string {
  const diff = visibleText(raw);
  if (plain || !process.stdout.isTTY) return diff;
  return diff.replaceAll(/^\+.*$/gm, '\u001B[32m$&\u001B[39m').replaceAll(/^-.*$/gm, '\u001B[31m$&\u001B[39m');
}

/** Streams for input and prompts. */
interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream;
}

const ownTerminal: Terminal = { input: process.stdin, output: process.stderr };

/**
 * Prompts for a line. With `hidden`, the input is not shown. Returns null when the user cancels with Ctrl-C or Ctrl-D.
 */
async function ask(
  { input, output }: Terminal,
  question: string,
  { hidden }: { hidden: boolean },
): Promise<string | null> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() });
  const terminal = createInterface({ input, output: hidden ? nowhere : output, terminal: true });
  try {
    if (hidden) output.write(question);
    return await terminal.question(hidden ? '' : question);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ABORT_ERR') return null;
    throw error;
  } finally {
    terminal.close();
    if (hidden) output.write('\n');
  }
}

/** Asks a yes/no question. Returns false when there is no terminal. */
export async function confirm(question: string, terminal = ownTerminal): Promise<boolean> {
  return (
    terminal.input.isTTY === true &&
    /^y(es)?$/i.test(((await ask(terminal, `${question} [y/N] `, { hidden: false })) ?? '').trim())
  );
}

/** Reads the first line of standard input; on a terminal, prompts without showing the input. */
export async function readPassword(terminal = ownTerminal): Promise<string> {
  if (terminal.input.isTTY === true)
    return (await ask(terminal, 'Password (at least 12 characters): ', { hidden: true })) ?? '';
  let password = '';
  for await (const chunk of terminal.input) {
    password += String(chunk);
    if (password.includes('\n')) break;
  }
  return password.split('\n')[0] ?? '';
}
