/** Texts of the sequences pages. */
export const sequences = {};
