import type { knowledge as english } from '../english/knowledge.ts';

/** Texts of the knowledge pages. */
export const knowledge: typeof english = {};
