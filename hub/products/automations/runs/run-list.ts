import type { z } from 'zod';
import type { runs as resource, RunSummary } from '../../../../shared/contract/automations/runs.ts';
import { readPage } from '../../../platform/cursor.ts';
import type { Cursors } from '../../../platform/cursor.ts';
import type { Database } from '../../../platform/db/database.ts';
import { presentSummary } from './present.ts';
import { estimateRuns, searchRuns } from './run-search.ts';
import type { RunSearch } from './run-search.ts';
import { listRuns } from './store.ts';

export type RunListQuery = z.output<typeof resource.listAutomationRuns.query>;
export type RunEstimateQuery = z.output<typeof resource.estimateAutomationRuns.query>;

interface RunListDependencies {
  db: Database;
  cursors: Cursors;
  heartbeatSeconds: number;
}

/** A page of runs, newest first. @throws AppError `invalid_cursor`. */
export async function readRunList(
  { db, cursors, heartbeatSeconds }: RunListDependencies,
  tenantId: string,
  query: RunListQuery,
): Promise<{ data: RunSummary[]; meta: { limit: number; nextCursor: string | null } }> {
  const scope = `runs:${tenantId}`;
  const { status, workflowId, from: _from, to: _to, limit, cursor, ...more } = query;
  if (Object.values(more).every((value) => value === undefined)) {
    const filter = { status, workflowId, ...periodOf(query) };
    const read = (count: number, before: string | undefined) =>
      db.read(tenantId, (tx) => listRuns(tx, tenantId, heartbeatSeconds, filter, count, before));
    return readPage(cursors, scope, query, read, presentSummary);
  }
  const after = cursor === undefined ? undefined : cursors.decode(scope, cursor);
  const { rows, next } = await db.read(tenantId, (tx) =>
    searchRuns(tx, tenantId, heartbeatSeconds, searchOf(query), limit, after),
  );
  return {
    data: rows.map(presentSummary),
    meta: { limit, nextCursor: next === null ? null : cursors.encode(scope, next) },
  };
}

/** The number of runs that the filters of a list select: counted, or estimated for many runs. */
export const readRunEstimate = ({ db }: { db: Database }, tenantId: string, query: RunEstimateQuery) =>
  db.read(tenantId, (tx) => estimateRuns(tx, tenantId, searchOf(query)));

const periodOf = ({ from, to }: Pick<RunEstimateQuery, 'from' | 'to'>) => ({
  from: from === undefined ? undefined : new Date(from),
  to: to === undefined ? undefined : new Date(to),
});

/** The search of a query. `status` and `statuses` both apply. */
export function searchOf(query: RunEstimateQuery): RunSearch {
  const { status, statuses, workflowId, parentRunId, idPrefix, triggerType, environment, nodeId, errorCode, latest } =
    query;
  const among = statuses?.split(',') ?? (status === undefined ? undefined : [status]);
  return {
    statuses: status === undefined ? among : among?.filter((each) => each === status),
    workflowId,
    parentRunId,
    idPrefix,
    triggerType,
    environment,
    nodeId,
    errorCode,
    isLatest: latest === 'true',
    ...periodOf(query),
  };
}
