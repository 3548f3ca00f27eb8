import { createInterface } from 'node:readline/promises';
import { CompanionError } from '../data-folder.ts';
import { usageExitCode } from './context.ts';

/**
 * Asks the owner to confirm a change with a high risk: at a terminal by typing `yes`, in a script by `--yes`.
 * @throws CompanionError when the owner does not confirm. Nothing changes then.
 */
export async function confirm(meaning: string, isConfirmed: boolean): Promise<void> {
  if (isConfirmed) return;
  process.stderr.write(`${meaning}\n`);
  if (!process.stdin.isTTY)
    throw new CompanionError('Nothing was changed. Confirm with --yes.', { exitCode: usageExitCode });
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    const answer = await terminal.question('Type yes to confirm: ');
    if (answer.trim() === 'yes') return;
  } finally {
    terminal.close();
  }
  throw new CompanionError('Nothing was changed.', { exitCode: usageExitCode });
}
