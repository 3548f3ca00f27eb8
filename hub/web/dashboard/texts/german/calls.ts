import type { calls as english } from '../english/calls.ts';

/** Texts of the calls pages. */
export const calls: typeof english = {};
