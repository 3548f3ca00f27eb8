/** Statuses of a run. */
export const runStatuses = ['queued', 'running', 'waiting_approval', 'succeeded', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];

/** Statuses of an ended run. */
export const finalRunStatuses = ['succeeded', 'failed', 'cancelled'] as const satisfies readonly RunStatus[];

/** Limits and policies that delay a queued run. `earlier_runs`: older runs of the same workflow wait and go first. */
export const queueReasons = [
  'earlier_runs',
  'max_concurrent_runs',
  'max_runs_per_minute',
  'quiet_hours',
  'max_runs_per_hour',
] as const;
export type QueueReason = (typeof queueReasons)[number];

/** Statuses of one step of a run. */
export const stepStatuses = ['pending', 'running', 'succeeded', 'failed', 'skipped', 'waiting_approval'] as const;
export type StepStatus = (typeof stepStatuses)[number];
