/** Texts of the inbox pages. */
export const inbox = {};
