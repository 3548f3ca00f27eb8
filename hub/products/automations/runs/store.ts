import type { ApprovalDecider, approvalStatuses } from '../../../../shared/contract/automations/approvals.ts';
import type { RunStatus, StepStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import type { RunRow } from '../../../engine/index.ts';
import type { RunFailure } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { idBefore } from '../../../platform/ids.ts';
import { waitSql } from './waits.ts';
import type { StoredWait } from './waits.ts';

const clockSlackMs = 60_000;

export interface RunFilter {
  status?: RunStatus | undefined;
  workflowId?: string | undefined;
  from?: Date | undefined;
  to?: Date | undefined;
}

/** The latest approval of a step, as JSON of the database. */
interface StoredApproval {
  id: string;
  status: (typeof approvalStatuses)[number];
  decider: ApprovalDecider | null;
  decidedAt: string | null;
  note: string | null;
}

/** A step in the form of the API. */
export interface RunStepRow {
  [column: string]: unknown;
  index: number;
  status: StepStatus;
  attempts: number;
  input: JsonValue | null;
  input_omitted: boolean | null;
  output: JsonValue | null;
  output_text: string | null;
  error: RunFailure | null;
  started_at: Date | null;
  finished_at: Date | null;
  approval: StoredApproval | null;
  artifact_ids: string[] | null;
}

/** SQL columns of a run that come from other tables. */
const shownColumns = (heartbeatSeconds: number) =>
  `(SELECT w.name FROM workflows w WHERE w.id = runs.workflow_id) AS "workflowName", ${waitSql(heartbeatSeconds)} AS wait`;

/** SQL columns of a run in a list. */
export const summaryColumns = (heartbeatSeconds: number) =>
  `runs.id, runs.workflow_id AS "workflowId", runs.workflow_version AS "workflowVersion", runs.flow_id AS "flowId", runs.status, runs.trigger, runs.attempt, runs.environment,
   runs.parent_run_id AS "parentRunId", runs.depth, runs.error, runs.queued_at AS "queuedAt", runs.started_at AS "startedAt", runs.finished_at AS "finishedAt", ${shownColumns(heartbeatSeconds)}`;

export interface SummaryRow extends Pick<
  RunRow,
  | 'id'
  | 'workflowId'
  | 'workflowVersion'
  | 'flowId'
  | 'status'
  | 'trigger'
  | 'attempt'
  | 'environment'
  | 'parentRunId'
  | 'depth'
  | 'error'
  | 'queuedAt'
  | 'startedAt'
  | 'finishedAt'
> {
  workflowName: string;
  wait: StoredWait | null;
}

/** A page of runs, newest first, without inputs. */
export async function listRuns(
  tx: Transaction,
  tenantId: string,
  heartbeatSeconds: number,
  filter: RunFilter,
  limit: number,
  before: string | undefined,
): Promise<SummaryRow[]> {
  const { name, where, values } = wanted(tenantId, filter, before);
  const { rows } = await tx.query<SummaryRow>(
    `list_runs${name}`,
    `SELECT ${summaryColumns(heartbeatSeconds)} FROM runs WHERE ${where} ORDER BY runs.id DESC LIMIT $${values.length + 1}`,
    [...values, limit],
  );
  return rows;
}

/** The ids of a page of runs, newest first. */
export async function listRunIds(
  tx: Transaction,
  tenantId: string,
  filter: RunFilter,
  limit: number,
  before: string | undefined,
): Promise<string[]> {
  const { name, where, values } = wanted(tenantId, filter, before);
  const { rows } = await tx.query<{ id: string }>(
    `list_run_ids${name}`,
    `SELECT runs.id FROM runs WHERE ${where} ORDER BY runs.id DESC LIMIT $${values.length + 1}`,
    [...values, limit],
  );
  return rows.map(({ id }) => id);
}

/** The SQL condition of a filter, and the name of its statement. */
function wanted(
  tenantId: string,
  { status, workflowId, from, to }: RunFilter,
  before: string | undefined,
): { name: string; where: string; values: unknown[] } {
  const { name, where, values, and, andPeriod } = conditionsOn(tenantId);
  if (status !== undefined) and('status', (one) => `runs.status = ${one}`, status);
  if (workflowId !== undefined) and('workflow', (one) => `runs.workflow_id = ${one}`, workflowId);
  andPeriod(from, to);
  if (before !== undefined) and('before', (id) => `runs.id < ${id}`, before);
  return { name: name(), where: where(), values };
}

/** Builds the SQL condition of a filter of runs, and the name of its statement. */
export function conditionsOn(tenantId: string) {
  let name = '';
  let where = 'runs.tenant_id = $1';
  const values: unknown[] = [tenantId];
  const and = (what: string, condition: (...parameters: string[]) => string, ...given: unknown[]) => {
    name += `_${what}`;
    where += ` AND ${condition(...given.map((_value, index) => `$${values.length + index + 1}`))}`;
    values.push(...given);
  };
  // Ids are ordered by time, so a period is a range of the index. The tolerance allows for differing clocks of
  // processes.
  const idNear = (at: Date, slackMs: number) => idBefore(new Date(at.getTime() + slackMs));
  const andPeriod = (from: Date | undefined, to: Date | undefined) => {
    if (from !== undefined)
      and('from', (at, id) => `runs.queued_at >= ${at} AND runs.id > ${id}`, from, idNear(from, -clockSlackMs));
    if (to !== undefined)
      and('to', (at, id) => `runs.queued_at < ${at} AND runs.id < ${id}`, to, idNear(to, clockSlackMs));
  };
  return { name: () => name, where: () => where, values, and, andPeriod };
}

export interface FoundRun extends SummaryRow, Pick<RunRow, 'context' | 'payload'> {
  steps: Step[];
  results: RunStepRow[];
}

/**
 * A run with the steps of its version and their results; null when this workspace has no such run. When inputs and
 * outputs exceed `maxBytes`, only their size is returned.
 */
export async function readRun(
  tx: Transaction,
  tenantId: string,
  heartbeatSeconds: number,
  runId: string,
  maxBytes: number,
): Promise<FoundRun | { bytes: number } | null> {
  // The statements are pipelined with the steps last, so that the steps are never older than the run.
  const [{ rows }, results] = await Promise.all([
    tx.query<Omit<FoundRun, 'results'>>(
      'read_run',
      `SELECT ${summaryColumns(heartbeatSeconds)}, runs.context, runs.payload, v.steps
       FROM runs JOIN workflow_versions v ON v.workflow_id = runs.workflow_id AND v.version = runs.workflow_version WHERE runs.tenant_id = $1 AND runs.id = $2`,
      [tenantId, runId],
    ),
    readSteps(tx, tenantId, runId, maxBytes),
  ]);
  const row = rows[0];
  if (row === undefined) return null;
  const bytes = Number(results[0]?.bytes ?? 0);
  return bytes > maxBytes ? { bytes } : { ...row, results };
}

/** Maximum attempts of a flow whose artifacts are read. One of them executed a step that a retry keeps. */
const maxAttempts = 100;
const maxArtifactIds = 1000;

/**
 * The steps of a run in order. A command belongs to the step during which it was sent, for any attempt of the flow. A
 * step that a retry keeps also keeps its times.
 */
async function readSteps(
  tx: Transaction,
  tenantId: string,
  runId: string,
  maxBytes: number,
): Promise<(RunStepRow & { bytes: string | null })[]> {
  const { rows } = await tx.query<RunStepRow & { bytes: string | null }>(
    'read_steps',
    `WITH brought AS MATERIALIZED (
       SELECT a.id, c.step_index, c.created_at FROM artifacts a JOIN node_commands c ON c.id = a.command_id
       WHERE a.run_id = ANY(ARRAY(
         SELECT o.id FROM runs r JOIN runs o ON o.flow_id = r.flow_id AND o.attempt <= r.attempt WHERE r.id = $1 AND r.tenant_id = $2 ORDER BY o.attempt DESC LIMIT ${maxAttempts}))
       ORDER BY a.id DESC LIMIT ${maxArtifactIds}
     ), size AS MATERIALIZED (
       SELECT sum(output_bytes + coalesce(octet_length(input::text), 0)) AS bytes FROM run_steps WHERE run_id = $1 AND tenant_id = $2
     )
     SELECT size.bytes, index, status, attempts, CASE WHEN size.bytes <= $3 THEN input END AS input, input_omitted,
       CASE WHEN size.bytes <= $3 THEN output END AS output, CASE WHEN size.bytes <= $3 THEN output_text END AS output_text, error, started_at, finished_at,
       (SELECT jsonb_build_object('id', a.id, 'status', a.status, 'decider', a.decider, 'decidedAt', a.decided_at, 'note', a.note)
        FROM approvals a WHERE a.run_id = s.run_id AND a.step_index = s.index ORDER BY a.attempt DESC, a.call DESC LIMIT 1) AS approval,
       (SELECT array_agg(b.id ORDER BY b.id) FROM brought b WHERE b.step_index = s.index AND b.created_at >= s.started_at AND (s.finished_at IS NULL OR b.created_at <= s.finished_at)) AS artifact_ids
     FROM run_steps s CROSS JOIN size WHERE run_id = $1 AND tenant_id = $2 ORDER BY index`,
    [runId, tenantId, maxBytes],
  );
  return rows;
}
