export { Workflows } from './service.ts';
export { authorsOfSteps } from './step-authors.ts';
export type { StartedRun } from './start.ts';
