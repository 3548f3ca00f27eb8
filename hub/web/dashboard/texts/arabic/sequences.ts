import type { sequences as english } from '../english/sequences.ts';

/** Texts of the sequences pages. */
export const sequences: typeof english = {};
