import { explainError } from './describe-error.ts';

/** Why something that a hub needs can't be had, in a few words without data. */
export function reasonOf(error: unknown): string {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const { code } = current as { code?: string };
    if (typeof code === 'string' && code !== '')
      return `${code}${current.message === '' ? '' : ` (${current.message})`}`;
  }
  // Nobody's data is under way yet, but a statement that failed would be quoted in full.
  return error instanceof Error && !error.message.startsWith('Failed query') ? error.message : explainError(error);
}
