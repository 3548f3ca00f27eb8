/** Texts of the approvals pages. */
export const approvals = {};
