export { Approvals, createApprovals } from './service.ts';
export { createApproval, expireRunApprovals, findApproval } from './store.ts';
export type { ApprovalRow } from './store.ts';
