export { eventRetention, trimWorkspaceEvents } from './retention.ts';
export { WorkspaceEvents } from './service.ts';
