import type { Run, RunArtifact, RunSummary, StepResult } from '../../../../../shared/client/operations.ts';

export type { Run, RunArtifact, StepResult };

export const isFinal = (status: RunSummary['status']) =>
  status === 'succeeded' || status === 'failed' || status === 'cancelled';

/** When the time of a run begins: at its start, or in the queue before it. */
export const beginOf = (run: Pick<RunSummary, 'startedAt' | 'queuedAt'>): string => run.startedAt ?? run.queuedAt;

/** Whether a retry took the result of the step from an earlier run. */
export const isKept = (step: StepResult, run: Run) =>
  step.finishedAt !== null && step.finishedAt <= run.queuedAt && run.attempt > 1;

/** The step that a reader wants to see first: the failed one, else the one that waits or runs, else the last that ended. */
export function firstSelection(run: Run): number {
  const steps = run.stepsResultJson;
  const failedIndex = run.error?.stepIndex;
  if (failedIndex !== undefined && failedIndex < steps.length) return failedIndex;
  const current =
    steps.find(({ status }) => status === 'waiting_approval' || status === 'running') ??
    (run.status === 'failed' ? steps.find(({ status }) => status === 'failed') : undefined) ??
    steps.findLast((step) => step.finishedAt !== null && step.status !== 'skipped' && !isKept(step, run));
  return current?.index ?? 0;
}

/** The first step that a rerun can start at the latest: the first that did not succeed. */
export function lastRerunStep(run: Run): number {
  const open = run.stepsResultJson.findIndex(({ status }) => status !== 'succeeded' && status !== 'skipped');
  return open === -1 ? run.stepsResultJson.length - 1 : open;
}
