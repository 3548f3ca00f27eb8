/** The states of a run, as the specification's table has them. */
export const runStatuses = ['queued', 'running', 'waiting_approval', 'succeeded', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];

/** States that a run leaves only by a retry. */
export const finalRunStatuses = ['succeeded', 'failed', 'cancelled'] as const satisfies readonly RunStatus[];

/**
 * Why a run that could begin is held back: by the limit or the policy that the name says, or by runs of its workflow that came
 * before it and are held themselves.
 */
export const runHolds = [
  'earlier_runs',
  'max_concurrent_runs',
  'max_runs_per_minute',
  'quiet_hours',
  'max_runs_per_hour',
] as const;
export type RunHold = (typeof runHolds)[number];

/** States of one step of a run. */
export const stepStatuses = ['pending', 'running', 'succeeded', 'failed', 'skipped', 'waiting_approval'] as const;
export type StepStatus = (typeof stepStatuses)[number];
