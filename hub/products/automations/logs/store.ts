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

const columns = `id, tenant_id AS "tenantId", run_id AS "runId", step_index AS "stepIndex", workflow_id AS "workflowId", level, message, created_at AS "createdAt"`;

/** Lines of a workspace, newest first before an id, or oldest first after it. */
export async function findLogs(
  tx: Transaction,
  tenantId: string,
  { runId, workflowId, level, from, to }: LogFilter & Period,
  page: { before: string | undefined } | { after: string },
  limit: number,
): Promise<LogRow[]> {
  let name = 'after' in page ? 'follow_logs' : 'list_logs';
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
  if ('after' in page) and('id', (id) => `id > ${id}`, page.after);
  else if (page.before !== undefined) and('before', (id) => `id < ${id}`, page.before);
  const { rows } = await tx.query<LogRow>(
    name,
    `SELECT ${columns} FROM run_logs WHERE ${where} ORDER BY id ${'after' in page ? 'ASC' : 'DESC'} LIMIT $${values.length + 1}`,
    [...values, limit],
  );
  return rows;
}
