/** Texts of the knowledge pages. */
export const knowledge = {};
