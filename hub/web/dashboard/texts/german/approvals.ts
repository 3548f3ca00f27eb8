import type { approvals as english } from '../english/approvals.ts';

/** Texts of the approvals pages. */
export const approvals: typeof english = {};
