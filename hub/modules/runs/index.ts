export { createRuns } from './service.ts';
export { Runs, runTopic } from './service.ts';
export type { AcceptedRun } from './service.ts';
export { acceptRun, acceptRuns, insertOutbox, lockWorkflow, maxRunDepth, wakeRun } from './store.ts';
export type { NewRun, PromisedJob } from './store.ts';
