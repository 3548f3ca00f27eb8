/** Texts of the packs pages. */
export const packs = {};
