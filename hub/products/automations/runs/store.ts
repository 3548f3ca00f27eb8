import { and, asc, desc, eq, gt, gte, lt, sql } from 'drizzle-orm';
import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import type { Step } from '../../../../shared/contract/automations/steps.ts';
import type { RunRow } from '../../../engine/index.ts';
import { runs, runSteps, workflowVersions } from '../../../engine/schema.ts';
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

export type RunStepRow = typeof runSteps.$inferSelect;

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
  const results = await tx.select().from(runSteps).where(eq(runSteps.runId, runId)).orderBy(asc(runSteps.index));
  return { ...row, results };
}
