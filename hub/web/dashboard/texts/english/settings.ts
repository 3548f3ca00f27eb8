/** Texts of the settings pages. */
export const settings = {};
