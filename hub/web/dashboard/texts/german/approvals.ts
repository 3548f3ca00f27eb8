import { approvals as english } from '../english/approvals.ts';

export const approvals: typeof english = english;
