export { createRuns } from './service.ts';
export { Runs, runTopic } from './service.ts';
export type { AcceptedRun, RunRequest } from './service.ts';
export { acceptRun, cancelRun, insertOutbox, readRun, wakeRun } from './store.ts';
export type { PromisedJob } from './store.ts';
