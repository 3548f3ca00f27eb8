import type { RunStatus } from '../../../../shared/contract/automations/run-status.ts';
import { flows } from '../../../engine/schema.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, desc, eq, lt, sql } from '../../../platform/db/orm.ts';
import { summaryColumns } from './store.ts';
import type { SummaryRow } from './store.ts';

export interface FlowRow {
  id: string;
  workflowId: string;
  revision: number;
  status: RunStatus;
  createdAt: Date;
  updatedAt: Date;
}

/** A page of flows with the state of their latest runs, or the flow with the given id. */
export async function listFlows(
  tx: Transaction,
  tenantId: string,
  workflowId: string | undefined,
  limit: number,
  before: string | undefined,
  flowId?: string,
): Promise<FlowRow[]> {
  const rows = await tx
    .select({
      id: flows.id,
      workflowId: flows.workflowId,
      revision: flows.revision,
      status: sql<RunStatus | null>`(select r.status from runs r where r.flow_id = flows.id order by r.attempt desc limit 1)`,
      createdAt: flows.createdAt,
      updatedAt: flows.updatedAt,
    })
    .from(flows)
    .where(
      and(
        eq(flows.tenantId, tenantId),
        flowId === undefined ? undefined : eq(flows.id, flowId),
        workflowId === undefined ? undefined : eq(flows.workflowId, workflowId),
        before === undefined ? undefined : lt(flows.id, before),
      ),
    )
    .orderBy(desc(flows.id))
    .limit(limit);
  return rows.flatMap((row) => (row.status === null ? [] : [{ ...row, status: row.status }]));
}

/** The runs of a flow, first attempt first. */
export async function listFlowRuns(
  tx: Transaction,
  tenantId: string,
  heartbeatSeconds: number,
  flowId: string,
): Promise<SummaryRow[]> {
  const { rows } = await tx.query<SummaryRow>(
    'list_flow_runs',
    `SELECT ${summaryColumns(heartbeatSeconds)} FROM runs WHERE runs.tenant_id = $1 AND runs.flow_id = $2 ORDER BY runs.attempt LIMIT 1000`,
    [tenantId, flowId],
  );
  return rows;
}
