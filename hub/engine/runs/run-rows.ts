import type { RunStatus } from '../../../shared/contract/automations/run-status.ts';
import type { JsonObject } from '../../../shared/json.ts';
import { readNow } from '../../platform/db/clock.ts';
import { TransactionConflict } from '../../platform/db/database.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { nextFence } from '../../platform/db/fence.ts';
import { and, asc, desc, eq, gt, isNull, sql } from '../../platform/db/orm.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import { idBefore, newId } from '../../platform/ids.ts';
import { currentTraceParent } from '../../platform/observability/tracing/trace-context.ts';
import { runRowsTopic } from '../queue/wake-runs.ts';
import { flows, runs, runSteps, workflows } from '../schema.ts';
import type { RunRow, StepWait } from '../schema.ts';
import { removeEndFromRollup } from '../stats/rollups.ts';
import { requestersOf, starterOf } from './run-people.ts';
import type { RunCaller } from './run-people.ts';

/** A run that a transaction has locked. */
export interface LockedRun {
  [column: string]: unknown;
  id: string;
  workflow_id: string;
  status: RunStatus;
  parent_run_id: string | null;
  tenant_id: string;
  environment: 'live' | 'test';
  attempt: number;
  queued_at: Date;
  trace_parent: string | null;
  /** Whether the run was requested and has not ended, or such a run waits for it. */
  in_tree: boolean;
}

/**
 * Locks runs before any of them is changed: the given runs, the open child runs that they wait for at any depth, and the runs that wait
 * for them.
 * @throws TransactionConflict when one of them has started another run since the first read. The transaction is then repeated.
 */
export async function lockRunTrees(tx: Transaction, tenantId: string, runIds: readonly string[]): Promise<LockedRun[]> {
  const { rows } = await tx.query<LockedRun>(
    'lock_run_trees',
    `WITH RECURSIVE tree AS (
       SELECT id FROM runs WHERE tenant_id = $1 AND id = ANY($2) AND finished_at IS NULL
       UNION SELECT child.id FROM runs child JOIN tree ON child.parent_run_id = tree.id WHERE child.finished_at IS NULL
     )
     SELECT id, workflow_id, status, parent_run_id, tenant_id, environment, attempt, queued_at, trace_parent, id IN (SELECT id FROM tree) AS in_tree FROM runs
     WHERE id = ANY(ARRAY(SELECT id FROM tree UNION SELECT unnest(ARRAY[id, parent_run_id]) FROM runs WHERE tenant_id = $1 AND id = ANY($2))) ORDER BY depth DESC, id FOR NO KEY UPDATE`,
    [tenantId, runIds],
  );
  const locked = rows.flatMap((row) => (row.in_tree ? [row.id] : []));
  const { rows: missed } = await tx.query(
    'missed_children',
    'SELECT 1 FROM runs WHERE parent_run_id = ANY($1) AND finished_at IS NULL AND id <> ALL($1) LIMIT 1',
    [locked],
  );
  if (missed.length > 0) throw new TransactionConflict('a run started another while it was cancelled');
  return rows;
}

/** Cancels locked runs that have not ended. A worker that executes one of them loses the run. */
export async function markCancelled(tx: Transaction, tenantId: string, runIds: readonly string[]): Promise<void> {
  noteWorkspaceChange(tx, tenantId);
  for (const id of runIds) tx.changed(runRowsTopic(id));
  await tx.query(
    'cancel_runs',
    `UPDATE runs SET status = 'cancelled', finished_at = statement_timestamp(), wake_at = NULL, waits_for = NULL, holder_id = NULL, fence = ${nextFence('fence')} WHERE id = ANY($1)`,
    [runIds],
  );
  await tx.query(
    'cancel_steps',
    `UPDATE run_steps SET status = 'failed', wait = NULL, finished_at = statement_timestamp(), error = '{"code":"cancelled","message":"The run was cancelled."}'
     WHERE run_id = ANY($1) AND status IN ('running', 'waiting_approval', 'pending')`,
    [runIds],
  );
}

/**
 * Locks runs that a transaction changes. Lock order: a run before its steps, commands and approvals, and a child run before the run that
 * waits for it. Returns the ids of the runs that exist; with `skipLocked`, only of those that no other transaction has locked.
 */
export async function lockRuns(
  tx: Transaction,
  runIds: readonly string[],
  { skipLocked = false } = {},
): Promise<string[]> {
  if (runIds.length === 0) return [];
  const { rows } = await tx.query<{ id: string }>(
    skipLocked ? 'lock_free_runs' : 'lock_runs',
    `SELECT id FROM runs WHERE id = ANY($1) ORDER BY depth DESC, id FOR NO KEY UPDATE${skipLocked ? ' SKIP LOCKED' : ''}`,
    [runIds],
  );
  return rows.map((row) => row.id);
}

/** Locks the number of runs of a workflow: one transaction at a time compares it with a limit. */
export async function lockWorkflow(tx: Transaction, workflowId: string): Promise<void> {
  await tx.select({ id: workflows.id }).from(workflows).where(eq(workflows.id, workflowId)).for('update');
}

/** As `lockWorkflow`, if the workflow has limits. */
export async function lockLimits(tx: Transaction, workflowId: string): Promise<void> {
  await tx.query('lock_limits', 'SELECT 1 FROM workflows WHERE id = $1 AND limits IS NOT NULL FOR UPDATE', [
    workflowId,
  ]);
}

/** The unfinished runs of a workflow in one environment, oldest first, and how many were accepted within the last minute. */
export async function countRuns(
  tx: Transaction,
  workflowId: string,
  environment: 'live' | 'test',
): Promise<{ open: string[]; lastMinute: number }> {
  const ofLine = and(eq(runs.workflowId, workflowId), eq(runs.environment, environment));
  const open = await tx
    .select({ id: runs.id })
    .from(runs)
    .where(and(ofLine, isNull(runs.finishedAt)))
    .orderBy(asc(runs.id));
  const minuteAgo = new Date((await readNow(tx)).getTime() - 60_000);
  // The time in an id is that of the process that made it. Its clock may be behind the clock of the database.
  const firstId = idBefore(new Date(Math.min(minuteAgo.getTime(), Date.now() - 60_000)));
  const [recent] = await tx
    .select({ count: sql<number>`count(*)::int` })
    .from(runs)
    // The index is by id. A process whose clock is ahead makes ids that look newer than the run is.
    .where(and(ofLine, gt(runs.id, sql`${firstId}::uuid`), gt(runs.queuedAt, minuteAgo)));
  return { open: open.map((row) => row.id), lastMinute: recent?.count ?? 0 };
}

/** A run that can be retried or replayed, read after its flow was locked. */
export interface EndedRun {
  [column: string]: unknown;
  id: string;
  flow_id: string;
  status: RunStatus;
  trigger: RunRow['trigger'];
  environment: 'live' | 'test';
  requested_by: string[];
  attempt: number;
  workflow_id: string;
  workflow_version: number;
  /** The latest attempt of the flow. */
  latest_run_id: string;
  /** Whether retention has already removed the steps of the run. */
  is_bare: boolean;
  /** Index of the first step that did not succeed; of the last step if all succeeded. */
  first_open: number;
}

/** The values of a new attempt that differ from those of the earlier run. */
export interface RerunChanges {
  workflowVersion?: number;
  payload?: JsonObject;
  /** Authors of the earlier run. */
  authoredBy?: string[];
  /** Starters of the earlier run. */
  requestedBy?: string[];
}

/**
 * Locks the flows of runs and reads what a new attempt needs. Of two concurrent retries, the second sees the attempt of the first. Returns
 * the runs that exist.
 */
export async function lockForRetry(tx: Transaction, tenantId: string, runIds: readonly string[]): Promise<EndedRun[]> {
  await tx.query(
    'lock_flows',
    'SELECT 1 FROM flows WHERE tenant_id = $1 AND id = ANY(ARRAY(SELECT flow_id FROM runs WHERE tenant_id = $1 AND id = ANY($2))) ORDER BY id FOR UPDATE',
    [tenantId, runIds],
  );
  const { rows } = await tx.query<EndedRun>(
    'read_for_retry',
    `SELECT r.id, r.flow_id, r.status, r.trigger, r.environment, r.requested_by, r.attempt, r.workflow_id, r.workflow_version,
       (SELECT latest.id FROM runs latest WHERE latest.flow_id = r.flow_id ORDER BY latest.attempt DESC LIMIT 1) AS latest_run_id,
       r.next_step > 0 AND NOT EXISTS (SELECT 1 FROM run_steps s WHERE s.run_id = r.id) AS is_bare,
       coalesce((SELECT min(i) FROM generate_series(0, jsonb_array_length(v.steps) - 1) i WHERE NOT EXISTS (
         SELECT 1 FROM run_steps s WHERE s.run_id = r.id AND s.index = i AND s.status IN ('succeeded', 'skipped'))), greatest(jsonb_array_length(v.steps) - 1, 0)) AS first_open
     FROM runs r JOIN workflow_versions v ON v.workflow_id = r.workflow_id AND v.version = r.workflow_version WHERE r.tenant_id = $1 AND r.id = ANY($2)`,
    [tenantId, runIds],
  );
  return rows;
}

/**
 * Inserts the next attempts of flows that `lockForRetry` locked, in one statement. The results of the steps before `fromStep` are copied.
 * @returns the id of the new run for each id of an earlier run.
 */
export async function insertRetries(
  tx: Transaction,
  retries: readonly { run: EndedRun; fromStep: number; changes: RerunChanges }[],
  caller: RunCaller,
): Promise<Map<string, string>> {
  if (retries.length === 0) return new Map();
  const traceParent = currentTraceParent();
  const prepared = retries.map(({ run, fromStep, changes }) => ({
    id: newId(),
    old_id: run.id,
    flow_id: run.flow_id,
    from_step: fromStep,
    workflow_version: changes.workflowVersion ?? null,
    payload: changes.payload ?? null,
    authored_by: changes.authoredBy ?? null,
    ran_again_by: caller.actor,
    trace_parent: traceParent,
    environment: caller.environment === 'test' ? 'test' : run.environment,
    requested_by: [
      ...new Set([
        ...requestersOf({ requestedBy: run.requested_by, trigger: run.trigger }),
        ...(changes.requestedBy ?? []),
        ...starterOf(caller.actor),
      ]),
    ],
  }));
  const { rows } = await tx.query<{ tenant_id: string }>(
    'insert_retries',
    `WITH given AS (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS g(id uuid, old_id uuid, flow_id uuid, from_step int, environment text, requested_by text[], trace_parent text, workflow_version int, payload jsonb, authored_by text[], ran_again_by text)
     ), flow AS (
       UPDATE flows SET revision = revision + 1, updated_at = now() FROM given WHERE flows.id = given.flow_id
     ), run AS (
       INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, context, payload, environment, depth, requested_by, authored_by, trace_parent, attempt, next_step, wake_at, queued_at)
       SELECT g.id, r.tenant_id, r.workflow_id, coalesce(g.workflow_version, r.workflow_version), r.flow_id, 'queued', r.trigger || jsonb_build_object('ranAgainBy', g.ran_again_by), r.context, coalesce(g.payload, r.payload), g.environment, r.depth, g.requested_by, coalesce(g.authored_by, r.authored_by), g.trace_parent, r.attempt + 1, g.from_step, now(), now()
       FROM given g JOIN runs r ON r.id = g.old_id RETURNING tenant_id
     ), step AS (
       INSERT INTO run_steps (run_id, index, tenant_id, status, attempts, output, output_text, output_bytes, input, input_omitted, error, started_at, finished_at, retried_attempts, attempt_started_at)
       SELECT g.id, s.index, s.tenant_id, s.status, s.attempts, s.output, s.output_text, s.output_bytes, s.input, s.input_omitted, s.error, s.started_at, s.finished_at, s.retried_attempts, s.attempt_started_at
       FROM given g JOIN run_steps s ON s.run_id = g.old_id AND s.index < g.from_step
     )
     SELECT tenant_id FROM run`,
    [JSON.stringify(prepared)],
  );
  if (rows.length !== retries.length) throw new Error('an attempt was not written whose flow is locked');
  for (const row of rows) {
    noteWorkspaceChange(tx, row.tenant_id);
    tx.wakeWorkers(row.tenant_id);
  }
  return new Map(prepared.map(({ old_id: oldId, id }) => [oldId, id]));
}

/** Whether a run is the latest attempt of its flow. Locks the flow, so that this stays true until the transaction ends. */
export async function isLatestAttempt(tx: Transaction, flowId: string, runId: string): Promise<boolean> {
  await tx.select({ id: flows.id }).from(flows).where(eq(flows.id, flowId)).for('update');
  const [latest] = await tx
    .select({ id: runs.id })
    .from(runs)
    .where(eq(runs.flowId, flowId))
    .orderBy(desc(runs.attempt))
    .limit(1);
  return latest?.id === runId;
}

/**
 * Whether a node command belongs to the current attempt of a step, as SQL: `s` is the row of `run_steps`, `c` names the command's `call` and
 * `attempt`. A later attempt of an agent step continues with the open tool call of an earlier one.
 */
export const isCallOfStep = `(s.attempts = c.attempt OR c.call > 0 AND coalesce(
  s.state->'turns'->-1->'calls' @> jsonb_build_array(jsonb_build_object('call', c.call, 'attempt', c.attempt, 'status', 'pending')), false))`;

/**
 * Lets a run continue at a step whose awaited result has arrived, whether the run waits at that step or failed there. The fence token
 * changes, so a worker that executes the run cannot write conclusions from the earlier state. The caller must have locked the run.
 */
export async function reopenRun(
  tx: Transaction,
  { tenantId, runId }: { tenantId: string; runId: string },
  stepIndex: number,
  wait: StepWait,
): Promise<void> {
  noteWorkspaceChange(tx, tenantId);
  await removeEndFromRollup(tx, tenantId, runId);
  await tx
    .update(runs)
    .set({
      status: 'running',
      error: null,
      finishedAt: null,
      wakeAt: sql`now()`,
      wakeCount: sql`${runs.wakeCount} + 1`,
      fence: sql.raw(nextFence('fence')),
      holderId: null,
      lostLeases: 0,
    })
    .where(eq(runs.id, runId));
  await tx
    .update(runSteps)
    .set({ status: 'running', wait, error: null, output: null, outputText: null, finishedAt: null })
    .where(and(eq(runSteps.runId, runId), eq(runSteps.index, stepIndex)));
  tx.wakeWorkers(tenantId);
}
