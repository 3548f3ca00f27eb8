export { Workflows } from './service.ts';
export type { StartedRun } from './start.ts';
