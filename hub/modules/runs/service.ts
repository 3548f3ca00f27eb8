import type { z } from 'zod';
import { finalRunStatuses } from '../../../shared/contract/run-status.ts';
import type { RunStatus } from '../../../shared/contract/run-status.ts';
import type { Run, StepResult } from '../../../shared/contract/runs.ts';
import { runs as runsResource } from '../../../shared/contract/runs.ts';
import type { Step } from '../../../shared/contract/workflows.ts';
import { AppError } from '../../../shared/errors.ts';
import type { Cursors } from '../../platform/cursor.ts';
import type { Database, Transaction } from '../../platform/db/database.ts';
import type { Events } from '../../platform/events/events.ts';
import { recordAudit } from '../audit/index.ts';
import { acceptRun, cancelRun, insertLog, insertRetry, listRuns, lockFlow, readRun } from './store.ts';
import type { LogLine, NewRun, PromisedJob, RunFilter, RunRow, RunStepRow } from './store.ts';

export type RunRequest = NewRun;
export interface AcceptedRun {
  runId: string;
  status: RunStatus;
}

/** Topic on which the end of a run, or its stop at an approval, is told. */
export const runTopic = (runId: string) => `run:${runId}`;

export interface RunsDependencies {
  db: Database;
  events: Events;
  cursors: Cursors;
  /** Hands promised jobs to the queue; called after the commit, never fails. */
  dispatch: (jobs: PromisedJob[]) => void;
  /** Ends what open steps of a cancelled run wait for, in the same transaction; answers what to tell after the commit. */
  onCancel: (tx: Transaction, tenantId: string, runId: string) => Promise<() => void>;
}

type ListQuery = z.output<typeof runsResource.listAutomationRuns.query>;

/** Runs as callers see them: accepted, listed, read, cancelled, retried. The engine alone moves them on. */
export class Runs {
  readonly #deps: RunsDependencies;

  constructor(dependencies: RunsDependencies) {
    this.#deps = dependencies;
  }

  /** Accepts a run; when this resolves the run is durable and a worker will take it. */
  async accept(request: RunRequest): Promise<AcceptedRun> {
    const accepted = await this.#deps.db.workspace(request.tenantId, (tx) => acceptRun(tx, request));
    this.#deps.dispatch([accepted.job]);
    return { runId: accepted.runId, status: 'queued' };
  }

  /** Hands jobs that a transaction promised to the queue, after its commit. */
  dispatch(jobs: PromisedJob[]): void {
    this.#deps.dispatch(jobs);
  }

  async list(tenantId: string, query: ListQuery) {
    const scope = `runs:${tenantId}`;
    const before = query.cursor === undefined ? undefined : this.#deps.cursors.decode(scope, query.cursor);
    const filter: RunFilter = {
      status: query.status,
      workflowId: query.workflowId,
      from: query.from === undefined ? undefined : new Date(query.from),
      to: query.to === undefined ? undefined : new Date(query.to),
    };
    const rows = await this.#deps.db.workspace(tenantId, (tx) => listRuns(tx, tenantId, filter, query.limit + 1, before));
    const pageRows = rows.slice(0, query.limit);
    const last = pageRows.at(-1);
    return {
      data: pageRows.map((row) => ({ ...row, ...times(row) })),
      meta: { limit: query.limit, nextCursor: rows.length > query.limit && last !== undefined ? this.#deps.cursors.encode(scope, last.id) : null },
    };
  }

  /**
   * Reads a run; with `waitSeconds`, once it has ended or waits for an approval, or when that time is over.
   * @throws AppError `not_found`.
   */
  async get(tenantId: string, runId: string, options: { waitSeconds?: number; signal?: AbortSignal } = {}): Promise<Run> {
    const { waitSeconds = 0, signal } = options;
    if (waitSeconds === 0) return this.#read(tenantId, runId);
    const deadline = performance.now() + waitSeconds * 1000;
    // Subscribed before the first look, so that no change between the two is missed.
    let changed = Promise.withResolvers<void>();
    using _subscription = this.#deps.events.subscribe(runTopic(runId), () => changed.resolve());
    for (;;) {
      const run = await this.#read(tenantId, runId);
      const leftMs = deadline - performance.now();
      if (isSettled(run.status) || leftMs <= 0 || signal?.aborted === true) return run;
      await waitFor(changed.promise, leftMs, signal);
      changed = Promise.withResolvers<void>();
    }
  }

  /** @throws AppError `not_found`, or `run_not_cancellable` when it has ended. */
  async cancel(tenantId: string, runId: string, actor: string): Promise<Run> {
    const tell = await this.#deps.db.workspace(tenantId, async (tx) => {
      const before = await cancelRun(tx, tenantId, runId);
      if (before === null) throw notFound(runId);
      if (isFinal(before)) throw new AppError('run_not_cancellable', `The run has ended (${before}); only a queued, running or waiting run can be cancelled.`);
      await recordAudit(tx, { tenantId, actor, action: 'run.cancelled', targetType: 'run', targetId: runId, details: { before } });
      return this.#deps.onCancel(tx, tenantId, runId);
    });
    tell();
    void this.#deps.events.publish(runTopic(runId), { status: 'cancelled' });
    return this.#read(tenantId, runId);
  }

  /**
   * Queues the next attempt of the run's flow.
   * @throws AppError `not_found`, or `run_not_retryable` unless the run failed or was cancelled and is its flow's latest attempt.
   */
  async retry(tenantId: string, runId: string, fromStep: number | undefined, actor: string): Promise<Run> {
    const retried = await this.#deps.db.workspace(tenantId, async (tx) => {
      const found = await readRun(tx, tenantId, runId);
      if (found === null) throw notFound(runId);
      const latest = await lockFlow(tx, found.run.flowId);
      if (found.run.status !== 'failed' && found.run.status !== 'cancelled') {
        throw new AppError('run_not_retryable', `The run is ${found.run.status}; only a failed or cancelled run can be retried.`);
      }
      if (latest?.latestRunId !== runId) {
        throw new AppError('run_not_retryable', `The run was retried already; retry its latest attempt, ${latest?.latestRunId ?? 'unknown'}.`);
      }
      const firstOpen = firstStepToRetry(found.results, found.steps.length);
      if (fromStep !== undefined && fromStep > firstOpen) {
        throw new AppError('validation_failed', `fromStep must be from 0 to ${firstOpen}: the step at ${firstOpen} has not succeeded yet.`, {
          details: [{ path: 'query.fromStep', message: `must be from 0 to ${firstOpen}` }],
        });
      }
      const result = await insertRetry(tx, found.run, fromStep ?? firstOpen);
      await recordAudit(tx, { tenantId, actor, action: 'run.retried', targetType: 'run', targetId: runId, details: { retriedAs: result.runId } });
      return result;
    });
    this.#deps.dispatch([retried.job]);
    return this.#read(tenantId, retried.runId);
  }

  /** Adds a line to the log of a run, in the caller's transaction. */
  appendLog(tx: Transaction, line: LogLine): Promise<void> {
    return insertLog(tx, line);
  }

  async #read(tenantId: string, runId: string): Promise<Run> {
    const found = await this.#deps.db.workspace(tenantId, (tx) => readRun(tx, tenantId, runId));
    if (found === null) throw notFound(runId);
    return presentRun(found.run, found.steps, found.results);
  }
}

export function createRuns(dependencies: RunsDependencies): Runs {
  return new Runs(dependencies);
}

function notFound(runId: string): AppError {
  return new AppError('not_found', `There is no run ${runId} in this workspace.`);
}

function isFinal(status: RunStatus): boolean {
  return (finalRunStatuses as readonly RunStatus[]).includes(status);
}

const isSettled = (status: RunStatus) => isFinal(status) || status === 'waiting_approval';

function firstStepToRetry(results: RunStepRow[], stepCount: number): number {
  for (let index = 0; index < stepCount; index += 1) {
    const status = results.find((result) => result.index === index)?.status;
    if (status !== 'succeeded' && status !== 'skipped') return index;
  }
  return Math.max(stepCount - 1, 0);
}

async function waitFor(promise: Promise<void>, milliseconds: number, signal: AbortSignal | undefined): Promise<void> {
  const over = Promise.withResolvers<void>();
  const timer = setTimeout(over.resolve, milliseconds);
  signal?.addEventListener('abort', () => over.resolve(), { once: true });
  try {
    await Promise.race([promise, over.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function times(row: { queuedAt: Date; startedAt: Date | null; finishedAt: Date | null }) {
  return {
    queuedAt: row.queuedAt.toISOString(),
    startedAt: row.startedAt?.toISOString() ?? null,
    finishedAt: row.finishedAt?.toISOString() ?? null,
  };
}

function presentRun(run: RunRow, steps: Step[], results: RunStepRow[]): Run {
  const byIndex = new Map(results.map((result) => [result.index, result]));
  return {
    id: run.id,
    workflowId: run.workflowId,
    workflowVersion: run.workflowVersion,
    flowId: run.flowId,
    status: run.status,
    trigger: run.trigger,
    attempt: run.attempt,
    environment: run.environment,
    error: run.error,
    ...times(run),
    context: run.context,
    payload: run.payload,
    stepsResultJson: steps.map((step, index): StepResult => {
      const result = byIndex.get(index);
      return {
        index,
        id: step.id ?? null,
        type: step.type,
        skillId: step.type === 'skill' ? step.skillId : null,
        status: result?.status ?? 'pending',
        attempts: result?.attempts ?? 0,
        startedAt: result?.startedAt?.toISOString() ?? null,
        finishedAt: result?.finishedAt?.toISOString() ?? null,
        output: result?.output ?? null,
        outputText: result?.outputText ?? null,
        error: result?.error ?? null,
      };
    }),
  };
}
