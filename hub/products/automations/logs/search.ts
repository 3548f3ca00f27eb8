import type { Transaction } from '../../../platform/db/database.ts';
import { logColumns, logConditions } from './store.ts';
import type { LogFilter, LogRow, Period } from './store.ts';

export interface LogSearch extends LogFilter, Period {
  stepIndex?: number | undefined;
  /** A text that the lines contain, whatever its case. */
  q?: string | undefined;
}

/** The place in a log where a page starts. */
export interface LogStart {
  order: 'asc' | 'desc';
  /** The line after which the page starts, in its order; from the first line when omitted. */
  after?: string | undefined;
  /** Whether the page contains the line `after`. */
  isIncluded?: boolean;
}

/** Maximum lines that one statement examines for the filters that have no index. */
const windowRows = 500;
/** Maximum statements of one page. */
const maxWindows = 20;

/**
 * Finds a page of log lines. `stepIndex` and `q` have no index: they apply to a bounded number of lines, so the page
 * can be short.
 * @returns at most `limit` rows, and the id after which the next page starts; null at the end.
 */
export async function searchLogs(
  tx: Transaction,
  tenantId: string,
  { stepIndex, q, ...indexed }: LogSearch,
  { order, after, isIncluded = false }: LogStart,
  limit: number,
): Promise<{ rows: LogRow[]; next: string | null }> {
  const found: LogRow[] = [];
  const window = stepIndex === undefined && q === undefined ? limit + 1 : windowRows;
  let start = after;
  for (let windows = 0; windows < maxWindows; windows += 1) {
    const { name, where, values } = logConditions(tenantId, indexed, {
      order,
      id: start,
      isIncluded: isIncluded && windows === 0,
    });
    const first = values.length + 1;
    const { rows } = await tx.query<LogRow & { last: string | null; examined: number }>(
      `search_logs${name}`,
      `WITH candidates AS MATERIALIZED (SELECT ${logColumns} FROM run_logs WHERE ${where} ORDER BY id ${order} LIMIT $${first}),
         examined AS (SELECT count(*)::int AS examined, (array_agg(id ORDER BY id ${order === 'asc' ? 'DESC' : 'ASC'}))[1] AS last FROM candidates),
         page AS (
           SELECT * FROM candidates
           WHERE ($${first + 1}::int IS NULL OR "stepIndex" = $${first + 1}) AND ($${first + 2}::text IS NULL OR strpos(lower(message), lower($${first + 2})) > 0)
           ORDER BY id ${order} LIMIT $${first + 3}
         )
       SELECT examined.*, page.* FROM examined LEFT JOIN page ON true ORDER BY page.id ${order}`,
      [...values, window, stepIndex ?? null, q ?? null, limit + 1 - found.length],
    );
    const [row] = rows;
    for (const { last: _last, examined: _examined, ...line } of rows) if (line.id !== null) found.push(line as LogRow);
    if (found.length > limit) return { rows: found.slice(0, limit), next: found[limit - 1]?.id ?? null };
    if (row === undefined || row.last === null || row.examined < window) return { rows: found, next: null };
    start = row.last;
  }
  return { rows: found, next: start ?? null };
}

/** Finds the page that has a line in its middle. The line need not be stored any more. */
export async function searchLogsAround(
  tx: Transaction,
  tenantId: string,
  search: LogSearch,
  { order, around }: { order: LogStart['order']; around: string },
  limit: number,
): Promise<{ rows: LogRow[]; next: string | null }> {
  const opposite = order === 'asc' ? 'desc' : 'asc';
  const before = await searchLogs(tx, tenantId, search, { order: opposite, after: around }, Math.floor(limit / 2));
  const start = { order, after: around, isIncluded: true };
  const { rows, next } = await searchLogs(tx, tenantId, search, start, limit - before.rows.length);
  return { rows: [...before.rows.toReversed(), ...rows], next };
}
