import { createInterface } from 'node:readline/promises';
import { Writable } from 'node:stream';
import { visibleText } from '../../shared/visible-text.ts';

/** What the command line reads from people and shows them. */

/** Prints a value as JSON, or its text with what would mislead made visible. */
export function print(value: unknown, json: boolean | undefined, text: string): void {
  process.stdout.write(json === true ? `${JSON.stringify(value, null, 2)}\n` : `${visibleText(text)}\n`);
}

/** Rows as columns below their names. */
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

/** A diff as people know it on a terminal; `plain` leaves the colours out (`NO_COLOR`), as a file or a pipe does. */
export function renderDiff(raw: string, { plain }: { plain: boolean }): string {
  const diff = visibleText(raw);
  if (plain || !process.stdout.isTTY) return diff;
  return diff.replaceAll(/^\+.*$/gm, '\u001B[32m$&\u001B[39m').replaceAll(/^-.*$/gm, '\u001B[31m$&\u001B[39m');
}

/** Where people type, and where they are asked. */
interface Terminal {
  input: NodeJS.ReadableStream & { isTTY?: boolean };
  output: NodeJS.WritableStream;
}

const ownTerminal: Terminal = { input: process.stdin, output: process.stderr };

/** Asks for a line on the terminal, which shows what is typed unless that is hidden; null when the person turned away (Ctrl-C, Ctrl-D). */
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

/** Asks on the terminal; no without one. */
export async function confirm(question: string, terminal = ownTerminal): Promise<boolean> {
  return (
    terminal.input.isTTY === true &&
    /^y(es)?$/i.test(((await ask(terminal, `${question} [y/N] `, { hidden: false })) ?? '').trim())
  );
}

/** The first line of standard input; on a terminal asked for, and not shown. */
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
