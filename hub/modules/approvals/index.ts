export { Approvals, createApprovals } from './service.ts';
export { ApprovalLinks } from './links.ts';
export type { LinkedApproval } from './links.ts';
export { createApproval, expireRunApprovals, findApproval, findApprovedRequest, openApproval } from './store.ts';
export type { ApprovalRow } from './store.ts';
export type { Decider } from './service.ts';
