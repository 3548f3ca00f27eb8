export { admitClaimedRun, admitWaitingRuns, endsLock, reopenLines, wakeForgottenLines } from './admission.ts';
export type { Admission } from './admission.ts';
export { createRuns } from './service.ts';
export { Runs, runTopic } from './service.ts';
export type { AcceptedRun } from './service.ts';
export {
  acceptRun,
  acceptRuns,
  insertOutbox,
  isLatestAttempt,
  listRequesters,
  lockLimits,
  lockRuns,
  logsTopic,
  maxRunDepth,
  personOf,
  reopenRun,
  runJobId,
  runRowsTopic,
  wakeRun,
} from './store.ts';
export type { NewRun, PromisedJob, RunCaller } from './store.ts';
