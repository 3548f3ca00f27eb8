import type { sessions as english } from '../english/sessions.ts';

/** Texts of the sessions pages. */
export const sessions: typeof english = {};
