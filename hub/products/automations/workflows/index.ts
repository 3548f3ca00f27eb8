export { createWorkflows, Workflows } from './service.ts';
