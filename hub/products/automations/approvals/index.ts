export { ApprovalLinks } from './links.ts';
export { ApprovalPushes } from './pushes.ts';
export { Approvals } from './service.ts';
export { approvalPort, expireRunApprovals } from './store.ts';
