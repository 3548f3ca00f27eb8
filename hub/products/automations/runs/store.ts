import type { ApprovalDecider, approvalStatuses } from '../../../../shared/contract/automations/approvals.ts';
import type { RunStatus, StepStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { AgentTurn } from '../../../../shared/contract/automations/runs.ts';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { nodeCommandStatuses } from '../../../../shared/contract/nodes/device.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import type { RunRow } from '../../../engine/index.ts';
import type { RetriedAttempt, RunFailure } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { memorySize } from '../../../platform/db/memory-size.ts';
import { idBefore } from '../../../platform/ids.ts';
import { readAgentTurns } from './agent-turns.ts';
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

/** A node command of a step, as JSON of the database. */
interface StoredCommand {
  id: string;
  nodeId: string;
  type: string;
  attempt: number;
  status: (typeof nodeCommandStatuses)[number];
  createdAt: string;
  finishedAt: string | null;
  error: { code: string; message: string } | null;
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
  output_bytes: number;
  /** Missing unless the turns were read. */
  turns?: AgentTurn[];
  error: RunFailure | null;
  started_at: Date | null;
  finished_at: Date | null;
  retried_attempts: RetriedAttempt[] | null;
  attempt_started_at: Date | null;
  approval: StoredApproval | null;
  child_run_id: string | null;
  commands: StoredCommand[] | null;
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

/** The parts of a run to read. */
export interface RunParts {
  /** Whether to read the inputs of the steps, and with all steps the context and the payload. */
  inputs: boolean;
  /** Whether to read the outputs of the steps. */
  outputs: boolean;
  /** The agent steps whose turns to read. */
  turns: 'all' | 'unfinished' | 'none';
  /** The steps whose results to read, by index; null for all steps. */
  indexes: readonly number[] | null;
}

/**
 * A run with the steps of its version and their results, and the size of its payload, context, inputs and outputs as
 * far as they are read; null when this workspace has no such run. When the size exceeds `maxBytes`, `run` is null.
 */
export async function readRun(
  tx: Transaction,
  tenantId: string,
  heartbeatSeconds: number,
  runId: string,
  parts: RunParts,
  maxBytes: number,
): Promise<{ bytes: number; run: FoundRun | null } | null> {
  const isWhole = parts.inputs && parts.indexes === null;
  // The statements are pipelined with the steps last, so that the steps are never older than the run.
  const [{ rows }, turns, results] = await Promise.all([
    tx.query<Omit<FoundRun, 'results'> & { bytes: string }>(
      'read_run',
      `SELECT ${summaryColumns(heartbeatSeconds)}, size.bytes, CASE WHEN $3 AND size.bytes <= $4 THEN runs.context END AS context, CASE WHEN $3 AND size.bytes <= $4 THEN runs.payload END AS payload, v.steps
       FROM runs JOIN workflow_versions v ON v.workflow_id = runs.workflow_id AND v.version = runs.workflow_version
         CROSS JOIN LATERAL (SELECT CASE WHEN $3 THEN ${memorySize('runs.payload', '{}')}::bigint + coalesce(octet_length(runs.context), 0) ELSE 0 END AS bytes OFFSET 0) size
       WHERE runs.tenant_id = $1 AND runs.id = $2`,
      [tenantId, runId, isWhole, maxBytes],
    ),
    parts.turns === 'none' ? [] : readAgentTurns(tx, tenantId, runId, parts),
    readSteps(tx, tenantId, runId, parts, maxBytes),
  ]);
  const [row] = rows;
  if (row === undefined) return null;
  const bytes = turns.reduce((sum, step) => sum + step.bytes, Number(row.bytes) + Number(results[0]?.bytes ?? 0));
  for (const step of turns)
    Object.assign(results.find(({ index }) => index === step.index) ?? {}, { turns: step.turns });
  return { bytes, run: bytes > maxBytes ? null : { ...row, results } };
}

/** Maximum attempts of a flow whose artifacts are read. One of them executed a step that a retry keeps. */
const maxAttempts = 100;
const maxArtifactIds = 1000;
const maxCommands = 1000;
const maxChildRuns = 1000;

/** SQL array of the runs of a flow up to the attempt of run `$1` in workspace `$2`, newest first. */
export const attemptsText = `ARRAY(
         SELECT o.id FROM runs r JOIN runs o ON o.flow_id = r.flow_id AND o.attempt <= r.attempt WHERE r.id = $1 AND r.tenant_id = $2 ORDER BY o.attempt DESC LIMIT ${maxAttempts})`;

/** SQL condition: a row was created while the step `s` was executed. */
export const during = (createdAt: string) =>
  `${createdAt} >= s.started_at AND (s.finished_at IS NULL OR ${createdAt} <= s.finished_at)`;

/** The status of a run, and a version of each step that has started. */
export interface RunOutline {
  status: RunStatus;
  /**
   * By index of the step. A version changes with every write of the step or of its approvals. While the step is in
   * progress, it also changes with the status of its commands, and so with their artifacts.
   */
  versions: Map<number, string>;
}

/** Reads the status and the versions of the steps, without inputs and outputs; null when this workspace has no such run. */
export async function readOutline(tx: Transaction, tenantId: string, runId: string): Promise<RunOutline | null> {
  // The steps are read last, so that they are never older than the status.
  const [run, steps] = await Promise.all([
    tx.query<{ status: RunStatus }>('read_run_status', 'SELECT status FROM runs WHERE tenant_id = $1 AND id = $2', [
      tenantId,
      runId,
    ]),
    // `xmin` is the transaction that wrote the row.
    tx.query<{ index: number; version: string }>(
      'read_step_versions',
      `SELECT s.index, concat_ws(' ', s.xmin::text, a.versions, CASE WHEN s.finished_at IS NULL THEN (
         SELECT md5(string_agg(c.status, ' ' ORDER BY c.attempt, c.call)) FROM node_commands c WHERE c.run_id = $1 AND c.step_index = s.index) END) AS version
       FROM run_steps s LEFT JOIN (
         SELECT step_index, string_agg(xmin::text, ' ' ORDER BY id) AS versions FROM approvals WHERE run_id = $1 AND tenant_id = $2 GROUP BY step_index
       ) a ON a.step_index = s.index
       WHERE s.run_id = $1 AND s.tenant_id = $2 ORDER BY s.index`,
      [runId, tenantId],
    ),
  ]);
  const status = run.rows[0]?.status;
  if (status === undefined) return null;
  return { status, versions: new Map(steps.rows.map(({ index, version }) => [index, version])) };
}

/**
 * The steps of a run in order. A command belongs to the step during which it was sent, for any attempt of the flow. A
 * step that a retry keeps also keeps its times.
 */
async function readSteps(
  tx: Transaction,
  tenantId: string,
  runId: string,
  { inputs, outputs, indexes }: RunParts,
  maxBytes: number,
): Promise<(RunStepRow & { bytes: string | null })[]> {
  const { rows } = await tx.query<RunStepRow & { bytes: string | null }>(
    'read_steps',
    `WITH brought AS MATERIALIZED (
       SELECT a.id, c.step_index, c.created_at FROM artifacts a JOIN node_commands c ON c.id = a.command_id
       WHERE a.run_id = ANY(${attemptsText})
       ORDER BY a.id DESC LIMIT ${maxArtifactIds}
     ), sent AS MATERIALIZED (
       SELECT id, node_id, step_index, attempt, call, type, status, created_at, finished_at, error FROM node_commands
       WHERE run_id = ANY(${attemptsText}) AND ($6::int[] IS NULL OR step_index = ANY($6))
       ORDER BY run_id DESC, step_index DESC, attempt DESC, call DESC LIMIT ${maxCommands}
     ), child AS MATERIALIZED (
       SELECT id, queued_at FROM runs WHERE parent_run_id = ANY(${attemptsText}) ORDER BY queued_at DESC LIMIT ${maxChildRuns}
     ), size AS MATERIALIZED (
       SELECT sum(CASE WHEN $5 THEN output_bytes ELSE 0 END + CASE WHEN $4 THEN coalesce(octet_length(input::text), 0) ELSE 0 END + coalesce(octet_length(retried_attempts::text), 0)) AS bytes
       FROM run_steps WHERE run_id = $1 AND tenant_id = $2 AND ($6::int[] IS NULL OR index = ANY($6))
     )
     SELECT size.bytes, index, status, attempts, CASE WHEN $4 AND size.bytes <= $3 THEN input END AS input, input_omitted,
       CASE WHEN $5 AND size.bytes <= $3 THEN output END AS output, CASE WHEN $5 AND size.bytes <= $3 THEN output_text END AS output_text, output_bytes, error, started_at, finished_at,
       CASE WHEN size.bytes <= $3 THEN retried_attempts END AS retried_attempts, attempt_started_at,
       (SELECT jsonb_build_object('id', a.id, 'status', a.status, 'decider', a.decider, 'decidedAt', a.decided_at, 'note', a.note)
        FROM approvals a WHERE a.run_id = s.run_id AND a.step_index = s.index ORDER BY a.attempt DESC, a.call DESC LIMIT 1) AS approval,
       (SELECT c.id FROM child c WHERE ${during('c.queued_at')} ORDER BY c.queued_at DESC LIMIT 1) AS child_run_id,
       (SELECT jsonb_agg(jsonb_build_object('id', c.id, 'nodeId', c.node_id, 'type', c.type, 'attempt', c.attempt, 'status', c.status, 'createdAt', c.created_at, 'finishedAt', c.finished_at, 'error', c.error)
          ORDER BY c.attempt, c.call)
        FROM sent c WHERE c.step_index = s.index AND ${during('c.created_at')}) AS commands,
       (SELECT array_agg(b.id ORDER BY b.id) FROM brought b WHERE b.step_index = s.index AND ${during('b.created_at')}) AS artifact_ids
     FROM run_steps s CROSS JOIN size WHERE run_id = $1 AND tenant_id = $2 AND ($6::int[] IS NULL OR index = ANY($6)) ORDER BY index`,
    [runId, tenantId, maxBytes, inputs, outputs, indexes],
  );
  return rows;
}
