import type { z } from 'zod';
import { flows as flowsResource } from '../../../../shared/contract/automations/flows.ts';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import { runs as runsResource } from '../../../../shared/contract/automations/runs.ts';
import type { Run } from '../../../../shared/contract/automations/runs.ts';
import type { WorkflowLimits } from '../../../../shared/contract/automations/workflows.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import { countRuns, lockWorkflow, runRowsTopic } from '../../../engine/index.ts';
import type { RunCaller } from '../../../engine/index.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import type { Events } from '../../../platform/events/events.ts';
import type { Follower, LiveTopics } from '../../../platform/events/live-topics.ts';
import type { Tracing } from '../../../platform/observability/tracing/tracing.ts';
import type { MemoryBudget } from '../../../platform/process/memory-budget.ts';
import { cancelAudited, cancelWithin } from './cancel.ts';
import { listFlowRuns, listFlows } from './flow-store.ts';
import { asQueued, presentFlow, presentSummary } from './present.ts';
import { QueueCapacity } from './queue-capacity.ts';
import type { RunQueue } from './queue-capacity.ts';
import { RunReader } from './reader.ts';
import { asReplay, asRetry, rerunRuns } from './rerun.ts';
import type { ReplayBody, RerunPlan } from './rerun.ts';
import { RunArtifacts } from './run-artifacts.ts';
import { readRunEstimate, readRunList, searchOf } from './run-list.ts';
import type { RunEstimateQuery, RunListQuery } from './run-list.ts';
import { searchRunIds } from './run-search.ts';

export interface AcceptedRun {
  runId: string;
  status: RunStatus;
}

export interface RunsDependencies {
  db: Database;
  events: Events;
  live: LiveTopics;
  cursors: Cursors;
  /** Null when tracing is disabled. */
  tracing: Tracing | null;
  /** Memory budget for responses with large runs. */
  answerMemory: MemoryBudget;
  /** Heartbeat interval of nodes, in seconds. */
  heartbeatSeconds: number;
  /** Maximum queued runs per workspace; 0 for no limit. */
  maxQueued: number;
  /**
   * Ends what the open steps of cancelled runs wait for, in the same transaction.
   */
  onCancel: (tx: Transaction, tenantId: string, runIds: readonly string[]) => Promise<void>;
}

type CancelBody = z.output<typeof runsResource.cancelAutomationRuns.body>;
type RetryBody = z.output<typeof runsResource.retryAutomationRuns.body>;
type BulkAnswer = z.input<typeof runsResource.cancelAutomationRuns.response>;
type FlowListQuery = z.output<typeof flowsResource.listAutomationFlows.query>;

/** The runs of a bulk operation. */
interface SelectedRuns {
  ids: string[];
  /** Whether a filter selected the runs. Then runs that the filter no longer matches are omitted from the response. */
  byFilter: boolean;
  /** The id of the last selected or examined run when the filter can match older runs; otherwise null. */
  next: string | null;
}

/** Lists, reads, cancels and retries runs for callers. Only the engine executes them. */
export class Runs {
  readonly #deps: RunsDependencies;
  readonly #queueCapacity: QueueCapacity;
  readonly reader: RunReader;
  readonly artifacts: RunArtifacts;

  constructor(dependencies: RunsDependencies) {
    this.#deps = dependencies;
    this.reader = new RunReader(dependencies);
    this.artifacts = new RunArtifacts(dependencies);
    this.#queueCapacity = new QueueCapacity(dependencies.maxQueued);
  }

  /** @throws AppError `invalid_cursor`. */
  list(tenantId: string, query: RunListQuery) {
    return readRunList(this.#deps, tenantId, query);
  }

  /** The number of runs that the filters of a list select: counted, or estimated for many runs. */
  estimate(tenantId: string, query: RunEstimateQuery) {
    return readRunEstimate(this.#deps, tenantId, query);
  }

  /** @throws AppError `not_found`, `run_not_cancellable` when it has ended, or `test_key_not_allowed`. */
  async cancel(tenantId: string, runId: string, caller: RunCaller): Promise<Run> {
    await this.#deps.db.workspace(tenantId, async (tx) => {
      const refusals = await cancelAudited(tx, this.#deps, tenantId, [runId.toLowerCase()], caller);
      for (const refusal of refusals.values()) throw refusal;
    });
    return this.reader.get(tenantId, runId);
  }

  /** Cancels runs without an audit record, for internal callers. Ended runs stay unchanged. */
  async end(tenantId: string, runIds: readonly string[]): Promise<void> {
    await this.#deps.db.workspace(tenantId, (tx) => cancelWithin(tx, this.#deps, tenantId, runIds));
  }

  /** Cancels several runs. A run that can't be cancelled does not affect the others. */
  async cancelMany(tenantId: string, body: CancelBody, caller: RunCaller): Promise<BulkAnswer> {
    const { ids, next, refusals } = await this.#deps.db.workspace(tenantId, async (tx) => {
      const chosen = await selectRuns(tx, tenantId, body, ['queued', 'running', 'waiting_approval']);
      return { ...chosen, refusals: await cancelAudited(tx, this.#deps, tenantId, chosen.ids, caller) };
    });
    const results = ids.map((id) => {
      const refusal = refusals.get(id);
      return refusal === undefined ? { id, ok: true as const, runId: id } : refused(id, refusal);
    });
    return { results, more: next !== null, next };
  }

  /**
   * Reserves queue capacity for runs that the transaction of the caller accepts. @returns the number of runs that fit.
   */
  reserveQueueSlots(tx: Transaction, queue: RunQueue, wanted: number): Promise<number> {
    return this.#queueCapacity.reserve(tx, queue, wanted);
  }

  /** Reserves cached queue capacity for one run. @returns false when the capacity must be counted. */
  reserveCachedQueueSlot(queue: RunQueue): boolean {
    return this.#queueCapacity.reserveCached(queue);
  }

  /** Reserves queue capacity for one run. @throws AppError `queued_runs_limit_reached` when the queue is full. */
  reserveOneQueueSlot(tx: Transaction, queue: RunQueue): Promise<void> {
    return this.#queueCapacity.reserveOne(tx, queue);
  }

  /**
   * Admits a run of a workflow with limits in the transaction of the caller, and cancels open runs when the limits
   * require it. Only runs of the same environment count and are cancelled.
   * @throws AppError `workflow_limit_reached` when the limits drop the run.
   */
  async admit(
    tx: Transaction,
    workflow: { tenantId: string; id: string; limits: WorkflowLimits | null },
    environment: 'live' | 'test',
  ): Promise<void> {
    const { limits, tenantId, id } = workflow;
    if (limits === null || limits.onLimit === 'queue') return;
    await lockWorkflow(tx, id);
    const { open, lastMinute } = await countRuns(tx, id, environment);
    const max = limits.maxConcurrentRuns ?? Number.POSITIVE_INFINITY;
    if (limits.maxRunsPerMinute !== undefined && lastMinute >= limits.maxRunsPerMinute)
      throw limitReached(`more than ${limits.maxRunsPerMinute} runs per minute`);
    if (open.length < max) return;
    if (limits.onLimit === 'drop') throw limitReached(`${open.length} of at most ${max} runs are in progress`);
    await cancelWithin(tx, this.#deps, tenantId, open.slice(0, open.length - max + 1));
  }

  /**
   * Queues the next attempt of the flow of a run.
   * @throws AppError `not_found`, or `run_not_retryable` unless the run failed or was cancelled and is the latest
   * attempt of its flow.
   */
  retry(tenantId: string, runId: string, fromStep: number | undefined, caller: RunCaller): Promise<Run> {
    return this.#rerun(tenantId, runId, caller, asRetry(fromStep));
  }

  /**
   * Runs an ended run again from any step that it reached, as the next attempt of its flow.
   * @throws AppError `not_found`, `validation_failed` for a step, input or version that does not fit, or
   * `run_not_retryable` when the run has not ended or is not the latest attempt of its flow.
   */
  replay(tenantId: string, runId: string, body: ReplayBody, caller: RunCaller): Promise<Run> {
    return this.#rerun(tenantId, runId, caller, asReplay(body));
  }

  /** Queues the next attempts of several flows. A run that can't be retried does not affect the others. */
  async retryMany(tenantId: string, body: RetryBody, caller: RunCaller): Promise<BulkAnswer> {
    const { ids, byFilter, next, outcomes } = await this.#deps.db.workspace(tenantId, async (tx) => {
      const chosen = await selectRuns(tx, tenantId, body, ['failed', 'cancelled']);
      return { ...chosen, outcomes: await rerunRuns(tx, this.#queueCapacity, tenantId, chosen.ids, caller, asRetry()) };
    });
    const results = ids.flatMap((id): BulkAnswer['results'] => {
      const outcome = outcomes.get(id);
      if (outcome === undefined) return [];
      if ('runId' in outcome) return [{ id, ok: true as const, runId: outcome.runId }];
      // A filter for failed runs does not mean runs that already have a newer attempt.
      return byFilter && outcome.latest !== undefined ? [] : [refused(id, outcome.refusal)];
    });
    return { results, more: next !== null, next };
  }

  async #rerun(tenantId: string, runId: string, caller: RunCaller, plan: RerunPlan): Promise<Run> {
    const id = runId.toLowerCase();
    const newRunId = await this.#deps.db.workspace(tenantId, async (tx) => {
      const outcomes = await rerunRuns(tx, this.#queueCapacity, tenantId, [id], caller, plan);
      const outcome = outcomes.get(id);
      if (outcome === undefined || 'refusal' in outcome) throw outcome?.refusal ?? notFound('run', runId);
      return outcome.runId;
    });
    // A worker may have claimed the run since the commit.
    return asQueued(await this.reader.get(tenantId, newRunId));
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

  /** Streams the changes of a run and its steps. */
  follow(runId: string): Follower {
    return this.#deps.live.follow(runRowsTopic(runId));
  }
}

function limitReached(reason: string): AppError {
  return new AppError('workflow_limit_reached', `The workflow's limits refuse this run: ${reason}.`, {
    retryAfterSeconds: 5,
  });
}

/**
 * The runs with the given ids, without duplicates, or the newest runs that a filter matches, in states that the
 * operation allows.
 */
async function selectRuns(
  tx: Transaction,
  tenantId: string,
  { ids, filter, limit }: CancelBody | RetryBody,
  statuses: readonly RunStatus[],
): Promise<SelectedRuns> {
  if (ids !== undefined) return { ids: [...new Set(ids.map((id) => id.toLowerCase()))], byFilter: false, next: null };
  const { olderThan, ...filters } = filter ?? {};
  const search = searchOf(filters);
  const wanted = search.statuses ?? statuses;
  const found = await searchRunIds(
    tx,
    tenantId,
    { ...search, statuses: statuses.filter((status) => wanted.includes(status)) },
    limit,
    olderThan,
  );
  return { ...found, byFilter: true };
}

const refused = (id: string, { code, message }: AppError) => ({ id, ok: false as const, code, message });
