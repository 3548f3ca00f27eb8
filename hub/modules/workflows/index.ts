export { createWorkflows, Workflows } from './service.ts';
export { readEntitlements } from './store.ts';
