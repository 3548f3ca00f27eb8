/** Texts of the run pages. */
export const run = {};
