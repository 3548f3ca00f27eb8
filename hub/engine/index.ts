export { acceptRun, maxRunDepth } from './starts/accept-runs.ts';
export { cancelTopic, runRowsTopic, runTopic, wakeRun, wakeRuns } from './queue/wake-runs.ts';
export type { NewRun } from './starts/accept-runs.ts';
export { noteRunAuthors, readPeopleOfRuns, readRunPeople, requestersOf, starterOf } from './runs/run-people.ts';
export type { RunCaller, RunPeople } from './runs/run-people.ts';
export type { RunRow } from './schema.ts';
export { readApprovalMessage } from './steps/approval-message.ts';
export { admitWaitingRuns } from './limits/admission.ts';
export { dryRunSteps } from './steps/dry-run.ts';
export { addressesOf, hostOf, normalHost } from './skills/grants.ts';
export type { WorkflowGrants } from './skills/grants.ts';
export { addHistogram, bucketOf, quantile } from './stats/histogram.ts';
export type { Histogram } from './stats/histogram.ts';
export { definitionStamp, isGated, termColumns, workspaceStamp } from './starts/definitions.ts';
export type { Definition, LockedDefinition } from './starts/definitions.ts';
export { StartBatch } from './starts/start-batch.ts';
export type { RunIntake } from './starts/intake.ts';
export type {
  ApprovalPort,
  CommandRequest,
  CommandOutcome,
  ConversationMessage,
  ConversationPort,
  EnginePorts,
  ModelAnswer,
  ModelAttempt,
  ModelRequest,
  NewApproval,
  NodePort,
  SelectionRequest,
} from './ports.ts';
export { readSlices, rollUp, sliceSeconds, summarisePeriod } from './stats/rollups.ts';
export {
  countRuns,
  insertRetries,
  isCallOfStep,
  isLatestAttempt,
  lockForRetry,
  lockRuns,
  lockRunTrees,
  lockWorkflow,
  markCancelled,
  reopenRun,
} from './runs/run-rows.ts';
export { Resumption } from './starts/resumption.ts';
export { waitsText } from './runs/store.ts';
export { RunTrace } from './runs/run-trace.ts';
export type { EndedRun, RerunChanges } from './runs/run-rows.ts';
export { maxOutputBytes, rejectOnAbort } from './calls/direct-call.ts';
export { outputBytesOf } from './runs/run-outputs.ts';
export { describeSkill, describeSkills, isKnownPattern } from './skills/skill-catalog.ts';
export type { SdkSkill } from './skills/skill-catalog.ts';
export { skillTrigger, stepOfSkill } from './skills/skill-run.ts';
export { callOf } from './steps/steps.ts';
export { validateSteps } from './steps/validate-steps.ts';
export { reevaluateConcurrencyQueues, wakeStalledConcurrencyQueues } from './limits/wake-concurrency-queues.ts';
