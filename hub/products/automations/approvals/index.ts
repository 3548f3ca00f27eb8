export { ApprovalLinks } from './links.ts';
export { Approvals, createApprovals } from './service.ts';
export { approvalPort, expireRunApprovals } from './store.ts';
