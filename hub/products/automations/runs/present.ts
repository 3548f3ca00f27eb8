import { maxAttemptMessage } from '../../../../shared/contract/automations/runs.ts';
import type { Run, RunSummary, StepResult } from '../../../../shared/contract/automations/runs.ts';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { FlowRow } from './flow-store.ts';
import type { FoundRun, RunStepRow, SummaryRow } from './store.ts';
import { presentWait } from './waits.ts';

export function presentFlow(row: FlowRow) {
  return {
    id: row.id,
    workflowId: row.workflowId,
    revision: row.revision,
    status: row.status,
    createdAt: row.createdAt.toISOString(),
    updatedAt: row.updatedAt.toISOString(),
  };
}

export function presentSummary({ wait, queuedAt, startedAt, finishedAt, ...row }: SummaryRow): RunSummary {
  return {
    ...row,
    waitsFor: presentWait(wait),
    queuedAt: queuedAt.toISOString(),
    startedAt: startedAt?.toISOString() ?? null,
    finishedAt: finishedAt?.toISOString() ?? null,
  };
}

/**
 * A run in its state at acceptance: no step has started, except steps that a retry keeps. Kept steps ended before the
 * retry. The first attempt keeps none: its steps can end in the millisecond of its acceptance, or before it by the clock
 * of another machine.
 */
export const asQueued = (run: Run): Run => ({
  ...run,
  status: 'queued',
  waitsFor: null,
  error: null,
  startedAt: null,
  finishedAt: null,
  stepsResultJson: run.stepsResultJson.map((step) =>
    run.attempt > 1 && step.finishedAt !== null && step.finishedAt < run.queuedAt
      ? step
      : {
          ...step,
          status: 'pending',
          attempts: 0,
          attemptHistory: [],
          startedAt: null,
          finishedAt: null,
          input: null,
          inputOmitted: false,
          output: null,
          outputText: null,
          outputBytes: 0,
          turns: null,
          error: null,
          approval: null,
          childRunId: null,
          commands: [],
          artifactIds: [],
        },
  ),
});

function presentApproval(row: RunStepRow['approval'] | undefined): StepResult['approval'] {
  if (row === undefined || row === null) return null;
  return { ...row, decidedAt: row.decidedAt === null ? null : new Date(row.decidedAt).toISOString() };
}

export function presentRun(run: FoundRun): Run {
  const { workflowName, wait } = run;
  return {
    id: run.id,
    workflowId: run.workflowId,
    workflowName,
    workflowVersion: run.workflowVersion,
    flowId: run.flowId,
    status: run.status,
    waitsFor: presentWait(wait),
    trigger: run.trigger,
    attempt: run.attempt,
    environment: run.environment,
    parentRunId: run.parentRunId,
    depth: run.depth,
    error: run.error,
    queuedAt: run.queuedAt.toISOString(),
    startedAt: run.startedAt?.toISOString() ?? null,
    finishedAt: run.finishedAt?.toISOString() ?? null,
    context: run.context,
    payload: run.payload,
    stepsResultJson: presentSteps(run),
  };
}

/** The steps of a run, or those with the given indexes. */
export function presentSteps(
  { steps, results }: FoundRun,
  indexes: readonly number[] = [...steps.keys()],
): StepResult[] {
  const byIndex = new Map(results.map((result) => [result.index, result]));
  return indexes.flatMap((index) => {
    const step = steps[index];
    return step === undefined ? [] : [presentStep(step, index, byIndex.get(index))];
  });
}

/** The attempts of a step. An earlier release kept nothing of those that it tried again. */
function presentAttempts(row: RunStepRow): StepResult['attemptHistory'] {
  return Array.from({ length: row.attempts }, (_, index) => {
    const attempt = index + 1;
    const commandIds = (row.commands ?? []).flatMap((command) => (command.attempt === attempt ? [command.id] : []));
    const retried = row.retried_attempts?.find((each) => each.attempt === attempt);
    if (retried !== undefined) {
      const { startedAt, finishedAt, error } = retried;
      const [from, to] = [new Date(startedAt).toISOString(), new Date(finishedAt).toISOString()];
      return { attempt, startedAt: from, finishedAt: to, error, commandIds };
    }
    if (attempt < row.attempts) return { attempt, startedAt: null, finishedAt: null, error: null, commandIds };
    const startedAt = attempt === 1 ? row.started_at : row.attempt_started_at;
    return {
      attempt,
      startedAt: startedAt?.toISOString() ?? null,
      finishedAt: row.finished_at?.toISOString() ?? null,
      error:
        row.error === null
          ? null
          : { code: row.error.code, message: row.error.message.slice(0, maxAttemptMessage).toWellFormed() },
      commandIds,
    };
  });
}

const retryDefaults = { backoffSeconds: 1, factor: 2 };

const presentStep = (step: Step, index: number, result: RunStepRow | undefined): StepResult => ({
  index,
  id: step.id ?? null,
  name: step.name ?? null,
  type: step.type,
  skillId: step.type === 'skill' ? step.skillId : null,
  status: result?.status ?? 'pending',
  when: step.when ?? null,
  // A step of an earlier version can lack fields that have defaults.
  retry: step.retry === undefined ? null : { ...retryDefaults, ...step.retry },
  timeoutSeconds: step.timeoutSeconds ?? null,
  attempts: result?.attempts ?? 0,
  attemptHistory: result === undefined ? [] : presentAttempts(result),
  startedAt: result?.started_at?.toISOString() ?? null,
  finishedAt: result?.finished_at?.toISOString() ?? null,
  input: result?.input ?? null,
  inputOmitted: result?.input_omitted === true,
  output: result?.output ?? null,
  outputText: result?.output_text ?? null,
  outputBytes: result?.output_bytes ?? 0,
  turns: step.type === 'agent' ? (result?.turns ?? null) : null,
  error: result?.error ?? null,
  approval: presentApproval(result?.approval),
  childRunId: result?.child_run_id ?? null,
  commands: (result?.commands ?? []).map(({ createdAt, finishedAt, ...command }) => ({
    ...command,
    createdAt: new Date(createdAt).toISOString(),
    finishedAt: finishedAt === null ? null : new Date(finishedAt).toISOString(),
  })),
  artifactIds: result?.artifact_ids ?? [],
});
