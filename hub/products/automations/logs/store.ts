import type { Transaction } from '../../../platform/db/database.ts';
import { idBefore } from '../../../platform/ids.ts';
import type { runLogs } from './schema.ts';

export type LogRow = typeof runLogs.$inferSelect;

export interface Period {
  from?: string | undefined;
  to?: string | undefined;
}

export interface LogFilter {
  runId?: string | undefined;
  workflowId?: string | undefined;
  level?: LogRow['level'] | undefined;
}

/**
 * Tolerance between the time in an id and the stored time, in milliseconds, because the clocks of two processes may
 * differ.
 */
export const clockSlackMs = 60_000;

export const logColumns = `id, tenant_id AS "tenantId", run_id AS "runId", step_index AS "stepIndex", workflow_id AS "workflowId", level, message, created_at AS "createdAt"`;

/** The SQL condition of a filter that starts after a line, and the suffix of the name of its statement. */
export function logConditions(
  tenantId: string,
  { runId, workflowId, level, from, to }: LogFilter & Period,
  start: { order: 'asc' | 'desc'; id: string | undefined; isIncluded?: boolean },
): { name: string; where: string; values: unknown[] } {
  let name = `_${start.order}`;
  let where = 'tenant_id = $1';
  const values: unknown[] = [tenantId];
  const and = (what: string, condition: (...parameters: string[]) => string, ...given: unknown[]) => {
    name += `_${what}`;
    where += ` AND ${condition(...given.map((_value, index) => `$${values.length + index + 1}`))}`;
    values.push(...given);
  };
  if (runId !== undefined) and('run', (one) => `run_id = ${one}`, runId);
  if (workflowId !== undefined) and('workflow', (one) => `workflow_id = ${one}`, workflowId);
  if (level !== undefined) and('level', (one) => `level = ${one}`, level);
  // The range of ids selects a period in the index; the range of times limits it exactly.
  const idNear = (at: string, slackMs: number) => idBefore(new Date(Date.parse(at) + slackMs));
  if (from !== undefined)
    and('from', (at, id) => `created_at >= ${at} AND id > ${id}`, new Date(from), idNear(from, -clockSlackMs));
  if (to !== undefined)
    and('to', (at, id) => `created_at < ${at} AND id < ${id}`, new Date(to), idNear(to, clockSlackMs));
  const operator = `${start.order === 'asc' ? '>' : '<'}${start.isIncluded === true ? '=' : ''}`;
  if (start.id !== undefined)
    and(start.isIncluded === true ? 'start' : 'after', (id) => `id ${operator} ${id}`, start.id);
  return { name, where, values };
}

/** Lines of a workspace after an id, oldest first. */
export async function followLogs(
  tx: Transaction,
  tenantId: string,
  filter: LogFilter,
  after: string,
  limit: number,
): Promise<LogRow[]> {
  const { name, where, values } = logConditions(tenantId, filter, { order: 'asc', id: after });
  const { rows } = await tx.query<LogRow>(
    `follow_logs${name}`,
    `SELECT ${logColumns} FROM run_logs WHERE ${where} ORDER BY id LIMIT $${values.length + 1}`,
    [...values, limit],
  );
  return rows;
}

export async function isRun(tx: Transaction, tenantId: string, runId: string): Promise<boolean> {
  const { rows } = await tx.query('is_run', 'SELECT FROM runs WHERE tenant_id = $1 AND id = $2', [tenantId, runId]);
  return rows.length > 0;
}
