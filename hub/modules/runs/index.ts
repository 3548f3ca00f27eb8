export { createRuns } from './service.ts';
export { Runs, runTopic } from './service.ts';
export type { AcceptedRun } from './service.ts';
export { acceptRun, insertOutbox, wakeRun } from './store.ts';
export type { PromisedJob } from './store.ts';
