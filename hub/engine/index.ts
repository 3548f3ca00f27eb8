export { acceptRun, maxRunDepth } from './accept-runs.ts';
export { cancelTopic, runRowsTopic, runTopic, wakeRun, wakeRuns } from './wake-runs.ts';
export type { NewRun } from './accept-runs.ts';
export { noteRunAuthors, readPeopleOfRuns, readRunPeople, requestersOf, starterOf } from './run-people.ts';
export type { RunCaller, RunPeople } from './run-people.ts';
export type { RunRow } from './schema.ts';
export { readApprovalMessage } from './approval-message.ts';
export { admitWaitingRuns } from './admission.ts';
export { dryRunSteps } from './dry-run.ts';
export { addressesOf, hostOf, normalHost } from './grants.ts';
export type { WorkflowGrants } from './grants.ts';
export { addHistogram, bucketOf, quantile } from './histogram.ts';
export type { Histogram } from './histogram.ts';
export { definitionStamp, isGated, termColumns, workspaceStamp } from './definitions.ts';
export type { Definition, FoundDefinition } from './definitions.ts';
export { LockedStarts } from './locked-starts.ts';
export type { RunIntake } from './intake.ts';
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
export { readSlices, rollUp, sliceSeconds, summarisePeriod } from './rollups.ts';
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
} from './run-rows.ts';
export { Resumption } from './resumption.ts';
export { waitsText } from './store.ts';
export { RunTrace } from './run-trace.ts';
export type { EndedRun, RerunChanges } from './run-rows.ts';
export { maxOutputBytes, untilAborted } from './direct-call.ts';
export { outputBytesOf } from './run-outputs.ts';
export { describeSkill, describeSkills, isKnownPattern } from './skill-catalog.ts';
export type { SdkSkill } from './skill-catalog.ts';
export { skillTrigger, stepOfSkill } from './skill-run.ts';
export { callOf } from './steps.ts';
export { validateSteps } from './validate-steps.ts';
export { reopenLines, wakeForgottenLines } from './wake-lines.ts';
