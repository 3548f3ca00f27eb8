import { and, asc, desc, eq, gt, isNull, sql } from 'drizzle-orm';
import type { RunStatus } from '../../shared/contract/automations/run-status.ts';
import { TransactionConflict } from '../platform/db/database.ts';
import type { Transaction } from '../platform/db/database.ts';
import { noteWritten } from '../platform/db/transaction.ts';
import { idBefore, newId } from '../platform/ids.ts';
import { insertOutbox, personOf, requestersOf, runJobId, runRowsTopic } from './accept-runs.ts';
import type { PromisedJob, RunCaller, RunRow } from './accept-runs.ts';
import { forgetEnd } from './rollups.ts';
import { flows, runs, runSteps, workflows } from './schema.ts';
import type { StepWait } from './schema.ts';

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
