/** Texts of the runs pages. */
export const runs = {};
