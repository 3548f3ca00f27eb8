import type { packs as english } from '../english/packs.ts';

/** Texts of the packs pages. */
export const packs: typeof english = {};
