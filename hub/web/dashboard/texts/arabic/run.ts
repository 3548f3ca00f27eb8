import type { run as english } from '../english/run.ts';

/** Texts of the run pages. */
export const run: typeof english = {} as typeof english;
