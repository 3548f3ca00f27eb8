import type { settings as english } from '../english/settings.ts';

/** Texts of the settings pages. */
export const settings: typeof english = {};
