export { Approvals, createApprovals } from './service.ts';
export { createApproval, expireRunApprovals, findApproval } from './store.ts';
export type { ApprovalRow, NewApproval } from './store.ts';
