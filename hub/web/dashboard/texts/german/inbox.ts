import type { inbox as english } from '../english/inbox.ts';

/** Texts of the inbox pages. */
export const inbox: typeof english = {};
