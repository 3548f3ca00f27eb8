/** Texts of the calls pages. */
export const calls = {};
