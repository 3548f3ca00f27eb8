/** The states of a run, as the specification's table has them. */
export const runStatuses = ['queued', 'running', 'waiting_approval', 'succeeded', 'failed', 'cancelled'] as const;
export type RunStatus = (typeof runStatuses)[number];

/** States that a run leaves only by a retry. */
export const finalRunStatuses = ['succeeded', 'failed', 'cancelled'] as const satisfies readonly RunStatus[];

/** States of one step of a run. */
export const stepStatuses = ['pending', 'running', 'succeeded', 'failed', 'skipped', 'waiting_approval'] as const;
export type StepStatus = (typeof stepStatuses)[number];
