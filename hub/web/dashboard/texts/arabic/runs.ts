import { runs as english } from '../english/runs.ts';

/** Texts of the runs pages. */
export const runs: typeof english = english;
