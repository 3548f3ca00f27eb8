import type { JsonObject } from '../../../shared/json.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';
import { newId } from '../../platform/ids.ts';
import { currentTraceParent } from '../../platform/observability/tracing/trace-context.ts';
import { isDueSoonText } from '../queue/wake-runs.ts';
import { definitionStamp, isGated, workspaceStamp } from './definitions.ts';

export interface NewRun {
  /** A new id when omitted. */
  id?: string;
  tenantId: string;
  workflowId: string;
  workflowVersion: number;
  trigger: { type: string } & JsonObject;
  context: string | null;
  payload: JsonObject | null;
  environment: 'live' | 'test';
  /** Earliest start; null or omitted for immediately. */
  notBefore?: Date | null;
  /** The run with the step that waits for this run. */
  parentRunId?: string;
  /** Erasing this subject also erases the run. When omitted, the subject of the run that led to this one. */
  subjectId?: string;
  /** Length of the chain of runs that led to this one; 0 when omitted. */
  depth?: number;
  /** Users and API keys that started this run, or a run that led to it: `user:<id>`, `token:<id>`. */
  requestedBy?: readonly string[];
  /** Users and API keys that wrote what led to this run: the authors of the run that started it. */
  authoredBy?: readonly string[];
}

/** Conditions under which a run is accepted, and whether this process can start it. */
export interface AcceptTerms {
  /**
   * The stamp that was read with the workflow. `definition` is the `definitionStamp` of a workflow that was read without a lock.
   * The run is not accepted if the workflow, its workspace or the policy has changed. `workspace` is the `workspaceStamp` of a
   * locked workflow. The run is queued if the workspace or the policy has changed. Null if the transaction has read all of these.
   */
  stamp: { of: 'definition' | 'workspace'; value: string } | null;
  /**
   * The process with capacity for the run, which then holds the run; null if there is none. A run that a limit or policy can
   * delay is queued instead.
   */
  holderId: string | null;
}

/** A run with its ids, serialized for `acceptRuns`. */
export interface PreparedRun {
  runId: string;
  flowId: string;
  tenantId: string;
  traceParent: string | null;
  /** A row of the statement, as JSON. */
  json: string;
}

export interface AcceptedRun {
  runId: string;
  flowId: string;
  /** The stored values of a run that a process holds; null for a queued run. */
  claimed: { queued_at: Date; trigger: NewRun['trigger']; payload: NewRun['payload'] } | null;
}

type AcceptedRow = { id: string; tenant_id: string; is_claimed: boolean; is_soon: boolean } & NonNullable<
  AcceptedRun['claimed']
>;

/** Maximum length of a chain of runs that start each other, so that loops end. */
export const maxRunDepth = 8;

/** The run that led to this one: it waits for this run, or its failure started this run. Null if the subject is given. */
function ledBy({ subjectId, parentRunId, trigger }: NewRun): string | null {
  if (subjectId !== undefined) return null;
  if (parentRunId !== undefined) return parentRunId;
  return trigger.type === 'error' && typeof trigger['runId'] === 'string' ? trigger['runId'] : null;
}

/** Assigns the ids of a run and the trace of the caller, and serializes the run. */
export function prepareRun(
  run: NewRun,
  { stamp, holderId }: AcceptTerms = { stamp: null, holderId: null },
): PreparedRun {
  const runId = run.id ?? newId();
  const flowId = newId();
  const traceParent = currentTraceParent();
  const row = {
    id: runId,
    flow_id: flowId,
    tenant_id: run.tenantId,
    workflow_id: run.workflowId,
    workflow_version: run.workflowVersion,
    trigger: run.trigger,
    context: run.context,
    payload: run.payload,
    environment: run.environment,
    parent_run_id: run.parentRunId,
    subject_id: run.subjectId,
    led_by: ledBy(run),
    depth: run.depth ?? 0,
    requested_by: run.requestedBy ?? [],
    authored_by: run.authoredBy ?? [],
    trace_parent: traceParent,
    not_before: run.notBefore ?? null,
    stamp_of: stamp?.of,
    stamp: stamp?.value,
    holder_id: holderId,
  };
  return { runId, flowId, tenantId: run.tenantId, traceParent, json: JSON.stringify(row) };
}

/** Accepts a run. The run exists once the transaction commits. */
export async function acceptRun(tx: Transaction, run: NewRun): Promise<AcceptedRun> {
  const [accepted] = await acceptRuns(tx, [prepareRun(run)]);
  return accepted as AcceptedRun;
}

/**
 * Writes runs with their flows. All runs except retries are created here. The one statement is sent synchronously, so that the caller
 * can send COMMIT in the same flush.
 * @returns for each run, in order: the run, or null if its `definition` stamp is no longer current.
 */
export async function acceptRuns(tx: Transaction, prepared: readonly PreparedRun[]): Promise<(AcceptedRun | null)[]> {
  if (prepared.length === 0) return [];
  for (const tenantId of new Set(prepared.map((run) => run.tenantId))) noteWorkspaceChange(tx, tenantId);
  const { rows } = await tx.query<AcceptedRow>(
    'accept_runs',
    `WITH given AS MATERIALIZED (
       SELECT * FROM jsonb_to_recordset($1::jsonb) AS g(id uuid, flow_id uuid, tenant_id uuid, workflow_id uuid, workflow_version int, trigger jsonb,
         context text, payload jsonb, environment text, parent_run_id uuid, subject_id uuid, led_by uuid, depth int, requested_by text[], authored_by text[], trace_parent text, not_before timestamptz,
         stamp_of text, stamp text, holder_id uuid)
     ), known AS MATERIALIZED (
       SELECT w.id, w.tenant_id, ${definitionStamp} AS definition_stamp, ${workspaceStamp} AS workspace_stamp, ${isGated} AS is_gated
       FROM workflows w JOIN tenants t ON t.id = w.tenant_id LEFT JOIN automation_policies p ON p.tenant_id = w.tenant_id
       WHERE w.id = ANY(ARRAY(SELECT DISTINCT workflow_id FROM given WHERE holder_id IS NOT NULL OR stamp_of = 'definition'))
     ), accepted AS MATERIALIZED (
       SELECT g.*, coalesce(g.holder_id IS NOT NULL AND g.not_before IS NULL AND NOT k.is_gated AND (g.stamp_of IS DISTINCT FROM 'workspace' OR g.stamp = k.workspace_stamp), false) AS is_claimed
       FROM given g LEFT JOIN known k ON k.id = g.workflow_id AND k.tenant_id = g.tenant_id
       WHERE g.stamp_of IS DISTINCT FROM 'definition' OR g.stamp = k.definition_stamp
     ), flow AS (
       INSERT INTO flows (id, tenant_id, workflow_id, revision, subject_id)
       SELECT flow_id, tenant_id, workflow_id, 1, CASE WHEN led_by IS NULL THEN subject_id
         ELSE (SELECT f.subject_id FROM runs r JOIN flows f ON f.id = r.flow_id WHERE r.id = led_by) END FROM accepted
     ), run AS (
       INSERT INTO runs (id, tenant_id, workflow_id, workflow_version, flow_id, status, trigger, context, payload, environment, attempt, parent_run_id, depth, requested_by, authored_by, trace_parent, wake_at, queued_at,
         started_at, fence, holder_id)
       SELECT id, tenant_id, workflow_id, workflow_version, flow_id, CASE WHEN is_claimed THEN 'running' ELSE 'queued' END, trigger, context, payload, environment, 1, parent_run_id, depth, requested_by, authored_by, trace_parent, coalesce(not_before, now()), now(),
         CASE WHEN is_claimed THEN now() END, CASE WHEN is_claimed THEN 1 ELSE 0 END, CASE WHEN is_claimed THEN holder_id END
       FROM accepted RETURNING id, tenant_id, queued_at, holder_id IS NOT NULL AS is_claimed, CASE WHEN holder_id IS NOT NULL THEN trigger END AS trigger, CASE WHEN holder_id IS NOT NULL THEN payload END AS payload, ${isDueSoonText} AS is_soon
     )
     SELECT * FROM run`,
    [`[${prepared.map(({ json }) => json).join(',')}]`],
  );
  for (const row of rows) if (row.is_soon && !row.is_claimed) tx.wakeWorkers(row.tenant_id);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return prepared.map(({ runId, flowId }) => {
    const row = byId.get(runId);
    if (row === undefined) return null;
    const { queued_at, trigger, payload } = row;
    return { runId, flowId, claimed: row.is_claimed ? { queued_at, trigger, payload } : null };
  });
}
