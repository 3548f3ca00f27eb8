import type { z } from 'zod';
import { finalRunStatuses } from '../../../../shared/contract/automations/run-status.ts';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { runs as resource } from '../../../../shared/contract/automations/runs.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { insertRetries, lockForRetry } from '../../../engine/index.ts';
import type { EndedRun, RerunChanges, RunCaller } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { recordAudits } from '../../core/audit/index.ts';
import { testKeyNotAllowed } from '../test-keys/index.ts';
import type { QueueCapacity } from './queue-capacity.ts';
import { replayChanges } from './replay-changes.ts';

/** How ended runs are run again. */
export interface RerunPlan {
  /** Action name in the audit log. */
  action: 'run.retried' | 'run.replayed';
  /** Asserts that the state of a run allows the operation. @throws AppError. */
  assertAllowed: (run: EndedRun) => void;
  /** The first step of the new run; the first step that has not succeeded when undefined. */
  fromStep: number | undefined;
  /** Path of the step in the request. */
  field: string;
  /** What the new run has instead of the values of the run. @throws AppError `validation_failed`. */
  changesOf?: (tx: Transaction, tenantId: string, run: EndedRun) => Promise<RerunChanges>;
}

export type ReplayBody = z.output<typeof resource.replayAutomationRun.body>;

/** The new run, or the refusal; `latest` when the run already has a newer attempt. */
export type RerunOutcome = { runId: string } | { refusal: AppError; latest?: string };

export const isFinal = (status: RunStatus) => (finalRunStatuses as readonly RunStatus[]).includes(status);

export const asRetry = (fromStep?: number): RerunPlan => ({
  action: 'run.retried',
  fromStep,
  field: 'query.fromStep',
  assertAllowed({ status }) {
    if (status !== 'failed' && status !== 'cancelled')
      throw new AppError('run_not_retryable', `The run is ${status}; only a failed or cancelled run can be retried.`);
  },
});

export const asReplay = ({ fromStep, ...options }: ReplayBody): RerunPlan => ({
  action: 'run.replayed',
  fromStep,
  field: 'body.fromStep',
  changesOf: (tx, tenantId, run) => replayChanges(tx, tenantId, run, fromStep, options),
  assertAllowed({ status }) {
    if (!isFinal(status))
      throw new AppError('run_not_retryable', `The run is ${status}; only a run that has ended can be replayed.`);
  },
});

/**
 * Queues the next attempts of the flows of runs, in the transaction of the caller. The number of statements does not
 * depend on the number of runs. A run that can't be run again is refused and does not affect the others.
 */
export async function rerunRuns(
  tx: Transaction,
  queueCapacity: QueueCapacity,
  tenantId: string,
  runIds: readonly string[],
  caller: RunCaller,
  plan: RerunPlan,
): Promise<Map<string, RerunOutcome>> {
  const found = new Map((await lockForRetry(tx, tenantId, runIds)).map((run) => [run.id, run]));
  const outcomes = new Map<string, RerunOutcome>();
  const requested: { run: EndedRun; fromStep: number; changes: RerunChanges }[] = [];
  for (const id of runIds) {
    const run = found.get(id);
    try {
      if (run === undefined) throw notFound('run', id);
      if (caller.environment === 'test' && run.environment === 'live') throw testKeyNotAllowed('live runs');
      const fromStep = firstStepOf(run, plan);
      const changes = (await plan.changesOf?.(tx, tenantId, run)) ?? {};
      requested.push({ run, fromStep, changes });
    } catch (error) {
      if (!(error instanceof AppError)) throw error;
      const isOld = run !== undefined && run.latest_run_id !== id;
      outcomes.set(id, { refusal: error, ...(isOld ? { latest: run.latest_run_id } : {}) });
    }
  }
  for (const [environment, ofQueue] of Map.groupBy(requested, ({ run }) => run.environment)) {
    const acceptedCount = await queueCapacity.reserve(tx, { tenantId, environment }, ofQueue.length);
    for (const { run } of ofQueue.slice(acceptedCount)) outcomes.set(run.id, { refusal: queueCapacity.refusal() });
  }
  const retries = requested.filter(({ run }) => !outcomes.has(run.id));
  const inserted = await insertRetries(tx, retries, caller);
  await recordAudits(
    tx,
    retries.map(({ run, fromStep, changes }) => ({
      tenantId,
      actor: caller.actor,
      action: plan.action,
      targetType: 'run',
      targetId: run.id,
      details: {
        as: inserted.get(run.id) ?? null,
        fromStep,
        ...(changes.workflowVersion === undefined ? {} : { workflowVersion: changes.workflowVersion }),
        ...(changes.payload === undefined ? {} : { changedPayload: true }),
      },
    })),
  );
  for (const [id, runId] of inserted) outcomes.set(id, { runId });
  return outcomes;
}

/** @throws AppError `run_not_retryable`, `validation_failed`. */
function firstStepOf(run: EndedRun, { assertAllowed, fromStep, field }: RerunPlan): number {
  assertAllowed(run);
  if (run.latest_run_id !== run.id)
    throw new AppError(
      'run_not_retryable',
      `The run already has a newer attempt. Use the latest attempt, ${run.latest_run_id}.`,
    );
  if (run.is_bare && fromStep !== 0)
    throw new AppError('run_not_retryable', 'The steps of the run are no longer stored. Replay it from step 0.');
  const maxStep = run.first_open;
  if (fromStep !== undefined && fromStep > maxStep)
    throw new AppError(
      'validation_failed',
      `fromStep must be from 0 to ${maxStep}: the step at ${maxStep} has not succeeded yet.`,
      { details: [{ path: field, message: `must be from 0 to ${maxStep}` }] },
    );
  return fromStep ?? maxStep;
}
