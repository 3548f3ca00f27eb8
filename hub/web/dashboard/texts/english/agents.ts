/** Texts of the agents pages. */
export const agents = {};
