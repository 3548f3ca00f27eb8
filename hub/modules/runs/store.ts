import { and, asc, desc, eq, gt, gte, isNull, lt, sql } from 'drizzle-orm';
import type { JsonObject } from '../../../shared/json.ts';
import type { RunStatus } from '../../../shared/contract/run-status.ts';
import type { Step } from '../../../shared/contract/steps.ts';
import { TransactionConflict } from '../../platform/db/database.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { noteWritten } from '../../platform/db/transaction.ts';
import { flows, runLogs, runs, runSteps, workflows, workflowVersions } from '../../platform/db/schema.ts';
import type { StepWait } from '../../platform/db/schema.ts';
import { idBefore, newId } from '../../platform/ids.ts';
import { forgetEnd } from '../insight/index.ts';

/** A job whose outbox row was written; to be offered to the dispatcher after the commit. */
export interface PromisedJob {
  outboxId: number;
  job: 'run';
  jobId: string;
  data: { runId: string; tenantId: string };
  notBefore: Date | null;
}

export interface NewRun {
  tenantId: string;
  workflowId: string;
  workflowVersion: number;
  trigger: { type: string } & JsonObject;
  context: string | null;
  payload: JsonObject | null;
  environment: 'live' | 'test';
  /** When it may begin; at once when left out or null. */
  notBefore?: Date | null;
  /** The run whose step waits for it. */
  parentRunId?: string;
  /** How many runs, each started by the one before, led to it; 0 when left out. */
  depth?: number;
  /** Who started it, and whoever started what led to it: `user:<id>`; nobody when left out. */
  requestedBy?: readonly string[];
}

export interface AcceptedRunRow {
  runId: string;
  flowId: string;
  job: PromisedJob;
}

/** Who runs something, and in which environment: in that of tests nothing leaves the platform, whatever is run. */
export interface RunCaller {
  actor: string;
  environment: 'live' | 'test';
}

/** The person that an actor is, as requesters are kept; nobody for a key. */
export const personOf = (actor: string): string[] => (actor.startsWith('user:') ? [actor] : []);

/** The people who led to a run; of one from before they were kept, who started it by hand. */
function requestersOf({ requestedBy, trigger }: Pick<RunRow, 'requestedBy' | 'trigger'>): string[] {
  const { by } = trigger;
  return [...new Set([...requestedBy, ...(typeof by === 'string' ? personOf(by) : [])])];
}

/** The people who started a run of this workspace, or one that led to it: `user:<id>`. */
export async function listRequesters(tx: Transaction, tenantId: string, runId: string): Promise<string[]> {
  const [row] = await tx
    .select({ requestedBy: runs.requestedBy, trigger: runs.trigger })
    .from(runs)
    .where(and(eq(runs.tenantId, tenantId), eq(runs.id, runId)));
  return row === undefined ? [] : requestersOf(row);
}

/** Runs that lead to further runs end here, so that a loop does. */
export const maxRunDepth = 8;

/** The id of the job that wakes a run for the `wakeCount`-th time. */
export const runJobId = (runId: string, wakeCount: number) => `run-${runId}-${wakeCount}`;

/** Writes a run, its flow and its wake-up; nothing of it exists before the transaction commits. */
export async function acceptRun(tx: Transaction, run: NewRun): Promise<AcceptedRunRow> {
  const [accepted] = await acceptRuns(tx, [run]);
  return accepted as AcceptedRunRow;
}

/** Writes runs, their flows and their wake-ups in one statement. */
export async function acceptRuns(tx: Transaction, newRuns: NewRun[]): Promise<AcceptedRunRow[]> {
  if (newRuns.length === 0) return [];
  const prepared = newRuns.map((run) => {
    const runId = newId();
    return { run, runId, flowId: newId(), jobId: runJobId(runId, 0), notBefore: run.notBefore ?? null };
  });
  const { rows } = await tx.query<{ id: string; job_id: string }>(
    'accept_runs',
    `WITH given AS (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS g(id uuid, flow_id uuid, tenant_id uuid, workflow_id uuid, workflow_version int, trigger jsonb,
         context text, payload jsonb, environment text, parent_run_id uuid, depth int, requested_by text[], not_before timestamptz, job_id text)
     ), flow AS (
       INSERT INTO flows (id, tenant_id, workflow_id, revision) SELECT flow_id, tenant_id, workflow_id, 1 FROM given
     ), run AS (
       INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, context, payload, environment, attempt, parent_run_id, depth, requested_by, wake_at, queued_at)
       SELECT id, tenant_id, workflow_id, workflow_version, flow_id, 'queued', trigger, context, payload, environment, 1, parent_run_id, depth, requested_by, coalesce(not_before, now()), now() FROM given
     )
     INSERT INTO outbox (tenant_id, job, job_id, data, not_before)
     SELECT tenant_id, 'run', job_id, jsonb_build_object('runId', id, 'tenantId', tenant_id), not_before FROM given RETURNING id, job_id`,
    [
      JSON.stringify(
        prepared.map(({ run, runId, flowId, jobId, notBefore }) => ({
          id: runId,
          flow_id: flowId,
          tenant_id: run.tenantId,
          workflow_id: run.workflowId,
          workflow_version: run.workflowVersion,
          trigger: run.trigger,
          context: run.context,
          payload: run.payload,
          environment: run.environment,
          parent_run_id: run.parentRunId ?? null,
          depth: run.depth ?? 0,
          requested_by: run.requestedBy ?? [],
          not_before: notBefore?.toISOString() ?? null,
          job_id: jobId,
        })),
      ),
    ],
  );
  const outboxIds = new Map(rows.map((row) => [row.job_id, Number(row.id)]));
  return prepared.map(({ run: { tenantId }, runId, flowId, jobId, notBefore }) => ({
    runId,
    flowId,
    job: { outboxId: outboxIds.get(jobId) as number, job: 'run', jobId, data: { runId, tenantId }, notBefore },
  }));
}

/** Promises a job in the same transaction as the rows that it is about. */
export async function insertOutbox(
  tx: Transaction,
  tenantId: string,
  jobId: string,
  { runId }: { runId: string },
  notBefore: Date | null,
): Promise<PromisedJob> {
  const data = { runId, tenantId };
  const { rows } = await tx.query<{ id: string }>(
    'insert_outbox',
    `INSERT INTO outbox (tenant_id, job, job_id, data, not_before) VALUES ($1, 'run', $2, $3, $4) RETURNING id`,
    [tenantId, jobId, JSON.stringify(data), notBefore],
  );
  return { outboxId: Number(rows[0]?.id), job: 'run', jobId, data, notBefore };
}

/** Makes a waiting run want a worker now; null when it has ended meanwhile. */
export async function wakeRun(tx: Transaction, runId: string): Promise<PromisedJob | null> {
  const { rows } = await tx.query<{ tenant_id: string; wake_count: number }>(
    'wake_run',
    `UPDATE runs SET wake_at = now(), wake_count = wake_count + 1, status = CASE status WHEN 'waiting_approval' THEN 'queued' ELSE status END
     WHERE id = $1 AND status IN ('queued', 'running', 'waiting_approval') RETURNING tenant_id, wake_count`,
    [runId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  noteWritten(tx, runRowsTopic(runId));
  return insertOutbox(tx, row.tenant_id, runJobId(runId, row.wake_count), { runId }, null);
}

/** A run that a transaction has locked. */
export interface LockedRun {
  [column: string]: unknown;
  id: string;
  workflow_id: string;
  status: RunStatus;
  parent_run_id: string | null;
  /** False for one that only waits for one of those that were asked for. */
  in_tree: boolean;
}

/**
 * Locks runs, the open runs that they wait for, however deep, and those that wait for them: all before any is changed.
 * @throws TransactionConflict when one of them started another meanwhile: then the whole is looked at again.
 */
export async function lockRunTrees(tx: Transaction, tenantId: string, runIds: readonly string[]): Promise<LockedRun[]> {
  const { rows } = await tx.query<LockedRun>(
    'lock_run_trees',
    `WITH RECURSIVE tree AS (
       SELECT id FROM runs WHERE tenant_id = $1 AND id = ANY($2)
       UNION SELECT child.id FROM runs child JOIN tree ON child.parent_run_id = tree.id WHERE child.finished_at IS NULL
     )
     SELECT id, workflow_id, status, parent_run_id, id IN (SELECT id FROM tree) AS in_tree FROM runs
     WHERE id = ANY(ARRAY(SELECT id FROM tree UNION SELECT parent_run_id FROM runs WHERE tenant_id = $1 AND id = ANY($2))) ORDER BY depth DESC, id FOR NO KEY UPDATE`,
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

/** Ends runs that are locked and have not ended: their workers, if any, lose the lease. */
export async function markCancelled(tx: Transaction, runIds: readonly string[]): Promise<void> {
  for (const id of runIds) noteWritten(tx, runRowsTopic(id));
  await tx.query(
    'cancel_runs',
    `UPDATE runs SET status = 'cancelled', finished_at = now(), wake_at = NULL, waits_for = NULL, lease_expires_at = NULL, fence = fence + 1 WHERE id = ANY($1)`,
    [runIds],
  );
  await tx.query(
    'cancel_steps',
    `UPDATE run_steps SET status = 'failed', wait = NULL, finished_at = now(), error = '{"code":"cancelled","message":"The run was cancelled."}'
     WHERE run_id = ANY($1) AND status IN ('running', 'waiting_approval', 'pending')`,
    [runIds],
  );
}

/**
 * Locks runs that a transaction is about to change, before anything that hangs on them: a run is locked before its steps, commands and
 * approvals, and a child before the run that waits for it. Answers those that there are; with `skipLocked`, that nobody else has now.
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

/** Lets one transaction at a time judge how many runs of a workflow there are. */
export async function lockWorkflow(tx: Transaction, workflowId: string): Promise<void> {
  await tx.select({ id: workflows.id }).from(workflows).where(eq(workflows.id, workflowId)).for('update');
}

/** The same, of a workflow that has limits; the others are judged by nobody. */
export async function lockLimits(tx: Transaction, workflowId: string): Promise<void> {
  await tx.query('lock_limits', 'SELECT 1 FROM workflows WHERE id = $1 AND limits IS NOT NULL FOR UPDATE', [
    workflowId,
  ]);
}

/** The runs of a workflow that are under way, oldest first, and how many began within the last minute. */
export async function countRuns(tx: Transaction, workflowId: string): Promise<{ open: string[]; lastMinute: number }> {
  const open = await tx
    .select({ id: runs.id })
    .from(runs)
    .where(and(eq(runs.workflowId, workflowId), isNull(runs.finishedAt)))
    .orderBy(asc(runs.id));
  const [recent] = await tx
    .select({ count: sql<number>`count(*)::int` })
    .from(runs)
    .where(and(eq(runs.workflowId, workflowId), gt(runs.id, sql`${idBefore(new Date(Date.now() - 60_000))}::uuid`)));
  return { open: open.map((row) => row.id), lastMinute: recent?.count ?? 0 };
}

const clockSlackMs = 60_000;

export interface RunFilter {
  status?: RunStatus | undefined;
  workflowId?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

export type RunRow = typeof runs.$inferSelect;
export type RunStepRow = typeof runSteps.$inferSelect;

/** What a list shows of a run. */
export const summaryColumns = {
  id: runs.id,
  workflowId: runs.workflowId,
  workflowVersion: runs.workflowVersion,
  flowId: runs.flowId,
  status: runs.status,
  trigger: runs.trigger,
  attempt: runs.attempt,
  environment: runs.environment,
  parentRunId: runs.parentRunId,
  depth: runs.depth,
  error: runs.error,
  queuedAt: runs.queuedAt,
  startedAt: runs.startedAt,
  finishedAt: runs.finishedAt,
};

/** A page of runs, newest first, without inputs. */
export async function listRuns(
  tx: Transaction,
  tenantId: string,
  filter: RunFilter,
  limit: number,
  before: string | undefined,
) {
  return tx
    .select(summaryColumns)
    .from(runs)
    .where(
      and(
        eq(runs.tenantId, tenantId),
        filter.status === undefined ? undefined : eq(runs.status, filter.status),
        filter.workflowId === undefined ? undefined : eq(runs.workflowId, filter.workflowId),
        // Ids are made in the order of time, so that a period is a range of the index; the clock of another process may differ a little.
        filter.from === undefined
          ? undefined
          : and(gte(runs.queuedAt, filter.from), gt(runs.id, idBefore(new Date(filter.from.getTime() - clockSlackMs)))),
        filter.to === undefined
          ? undefined
          : and(lt(runs.queuedAt, filter.to), lt(runs.id, idBefore(new Date(filter.to.getTime() + clockSlackMs)))),
        before === undefined ? undefined : lt(runs.id, before),
      ),
    )
    .orderBy(desc(runs.id))
    .limit(limit);
}

/** A run with the steps of its version and what became of them; null when this workspace has no such run. */
export async function readRun(
  tx: Transaction,
  tenantId: string,
  runId: string,
): Promise<{ run: RunRow; steps: Step[]; results: RunStepRow[] } | null> {
  const [row] = await tx
    .select({ run: runs, steps: workflowVersions.steps })
    .from(runs)
    .innerJoin(
      workflowVersions,
      and(eq(workflowVersions.workflowId, runs.workflowId), eq(workflowVersions.version, runs.workflowVersion)),
    )
    .where(and(eq(runs.tenantId, tenantId), eq(runs.id, runId)));
  if (row === undefined) return null;
  const results = await tx.select().from(runSteps).where(eq(runSteps.runId, runId)).orderBy(asc(runSteps.index));
  return { ...row, results };
}

/**
 * Writes the next attempt of a flow: the steps before `fromStep` keep what they had, the rest begins anew. The flow's row is
 * locked, so that of two retries at once the second one sees the first.
 */
export async function insertRetry(
  tx: Transaction,
  run: RunRow,
  fromStep: number,
  caller: RunCaller,
): Promise<{ runId: string; job: PromisedJob }> {
  const runId = newId();
  await tx
    .update(flows)
    .set({ revision: sql`${flows.revision} + 1`, updatedAt: sql`now()` })
    .where(eq(flows.id, run.flowId));
  await tx.insert(runs).values({
    id: runId,
    tenantId: run.tenantId,
    workflowId: run.workflowId,
    workflowVersion: run.workflowVersion,
    flowId: run.flowId,
    status: 'queued',
    trigger: run.trigger,
    context: run.context,
    payload: run.payload,
    environment: caller.environment === 'test' ? 'test' : run.environment,
    depth: run.depth,
    requestedBy: [...new Set([...requestersOf(run), ...personOf(caller.actor)])],
    attempt: run.attempt + 1,
    nextStep: fromStep,
    wakeAt: sql`now()`,
    queuedAt: sql`now()`,
  });
  await tx.execute(sql`
    INSERT INTO run_steps (run_id, index, tenant_id, status, attempts, output, output_text, output_bytes, error, started_at, finished_at)
    SELECT ${runId}, index, tenant_id, status, attempts, output, output_text, output_bytes, error, started_at, finished_at
    FROM run_steps WHERE run_id = ${run.id} AND index < ${fromStep}`);
  const job = await insertOutbox(tx, run.tenantId, runJobId(runId, 0), { runId }, null);
  return { runId, job };
}

/** Locks the flow of a run and answers its latest attempt, and how that stands. */
export async function lockFlow(
  tx: Transaction,
  flowId: string,
): Promise<{ latestRunId: string; status: RunStatus } | null> {
  await tx.select({ id: flows.id }).from(flows).where(eq(flows.id, flowId)).for('update');
  const [latest] = await tx
    .select({ id: runs.id, status: runs.status })
    .from(runs)
    .where(eq(runs.flowId, flowId))
    .orderBy(desc(runs.attempt))
    .limit(1);
  return latest === undefined ? null : { latestRunId: latest.id, status: latest.status };
}

/** Whether a run is its flow's latest attempt, which it then stays until the transaction ends. */
export async function isLatestAttempt(tx: Transaction, flowId: string, runId: string): Promise<boolean> {
  return (await lockFlow(tx, flowId))?.latestRunId === runId;
}

/**
 * Lets a run go on at a step that is to look again at what it waited for, whether the run waits there or failed there. Whoever
 * works on it loses its fence, so that nothing it concluded from before is written. The caller holds the run's lock.
 */
export async function reopenRun(
  tx: Transaction,
  { tenantId, runId }: { tenantId: string; runId: string },
  stepIndex: number,
  wait: StepWait,
): Promise<PromisedJob> {
  await forgetEnd(tx, tenantId, runId);
  const [row] = await tx
    .update(runs)
    .set({
      status: 'running',
      error: null,
      finishedAt: null,
      wakeAt: sql`now()`,
      wakeCount: sql`${runs.wakeCount} + 1`,
      fence: sql`${runs.fence} + 1`,
      leaseExpiresAt: null,
      lostLeases: 0,
    })
    .where(eq(runs.id, runId))
    .returning({ wakeCount: runs.wakeCount });
  await tx
    .update(runSteps)
    .set({ status: 'running', wait, error: null, output: null, outputText: null, finishedAt: null })
    .where(and(eq(runSteps.runId, runId), eq(runSteps.index, stepIndex)));
  const { wakeCount } = row as { wakeCount: number };
  return insertOutbox(tx, tenantId, runJobId(runId, wakeCount), { runId }, null);
}

export interface LogLine {
  tenantId: string;
  runId: string;
  stepIndex: number;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
}

/** Topics under which it is told live that rows were written. */
export const runRowsTopic = (runId: string) => `run-rows:${runId}`;
export const logsTopic = (tenantId: string) => `logs:${tenantId}`;

export async function insertLog(tx: Transaction, line: LogLine): Promise<void> {
  noteWritten(tx, logsTopic(line.tenantId));
  await tx
    .insert(runLogs)
    .values({ id: newId(), workflowId: sql`(select workflow_id from runs where id = ${line.runId})`, ...line });
}
