export { personUsername, workspaceUsername } from './accounts.ts';
export { HostedSips } from './service.ts';
