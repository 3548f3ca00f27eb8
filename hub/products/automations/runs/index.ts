export { Runs } from './service.ts';
export type { AcceptedRun } from './service.ts';
