import { and, asc, desc, eq, gte, lt, sql } from 'drizzle-orm';
import type { JsonObject } from '../../../shared/json.ts';
import type { RunStatus } from '../../../shared/contract/run-status.ts';
import type { Step } from '../../../shared/contract/workflows.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { flows, runLogs, runs, runSteps, workflowVersions } from '../../platform/db/schema.ts';
import { newId } from '../../platform/ids.ts';

/** A job whose outbox row was written; to be offered to the dispatcher after the commit. */
export interface PromisedJob {
  outboxId: number;
  job: 'run';
  jobId: string;
  data: JsonObject;
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
}

/** The id of the job that wakes a run for the `wakeCount`-th time. */
export const runJobId = (runId: string, wakeCount: number) => `run-${runId}-${wakeCount}`;

/** Writes a run, its flow and its wake-up in one statement; nothing of it exists before the transaction commits. */
export async function acceptRun(tx: Transaction, run: NewRun): Promise<{ runId: string; flowId: string; job: PromisedJob }> {
  const runId = newId();
  const flowId = newId();
  const jobId = runJobId(runId, 0);
  const data = { runId };
  const { rows } = await tx.query<{ id: string }>(
    'accept_run',
    `WITH flow AS (
       INSERT INTO flows (id, tenant_id, workflow_id, revision) VALUES ($2, $3, $4, 1)
     ), run AS (
       INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, context, payload, environment, attempt, wake_at, queued_at)
       VALUES ($1, $3, $4, $5, $2, 'queued', $6, $7, $8, $9, 1, now(), now())
     )
     INSERT INTO outbox (tenant_id, job, job_id, data) VALUES ($3, 'run', $10, $11) RETURNING id`,
    [runId, flowId, run.tenantId, run.workflowId, run.workflowVersion, JSON.stringify(run.trigger), run.context, run.payload === null ? null : JSON.stringify(run.payload), run.environment, jobId, JSON.stringify(data)],
  );
  return { runId, flowId, job: { outboxId: Number(rows[0]?.id), job: 'run', jobId, data, notBefore: null } };
}

/** Promises a job in the same transaction as the rows that it is about. */
export async function insertOutbox(tx: Transaction, tenantId: string, jobId: string, data: JsonObject, notBefore: Date | null): Promise<PromisedJob> {
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
  return insertOutbox(tx, row.tenant_id, runJobId(runId, row.wake_count), { runId }, null);
}

/**
 * Ends a run that has not ended: its worker, if any, loses the lease. Returns its status before; null when there is no such run.
 */
export async function cancelRun(tx: Transaction, tenantId: string, runId: string): Promise<RunStatus | null> {
  const [row] = await tx.select({ status: runs.status }).from(runs).where(and(eq(runs.tenantId, tenantId), eq(runs.id, runId))).for('update');
  if (row === undefined) return null;
  if (!['queued', 'running', 'waiting_approval'].includes(row.status)) return row.status;
  await tx
    .update(runs)
    .set({ status: 'cancelled', finishedAt: sql`now()`, wakeAt: null, leaseExpiresAt: null, fence: sql`${runs.fence} + 1` })
    .where(eq(runs.id, runId));
  await tx
    .update(runSteps)
    .set({ status: 'failed', wait: null, finishedAt: sql`now()`, error: { code: 'cancelled', message: 'The run was cancelled.' } })
    .where(and(eq(runSteps.runId, runId), sql`${runSteps.status} in ('running', 'waiting_approval', 'pending')`));
  return row.status;
}

export interface RunFilter {
  status?: RunStatus | undefined;
  workflowId?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

export type RunRow = typeof runs.$inferSelect;
export type RunStepRow = typeof runSteps.$inferSelect;

/** A page of runs, newest first, without inputs. */
export async function listRuns(tx: Transaction, tenantId: string, filter: RunFilter, limit: number, before: string | undefined) {
  return tx
    .select({
      id: runs.id,
      workflowId: runs.workflowId,
      workflowVersion: runs.workflowVersion,
      flowId: runs.flowId,
      status: runs.status,
      trigger: runs.trigger,
      attempt: runs.attempt,
      environment: runs.environment,
      error: runs.error,
      queuedAt: runs.queuedAt,
      startedAt: runs.startedAt,
      finishedAt: runs.finishedAt,
    })
    .from(runs)
    .where(
      and(
        eq(runs.tenantId, tenantId),
        filter.status === undefined ? undefined : eq(runs.status, filter.status),
        filter.workflowId === undefined ? undefined : eq(runs.workflowId, filter.workflowId),
        filter.from === undefined ? undefined : gte(runs.queuedAt, filter.from),
        filter.to === undefined ? undefined : lt(runs.queuedAt, filter.to),
        before === undefined ? undefined : lt(runs.id, before),
      ),
    )
    .orderBy(desc(runs.id))
    .limit(limit);
}

/** A run with the steps of its version and what became of them; null when this workspace has no such run. */
export async function readRun(tx: Transaction, tenantId: string, runId: string): Promise<{ run: RunRow; steps: Step[]; results: RunStepRow[] } | null> {
  const [row] = await tx
    .select({ run: runs, steps: workflowVersions.steps })
    .from(runs)
    .innerJoin(workflowVersions, and(eq(workflowVersions.workflowId, runs.workflowId), eq(workflowVersions.version, runs.workflowVersion)))
    .where(and(eq(runs.tenantId, tenantId), eq(runs.id, runId)));
  if (row === undefined) return null;
  const results = await tx.select().from(runSteps).where(eq(runSteps.runId, runId)).orderBy(asc(runSteps.index));
  return { ...row, results };
}

/**
 * Writes the next attempt of a flow: the steps before `fromStep` keep what they had, the rest begins anew. The flow's row is
 * locked, so that of two retries at once the second one sees the first.
 */
export async function insertRetry(tx: Transaction, run: RunRow, fromStep: number): Promise<{ runId: string; job: PromisedJob }> {
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
    environment: run.environment,
    attempt: run.attempt + 1,
    nextStep: fromStep,
    wakeAt: sql`now()`,
    queuedAt: sql`now()`,
  });
  await tx.execute(sql`
    INSERT INTO run_steps (run_id, index, tenant_id, status, attempts, output, output_text, error, started_at, finished_at)
    SELECT ${runId}, index, tenant_id, status, attempts, output, output_text, error, started_at, finished_at
    FROM run_steps WHERE run_id = ${run.id} AND index < ${fromStep}`);
  const job = await insertOutbox(tx, run.tenantId, runJobId(runId, 0), { runId }, null);
  return { runId, job };
}

/** Locks the flow of a run and answers its latest attempt. */
export async function lockFlow(tx: Transaction, flowId: string): Promise<{ latestRunId: string } | null> {
  await tx.select({ id: flows.id }).from(flows).where(eq(flows.id, flowId)).for('update');
  const [latest] = await tx.select({ id: runs.id }).from(runs).where(eq(runs.flowId, flowId)).orderBy(desc(runs.attempt)).limit(1);
  return latest === undefined ? null : { latestRunId: latest.id };
}

export interface LogLine {
  tenantId: string;
  runId: string;
  stepIndex: number;
  level: 'debug' | 'info' | 'warn' | 'error';
  message: string;
}

export async function insertLog(tx: Transaction, line: LogLine): Promise<void> {
  await tx.insert(runLogs).values({ id: newId(), ...line });
}
