import type { JsonObject } from '../../shared/json.ts';
import type { Transaction } from '../platform/db/database.ts';
import { noteWorkspaceChange } from '../platform/events/workspace-topic.ts';
import { newId } from '../platform/ids.ts';
import { currentTraceParent } from '../platform/observability/tracing/trace-context.ts';
import type { runs } from './schema.ts';

export type RunRow = typeof runs.$inferSelect;

/** Topic on which the end of a run, or its stop at an approval, is told. */
export const runTopic = (runId: string) => `run:${runId}`;

/** Topic under which it is told live that rows of a run were written. */
export const runRowsTopic = (runId: string) => `run-rows:${runId}`;

export interface NewRun {
  /** Its id, for whoever refers to it before it is there; a new one when left out. */
  id?: string;
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
  /** What it is about, so that it goes when that is erased; that of the run that led to it when left out. */
  subjectId?: string;
  /** How many runs, each started by the one before, led to it; 0 when left out. */
  depth?: number;
  /** Users and keys that started it, or a run that led to it: `user:<id>`, `token:<id>`. */
  requestedBy?: readonly string[];
  /** Users and keys that wrote what led to it: the authors of the run that started it. */
  authoredBy?: readonly string[];
}

export interface AcceptedRunRow {
  runId: string;
  flowId: string;
}

/** Who runs something, and in which environment: in that of tests nothing leaves the platform, whatever is run. */
export interface RunCaller {
  actor: string;
  environment: 'live' | 'test';
}

/** Runs that lead to further runs end here, so that a loop does. */
export const maxRunDepth = 8;

/** The id of the job that wakes a run for the `wakeCount`-th time. */
export const runJobId = (runId: string, wakeCount: number) => `run-${runId}-${wakeCount}`;

/** A run, and the outbox row that a statement wrote for it; null for none. */
export interface RunJobRow {
  [column: string]: unknown;
  outbox_id: string | null;
  job_id: string | null;
  run_id: string;
  tenant_id: string;
  /** Null or absent for immediately. */
  not_before?: Date | null;
}

/** Enqueues the job of a run, if the transaction has written an outbox row for it. */
export function enqueueRun(tx: Transaction, row: RunJobRow): void {
  if (row.outbox_id === null || row.job_id === null) return;
  tx.enqueue({
    outboxId: Number(row.outbox_id),
    name: 'run',
    id: row.job_id,
    data: { runId: row.run_id, tenantId: row.tenant_id },
    notBefore: row.not_before ?? null,
  });
}

/** The run that led to one: its step waits for it, or its failure is what it is about. */
function ledBy({ subjectId, parentRunId, trigger }: NewRun): string | null {
  if (subjectId !== undefined) return null;
  if (parentRunId !== undefined) return parentRunId;
  return trigger.type === 'error' && typeof trigger['runId'] === 'string' ? trigger['runId'] : null;
}

/** Writes a run, its flow and its wake-up; nothing of it exists before the transaction commits. */
export async function acceptRun(tx: Transaction, run: NewRun): Promise<AcceptedRunRow> {
  const [accepted] = await acceptRuns(tx, [run]);
  return accepted as AcceptedRunRow;
}

/** Writes runs, their flows and their wake-ups in one statement. */
export async function acceptRuns(tx: Transaction, newRuns: NewRun[]): Promise<AcceptedRunRow[]> {
  if (newRuns.length === 0) return [];
  for (const { tenantId } of newRuns) noteWorkspaceChange(tx, tenantId);
  const traceParent = currentTraceParent();
  const prepared = newRuns.map((run) => {
    const runId = run.id ?? newId();
    return { run, runId, flowId: newId(), jobId: runJobId(runId, 0), notBefore: run.notBefore ?? null };
  });
  const { rows } = await tx.query<RunJobRow>(
    'accept_runs',
    `WITH given AS (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS g(id uuid, flow_id uuid, tenant_id uuid, workflow_id uuid, workflow_version int, trigger jsonb,
         context text, payload jsonb, environment text, parent_run_id uuid, subject_id uuid, led_by uuid, depth int, requested_by text[], authored_by text[], trace_parent text, not_before timestamptz, job_id text)
     ), flow AS (
       INSERT INTO flows (id, tenant_id, workflow_id, revision, subject_id)
       SELECT flow_id, tenant_id, workflow_id, 1, CASE WHEN led_by IS NULL THEN subject_id
         ELSE (SELECT f.subject_id FROM runs r JOIN flows f ON f.id = r.flow_id WHERE r.id = led_by) END FROM given
     ), run AS (
       INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, context, payload, environment, attempt, parent_run_id, depth, requested_by, authored_by, trace_parent, wake_at, queued_at)
       SELECT id, tenant_id, workflow_id, workflow_version, flow_id, 'queued', trigger, context, payload, environment, 1, parent_run_id, depth, requested_by, authored_by, trace_parent, coalesce(not_before, now()), now() FROM given
     )
     INSERT INTO outbox (tenant_id, job, job_id, data, not_before)
     SELECT tenant_id, 'run', job_id, jsonb_build_object('runId', id, 'tenantId', tenant_id), not_before FROM given
     RETURNING id AS outbox_id, job_id, data->>'runId' AS run_id, tenant_id, not_before`,
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
          subject_id: run.subjectId ?? null,
          led_by: ledBy(run),
          depth: run.depth ?? 0,
          requested_by: run.requestedBy ?? [],
          authored_by: run.authoredBy ?? [],
          trace_parent: traceParent,
          not_before: notBefore?.toISOString() ?? null,
          job_id: jobId,
        })),
      ),
    ],
  );
  for (const row of rows) enqueueRun(tx, row);
  return prepared.map(({ runId, flowId }) => ({ runId, flowId }));
}

/** Writes the outbox row of a run, and enqueues its job. */
export async function insertOutbox(
  tx: Transaction,
  tenantId: string,
  jobId: string,
  { runId }: { runId: string },
  notBefore: Date | null,
): Promise<void> {
  const { rows } = await tx.query<RunJobRow>(
    'insert_outbox',
    `INSERT INTO outbox (tenant_id, job, job_id, data, not_before) VALUES ($1, 'run', $2, $3, $4)
     RETURNING id AS outbox_id, job_id, data->>'runId' AS run_id, tenant_id, not_before`,
    [tenantId, jobId, JSON.stringify({ runId, tenantId }), notBefore],
  );
  for (const row of rows) enqueueRun(tx, row);
}

/** Wakes a waiting run, so that a worker takes it now. Does nothing if it has ended meanwhile. */
export function wakeRun(tx: Transaction, runId: string): Promise<void> {
  return wakeRuns(tx, [runId]);
}

/**
 * Makes waiting runs, which the caller has locked if there are several, want a worker now; leaves out those that have ended meanwhile.
 * @param awaited ended child runs: only runs that still wait for one of these are woken. A step that gave its child run up waits no longer.
 */
export async function wakeRuns(
  tx: Transaction,
  runIds: readonly string[],
  awaited: readonly string[] | null = null,
): Promise<void> {
  if (runIds.length === 0) return;
  const { rows } = await tx.query<RunJobRow>(
    'wake_runs',
    `WITH woken AS (
       UPDATE runs SET wake_at = now(), wake_count = wake_count + 1, status = CASE status WHEN 'waiting_approval' THEN 'queued' ELSE status END
       WHERE id = ANY($1) AND status IN ('queued', 'running', 'waiting_approval') AND ($2::text[] IS NULL OR EXISTS (
         SELECT 1 FROM run_steps s WHERE s.run_id = runs.id AND s.index = runs.next_step AND s.wait->>'runId' = ANY($2)))
       RETURNING id, tenant_id, wake_count
     )
     INSERT INTO outbox (tenant_id, job, job_id, data)
     SELECT tenant_id, 'run', format('run-%s-%s', id, wake_count), jsonb_build_object('runId', id, 'tenantId', tenant_id) FROM woken
     RETURNING id AS outbox_id, job_id, data->>'runId' AS run_id, tenant_id`,
    [runIds, awaited],
  );
  for (const row of rows) {
    tx.changed(runRowsTopic(row.run_id));
    noteWorkspaceChange(tx, row.tenant_id);
    enqueueRun(tx, row);
  }
}
