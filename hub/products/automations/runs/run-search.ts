import type { Transaction } from '../../../platform/db/database.ts';
import { uuidRange } from '../../../platform/ids.ts';
import { conditionsOn, summaryColumns } from './store.ts';
import type { RunFilter, SummaryRow } from './store.ts';

/** The filters of a list of runs. */
export interface RunSearch extends Omit<RunFilter, 'status'> {
  statuses?: readonly string[] | undefined;
  parentRunId?: string | undefined;
  idPrefix?: string | undefined;
  triggerType?: string | undefined;
  environment?: 'live' | 'test' | undefined;
  nodeId?: string | undefined;
  errorCode?: string | undefined;
  /** Without runs that a later one of their flow follows. */
  isLatest?: boolean | undefined;
}

/** Maximum runs that one statement examines for the filters that have no index. */
const windowRows = 500;
/** Maximum statements of one request. */
const maxWindows = 20;
/** Number of runs that are counted for an estimate. */
const countedRows = 10_000;

/** SQL of the runs that the filters with an index select, and its parameters. */
interface Candidates {
  name: string;
  /** The conditions on `runs` without the one on the status. */
  where: string;
  /** The parameters of the statuses; undefined for all statuses. */
  statuses: readonly string[] | undefined;
  values: unknown[];
}

/** What the filters without an index compare. */
const comparedColumns = `runs.id, runs.trigger->>'type' AS trigger_type, runs.environment, runs.error->>'code' AS error_code, runs.flow_id, runs.attempt`;

/**
 * A condition on candidates for the filters that have no index. It has five parameters from `first` on. The commands
 * and the later runs of the flow are scalar subqueries, so that they are looked up for each candidate and never read
 * for the whole node or workspace.
 */
const remainingCondition = (first: number) =>
  `($${first}::text IS NULL OR trigger_type = $${first}) AND ($${first + 1}::text IS NULL OR environment = $${first + 1})
   AND ($${first + 2}::text IS NULL OR error_code = $${first + 2})
   AND ($${first + 3}::uuid IS NULL OR (SELECT true FROM node_commands c WHERE c.run_id = candidates.id AND c.node_id = $${first + 3} LIMIT 1))
   AND ($${first + 4}::boolean IS NULL OR (SELECT true FROM runs later WHERE later.flow_id = candidates.flow_id AND later.attempt > candidates.attempt LIMIT 1) IS NULL)`;

const remainingValues = ({ triggerType, environment, nodeId, errorCode, isLatest }: RunSearch) => [
  triggerType ?? null,
  environment ?? null,
  errorCode ?? null,
  nodeId ?? null,
  isLatest === true ? true : null,
];

const hasRemaining = (search: RunSearch) => remainingValues(search).some((value) => value !== null);

/**
 * Finds a page of runs, newest first. Filters without an index apply to a bounded number of runs, so the page can be
 * short.
 * @returns the rows, at most `limit`, and the id after which the next page starts; null at the end.
 */
export function searchRuns(
  tx: Transaction,
  tenantId: string,
  heartbeatSeconds: number,
  search: RunSearch,
  limit: number,
  after: string | undefined,
): Promise<{ rows: SummaryRow[]; next: string | null }> {
  const shown = `(page CROSS JOIN LATERAL (SELECT ${summaryColumns(heartbeatSeconds)} FROM runs WHERE runs.id = page.id OFFSET 0) shown)`;
  return searchPage<SummaryRow>(tx, { name: 'search_runs', shown }, { tenantId, search, limit, after });
}

/** Finds the ids of the same page. */
export async function searchRunIds(
  tx: Transaction,
  tenantId: string,
  search: RunSearch,
  limit: number,
  after: string | undefined,
): Promise<{ ids: string[]; next: string | null }> {
  const statement = { name: 'search_run_ids', shown: 'page AS shown' };
  const { rows, next } = await searchPage<{ id: string }>(tx, statement, { tenantId, search, limit, after });
  return { ids: rows.map(({ id }) => id), next };
}

/** @param shown SQL of a relation `shown` with the columns of a row, made from the ids in `page`. */
async function searchPage<Row extends { id: string }>(
  tx: Transaction,
  { name: statementName, shown }: { name: string; shown: string },
  { tenantId, search, limit, after }: { tenantId: string; search: RunSearch; limit: number; after: string | undefined },
): Promise<{ rows: Row[]; next: string | null }> {
  const found: Row[] = [];
  const window = hasRemaining(search) ? windowRows : limit + 1;
  let before = after;
  for (let windows = 0; windows < maxWindows; windows += 1) {
    const { name, values, sql } = candidatesOf(tenantId, search, before, window);
    const first = values.length + 1;
    const { rows } = await tx.query<Row & { oldest: string | null; examined: number }>(
      `${statementName}${name}`,
      `WITH candidates AS MATERIALIZED (${sql}),
         examined AS MATERIALIZED (SELECT count(*)::int AS examined, (array_agg(id ORDER BY id))[1] AS oldest FROM candidates),
         page AS MATERIALIZED (SELECT id FROM candidates WHERE ${remainingCondition(first)} ORDER BY id DESC LIMIT $${first + 5})
       SELECT examined.*, shown.* FROM examined LEFT JOIN ${shown} ON true ORDER BY shown.id DESC`,
      [...values, ...remainingValues(search), limit + 1 - found.length],
    );
    const [row] = rows;
    for (const { oldest: _oldest, examined: _examined, ...shownRow } of rows) {
      const summary = shownRow as unknown as Row;
      if (summary.id !== null) found.push(summary);
    }
    if (found.length > limit) return { rows: found.slice(0, limit), next: found[limit - 1]?.id ?? null };
    if (row === undefined || row.oldest === null || row.examined < window) return { rows: found, next: null };
    before = row.oldest;
  }
  return { rows: found, next: before ?? null };
}

/** The number of runs that match: counted up to a limit, then estimated from the statistics of the database. */
export async function estimateRuns(
  tx: Transaction,
  tenantId: string,
  search: RunSearch,
): Promise<{ count: number; isExact: boolean }> {
  const { name, values, sql, where, statuses } = candidatesOf(tenantId, search, undefined, countedRows);
  const first = values.length + 1;
  const { rows } = await tx.query<{ examined: number; matching: number }>(
    `count_runs${name}`,
    `SELECT count(*)::int AS examined, (count(*) FILTER (WHERE ${remainingCondition(first)}))::int AS matching
     FROM (${sql}) candidates`,
    [...values, ...remainingValues(search)],
  );
  const { examined = 0, matching = 0 } = rows[0] ?? {};
  if (examined < countedRows) return { count: matching, isExact: true };
  const conditions = statuses === undefined ? where : `${where} AND runs.status IN (${statuses.join(', ')})`;
  const explained = await tx.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `estimate_runs${name}`,
    `EXPLAIN (FORMAT JSON) SELECT FROM runs WHERE ${conditions} AND $${values.length}::int > 0`,
    values,
  );
  const total = Math.max(examined, explained.rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0);
  return { count: Math.round((total * matching) / examined), isExact: false };
}

/** SQL of the newest runs that the filters with an index select. The last parameter is their maximum number. */
function candidatesOf(
  tenantId: string,
  search: RunSearch,
  before: string | undefined,
  limit: number,
): Candidates & { sql: string } {
  const { name, where, statuses, values } = indexedConditions(tenantId, search, before);
  const last = `$${values.length + 1}`;
  const newest = (condition: string) =>
    `SELECT ${comparedColumns} FROM runs WHERE ${where}${condition} ORDER BY runs.id DESC LIMIT ${last}`;
  // One range of the index for each status: a condition on several statuses would read and sort all of them. Each has a
  // parameter of its own, so that the plan can depend on how frequent the status is.
  const sql =
    statuses === undefined
      ? newest('')
      : `SELECT each.* FROM (${statuses.map((parameter) => `(${newest(` AND runs.status = ${parameter}`)})`).join(' UNION ALL ')}) each ORDER BY each.id DESC LIMIT ${last}`;
  return { name, where, statuses, values: [...values, limit], sql };
}

function indexedConditions(tenantId: string, search: RunSearch, before: string | undefined): Candidates {
  // Only failed runs have an error.
  const statuses =
    search.errorCode === undefined
      ? search.statuses
      : (search.statuses ?? ['failed']).filter((status) => status === 'failed');
  const { workflowId, parentRunId, idPrefix } = search;
  const { name, where, values, and, andPeriod } = conditionsOn(tenantId);
  if (workflowId !== undefined) and('workflow', (one) => `runs.workflow_id = ${one}`, workflowId);
  andPeriod(search.from, search.to);
  if (parentRunId !== undefined) and('parent', (one) => `runs.parent_run_id = ${one}`, parentRunId);
  if (idPrefix !== undefined)
    and('prefix', (low, high) => `runs.id BETWEEN ${low} AND ${high}`, ...uuidRange(idPrefix));
  if (before !== undefined) and('before', (id) => `runs.id < ${id}`, before);
  if (statuses === undefined) return { name: name(), where: where(), statuses, values };
  // A search without any possible status finds nothing.
  const wanted = statuses.length === 0 ? [''] : [...new Set(statuses)];
  const first = values.push(...wanted) - wanted.length + 1;
  const parameters = wanted.map((_status, index) => `$${first + index}`);
  return { name: `${name()}_statuses${wanted.length}`, where: where(), statuses: parameters, values };
}
