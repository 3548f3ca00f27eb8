import type { z } from 'zod';
import { flows as flowsResource } from '../../../../shared/contract/automations/flows.ts';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import { runs as runsResource } from '../../../../shared/contract/automations/runs.ts';
import type { Run } from '../../../../shared/contract/automations/runs.ts';
import type { WorkflowLimits } from '../../../../shared/contract/automations/workflows.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { countRuns, lockWorkflow, runRowsTopic } from '../../../engine/index.ts';
import type { PromisedJob, RunCaller } from '../../../engine/index.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import type { Follower, LiveTopics } from '../../../platform/events/live-topics.ts';
import type { Tracing } from '../../../platform/observability/tracing/tracing.ts';
import type { MemoryBudget } from '../../../platform/process/memory-budget.ts';
import { asReplay, asRetry, runAgain } from './again.ts';
import type { AgainPlan } from './again.ts';
import { chooseRuns, refused } from './bulk.ts';
import { cancelAudited, cancelWithin } from './cancel.ts';
import { listFlowRuns, listFlows } from './flow-store.ts';
import { presentFlow, presentSummary } from './present.ts';
import { QueueCapacity } from './queue-capacity.ts';
import { RunReader } from './reader.ts';
import { listRuns } from './store.ts';
import type { RunFilter } from './store.ts';

export interface AcceptedRun {
  runId: string;
  status: RunStatus;
}

export interface RunsDependencies {
  db: Database;
  events: Events;
  live: LiveTopics;
  cursors: Cursors;
  /** Null when nothing is traced. */
  tracing: Tracing | null;
  /** Memory for answers that show large runs. */
  answerMemory: MemoryBudget;
  /** How often nodes say that they are there. */
  heartbeatSeconds: number;
  /** Runs of one workspace that are queued at once; 0 for any number. */
  maxQueued: number;
  /** Hands promised jobs to the queue; called after the commit, never fails. */
  dispatch: (jobs: PromisedJob[]) => void;
  /** Ends what open steps of cancelled runs wait for, in the same transaction; answers what to tell after the commit. */
  onCancel: (tx: Transaction, tenantId: string, runIds: readonly string[]) => Promise<() => void>;
}

type ListQuery = z.output<typeof runsResource.listAutomationRuns.query>;
type CancelBody = z.output<typeof runsResource.cancelAutomationRuns.body>;
type RetryBody = z.output<typeof runsResource.retryAutomationRuns.body>;
type BulkAnswer = z.input<typeof runsResource.cancelAutomationRuns.response>;
type FlowListQuery = z.output<typeof flowsResource.listAutomationFlows.query>;

/** Runs as callers see them: accepted, listed, read, cancelled, retried. The engine alone moves them on. */
export class Runs {
  readonly #deps: RunsDependencies;
  readonly #room: QueueCapacity;
  readonly reader: RunReader;

  constructor(dependencies: RunsDependencies) {
    this.#deps = dependencies;
    this.reader = new RunReader(dependencies);
    this.#room = new QueueCapacity(dependencies.maxQueued);
  }

  /** Hands jobs that a transaction promised to the queue, after its commit. */
  dispatch(jobs: PromisedJob[]): void {
    this.#deps.dispatch(jobs);
  }

  list(tenantId: string, query: ListQuery) {
    const filter: RunFilter = {
      status: query.status,
      workflowId: query.workflowId,
      from: query.from === undefined ? undefined : new Date(query.from),
      to: query.to === undefined ? undefined : new Date(query.to),
    };
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) => listRuns(tx, tenantId, this.#deps.heartbeatSeconds, filter, limit, before));
    return readPage(this.#deps.cursors, `runs:${tenantId}`, query, read, presentSummary);
  }

  /** @throws AppError `not_found`, `run_not_cancellable` when it has ended, or `test_key_not_allowed`. */
  async cancel(tenantId: string, runId: string, caller: RunCaller): Promise<Run> {
    const cancelled = await this.#deps.db.workspace(tenantId, async (tx) => {
      const result = await cancelAudited(tx, this.#deps, tenantId, [runId.toLowerCase()], caller);
      for (const refusal of result.refusals.values()) throw refusal;
      return result;
    });
    cancelled.committed();
    return this.reader.get(tenantId, runId);
  }

  /** Cancels runs that are not to go on for whatever reason, without a word in the audit log; one that has ended meanwhile stays as it is. */
  async end(tenantId: string, runIds: readonly string[]): Promise<void> {
    const { committed } = await this.#deps.db.workspace(tenantId, (tx) =>
      cancelWithin(tx, this.#deps, tenantId, runIds),
    );
    committed();
  }

  /** Cancels several runs at once; one that can't be keeps no other from it. */
  async cancelMany(tenantId: string, body: CancelBody, caller: RunCaller): Promise<BulkAnswer> {
    const { ids, next, cancelled } = await this.#deps.db.workspace(tenantId, async (tx) => {
      const chosen = await chooseRuns(tx, tenantId, body, ['queued', 'running', 'waiting_approval']);
      return { ...chosen, cancelled: await cancelAudited(tx, this.#deps, tenantId, chosen.ids, caller) };
    });
    cancelled.committed();
    const results = ids.map((id) => {
      const refusal = cancelled.refusals.get(id);
      return refusal === undefined ? { id, ok: true as const, runId: id } : refused(id, refusal);
    });
    return { results, more: next !== null, next };
  }

  /** Takes room among the queued runs of a workspace, for runs that the caller's transaction accepts; answers for how many there is. */
  takeRoom(tx: Transaction, tenantId: string, wanted: number): Promise<number> {
    return this.#room.take(tx, tenantId, wanted);
  }

  /** The same for one run, where that is known without a look; false where it is not. */
  takeKnownRoom(tenantId: string): boolean {
    return this.#room.takeKnown(tenantId);
  }

  /** The same for one run. @throws AppError `queued_runs_limit_reached` when there is none. */
  takeRoomForOne(tx: Transaction, tenantId: string): Promise<void> {
    return this.#room.takeOne(tx, tenantId);
  }

  /**
   * Makes room for a run of a workflow with limits, in the caller's transaction; call what it answers after the commit.
   * @throws AppError `workflow_limit_reached` when the limits say that the run is to be dropped.
   */
  async admit(
    tx: Transaction,
    workflow: { tenantId: string; id: string; limits: WorkflowLimits | null },
  ): Promise<() => void> {
    const { limits, tenantId, id } = workflow;
    if (limits === null || limits.onLimit === 'queue') return () => undefined;
    await lockWorkflow(tx, id);
    const { open, lastMinute } = await countRuns(tx, id);
    const max = limits.maxConcurrentRuns ?? Number.POSITIVE_INFINITY;
    if (limits.maxRunsPerMinute !== undefined && lastMinute >= limits.maxRunsPerMinute)
      throw limitReached(`more than ${limits.maxRunsPerMinute} runs a minute`);
    if (open.length < max) return () => undefined;
    if (limits.onLimit === 'drop') throw limitReached(`${open.length} of at most ${max} runs are under way`);
    return (await cancelWithin(tx, this.#deps, tenantId, open.slice(0, open.length - max + 1))).committed;
  }

  /**
   * Queues the next attempt of the run's flow.
   * @throws AppError `not_found`, or `run_not_retryable` unless the run failed or was cancelled and is its flow's latest attempt.
   */
  retry(tenantId: string, runId: string, fromStep: number | undefined, caller: RunCaller): Promise<Run> {
    return this.#again(tenantId, runId, caller, asRetry(fromStep));
  }

  /**
   * Runs an ended run again from any step that it reached, as the next attempt of its flow.
   * @throws AppError `not_found`, or `run_not_retryable` when it has not ended or is not its flow's latest attempt.
   */
  replay(tenantId: string, runId: string, fromStep: number, caller: RunCaller): Promise<Run> {
    return this.#again(tenantId, runId, caller, asReplay(fromStep));
  }

  /** Queues the next attempts of several flows at once; a run that can't be retried keeps no other from it. */
  async retryMany(tenantId: string, body: RetryBody, caller: RunCaller): Promise<BulkAnswer> {
    const { ids, byFilter, next, again } = await this.#deps.db.workspace(tenantId, async (tx) => {
      const chosen = await chooseRuns(tx, tenantId, body, ['failed', 'cancelled']);
      return { ...chosen, again: await runAgain(tx, this.#room, tenantId, chosen.ids, caller, asRetry()) };
    });
    this.#deps.dispatch(again.jobs);
    const results = ids.flatMap((id): BulkAnswer['results'] => {
      const outcome = again.outcomes.get(id);
      if (outcome === undefined) return [];
      if ('runId' in outcome) return [{ id, ok: true as const, runId: outcome.runId }];
      // Whoever asks for all that failed does not mean what was run again since.
      return byFilter && outcome.latest !== undefined ? [] : [refused(id, outcome.refusal)];
    });
    return { results, more: next !== null, next };
  }

  async #again(tenantId: string, runId: string, caller: RunCaller, plan: AgainPlan): Promise<Run> {
    const id = runId.toLowerCase();
    const { newRunId, jobs } = await this.#deps.db.workspace(tenantId, async (tx) => {
      const { outcomes, jobs: promised } = await runAgain(tx, this.#room, tenantId, [id], caller, plan);
      const outcome = outcomes.get(id);
      if (outcome === undefined || 'refusal' in outcome) throw outcome?.refusal ?? notFound('run', runId);
      return { newRunId: outcome.runId, jobs: promised };
    });
    this.#deps.dispatch(jobs);
    return this.reader.get(tenantId, newRunId);
  }

  /** A page of flows, newest first. */
  listFlows(tenantId: string, query: FlowListQuery) {
    const read = (limit: number, before: string | undefined) =>
      this.#deps.db.read(tenantId, (tx) => listFlows(tx, tenantId, query.workflowId, limit, before));
    return readPage(this.#deps.cursors, `flows:${tenantId}`, query, read, presentFlow);
  }

  /** A flow with its runs, first attempt first. @throws AppError `not_found`. */
  async getFlow(tenantId: string, flowId: string) {
    const found = await this.#deps.db.read(tenantId, async (tx) => {
      const [flow] = await listFlows(tx, tenantId, undefined, 1, undefined, flowId);
      return flow === undefined
        ? null
        : { flow, runs: await listFlowRuns(tx, tenantId, this.#deps.heartbeatSeconds, flowId) };
    });
    if (found === null) throw notFound('flow', flowId);
    return { ...presentFlow(found.flow), runs: found.runs.map(presentSummary) };
  }

  /** How many runs are under way, by state. */
  async countOpen(tenantId: string): Promise<{ queued: number; running: number; waitingApproval: number }> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query<{ queued: number; running: number; waiting: number }>(
        'count_open_runs',
        `SELECT (SELECT count(*)::int FROM runs WHERE tenant_id = $1 AND status = 'queued') AS queued,
             (SELECT count(*)::int FROM runs WHERE tenant_id = $1 AND status = 'running') AS running,
             (SELECT count(*)::int FROM runs WHERE tenant_id = $1 AND status = 'waiting_approval') AS waiting`,
        [tenantId],
      ),
    );
    const row = rows[0];
    return { queued: row?.queued ?? 0, running: row?.running ?? 0, waitingApproval: row?.waiting ?? 0 };
  }

  /** Follows what is written of a run: its steps, its state. */
  follow(runId: string): Follower {
    return this.#deps.live.follow(runRowsTopic(runId));
  }
}

function limitReached(reason: string): AppError {
  return new AppError('workflow_limit_reached', `The workflow's limits refuse this run: ${reason}.`, {
    retryAfterSeconds: 5,
  });
}
