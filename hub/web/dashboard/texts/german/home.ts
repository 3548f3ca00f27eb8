import type { home as english } from '../english/home.ts';

/** Texts of the home pages. */
export const home: typeof english = {};
