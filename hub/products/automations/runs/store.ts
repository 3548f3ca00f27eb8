import type { RunStatus, StepStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { JsonValue } from '../../../../shared/json.ts';
import type { RunRow } from '../../../engine/index.ts';
import { runs, workflowVersions } from '../../../engine/schema.ts';
import type { RunFailure } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, gt, gte, lt, sql } from '../../../platform/db/orm.ts';
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

/** A step as callers see it. */
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
  artifact_ids: string[] | null;
}

/** What is shown of a run that its own row does not say. */
const shownColumns = (heartbeatSeconds: number) => ({
  workflowName: sql<string>`(select w.name from workflows w where w.id = runs.workflow_id)`,
  wait: waitSql(heartbeatSeconds),
});

/** What a list shows of a run. */
export const summaryColumns = (heartbeatSeconds: number) => ({
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
  ...shownColumns(heartbeatSeconds),
});

export type SummaryRow = Awaited<ReturnType<typeof listRuns>>[number];

/** A page of runs, newest first, without inputs. */
export async function listRuns(
  tx: Transaction,
  tenantId: string,
  heartbeatSeconds: number,
  filter: RunFilter,
  limit: number,
  before: string | undefined,
) {
  return tx
    .select(summaryColumns(heartbeatSeconds))
    .from(runs)
    .where(isWanted(tenantId, filter, before))
    .orderBy(desc(runs.id))
    .limit(limit);
}

/** The ids of such a page. */
export async function listRunIds(
  tx: Transaction,
  tenantId: string,
  filter: RunFilter,
  limit: number,
  before: string | undefined,
): Promise<string[]> {
  const rows = await tx
    .select({ id: runs.id })
    .from(runs)
    .where(isWanted(tenantId, filter, before))
    .orderBy(desc(runs.id))
    .limit(limit);
  return rows.map(({ id }) => id);
}

const isWanted = (tenantId: string, filter: RunFilter, before: string | undefined) =>
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
  );

export interface FoundRun {
  run: RunRow;
  steps: Step[];
  results: RunStepRow[];
  workflowName: string;
  wait: StoredWait | null;
}

/** A run with the steps of its version and what became of them; null when this workspace has no such run. */
export async function readRun(
  tx: Transaction,
  tenantId: string,
  heartbeatSeconds: number,
  runId: string,
): Promise<FoundRun | null> {
  const [row] = await tx
    .select({ run: runs, steps: workflowVersions.steps, ...shownColumns(heartbeatSeconds) })
    .from(runs)
    .innerJoin(
      workflowVersions,
      and(eq(workflowVersions.workflowId, runs.workflowId), eq(workflowVersions.version, runs.workflowVersion)),
    )
    .where(and(eq(runs.tenantId, tenantId), eq(runs.id, runId)));
  if (row === undefined) return null;
  return { ...row, results: await readSteps(tx, row.run) };
}

/** Attempts of a flow whose artefacts are looked for: a step that a retry keeps was carried out by one of them. */
const maxAttempts = 100;
const maxArtifactIds = 1000;

/**
 * The steps of a run, in their order. A command belongs to the step in whose time it was sent, whichever attempt of the flow sent it: a
 * step that was kept has kept its times.
 */
async function readSteps(tx: Transaction, { id, flowId, attempt }: RunRow): Promise<RunStepRow[]> {
  const { rows } = await tx.query<RunStepRow>(
    'read_steps',
    `WITH brought AS MATERIALIZED (
       SELECT a.id, c.step_index, c.created_at FROM artifacts a JOIN node_commands c ON c.id = a.command_id
       WHERE a.run_id = ANY(ARRAY(SELECT id FROM runs WHERE flow_id = $2 AND attempt <= $3 ORDER BY attempt DESC LIMIT ${maxAttempts})) ORDER BY a.id DESC LIMIT ${maxArtifactIds}
     )
     SELECT index, status, attempts, input, input_omitted, output, output_text, error, started_at, finished_at,
       (SELECT array_agg(b.id ORDER BY b.id) FROM brought b WHERE b.step_index = s.index AND b.created_at >= s.started_at AND (s.finished_at IS NULL OR b.created_at <= s.finished_at)) AS artifact_ids
     FROM run_steps s WHERE run_id = $1 ORDER BY index`,
    [id, flowId, attempt],
  );
  return rows;
}
