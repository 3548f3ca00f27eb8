/** Texts of the nodes pages. */
export const nodes = {};
