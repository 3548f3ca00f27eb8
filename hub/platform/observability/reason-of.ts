import { explainError } from './describe-error.ts';

/** Why a required service is unavailable, in a few words without user data. */
export function reasonOf(error: unknown): string {
  for (let current = error, depth = 0; current instanceof Error && depth < 5; current = current.cause, depth += 1) {
    const { code } = current as { code?: string };
    if (typeof code === 'string' && code !== '')
      return `${code}${current.message === '' ? '' : ` (${current.message})`}`;
  }
  // No user data exists at startup, but the message of a failed query would quote the whole statement.
  return error instanceof Error && !error.message.startsWith('Failed query') ? error.message : explainError(error);
}
