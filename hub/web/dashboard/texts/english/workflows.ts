/** Texts of the workflows pages. */
export const workflows = {};
