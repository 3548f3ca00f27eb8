import { lockRuns, wakeRun } from '../../engine/index.ts';
import type { PromisedJob } from '../../engine/index.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { and, eq, inArray } from '../../platform/db/orm.ts';
import type { SQL } from '../../platform/db/orm.ts';
import { nodeCommands } from './schema.ts';

export type NodeCommandRow = typeof nodeCommands.$inferSelect;

/** Open commands that a transaction is about to change, in the order in which everybody locks them: after their runs. */
export function lockOpen(tx: Transaction, which: SQL | undefined) {
  return tx
    .select({ id: nodeCommands.id })
    .from(nodeCommands)
    .where(and(which, inArray(nodeCommands.status, ['pending', 'leased'])))
    .orderBy(nodeCommands.id)
    .for('update');
}

/** A command whose result is recorded. */
export interface LockedCommand extends Pick<
  NodeCommandRow,
  | 'id'
  | 'tenantId'
  | 'nodeId'
  | 'runId'
  | 'stepIndex'
  | 'attempt'
  | 'call'
  | 'type'
  | 'status'
  | 'deadlineAt'
  | 'error'
  | 'overdue'
> {
  /** Since it was handed out, in milliseconds. */
  elapsedMs: number;
}

interface LockedRow {
  id: string;
  tenant_id: string;
  node_id: string;
  run_id: string;
  step_index: number;
  attempt: number;
  call: number;
  type: string;
  status: NodeCommandRow['status'];
  deadline_at: Date | null;
  error: NodeCommandRow['error'];
  overdue: boolean;
  elapsed_ms: number;
}

/** Locks a command of a node, whose run is locked already, to record its result; null when there is none. */
export async function lockCommand(tx: Transaction, nodeId: string, id: string): Promise<LockedCommand | null> {
  const { rows } = await tx.query<LockedRow>(
    'lock_command',
    `SELECT id, tenant_id, node_id, run_id, step_index, attempt, call, type, status, deadline_at, error, overdue,
       coalesce(extract(epoch from clock_timestamp() - handed_out_at)::float8 * 1000, 0) AS elapsed_ms
     FROM node_commands WHERE id = $1 AND node_id = $2 FOR UPDATE`,
    [id, nodeId],
  );
  const row = rows[0];
  if (row === undefined) return null;
  return {
    id: row.id,
    tenantId: row.tenant_id,
    nodeId: row.node_id,
    runId: row.run_id,
    stepIndex: row.step_index,
    attempt: row.attempt,
    call: row.call,
    type: row.type,
    status: row.status,
    deadlineAt: row.deadline_at,
    error: row.error,
    overdue: row.overdue,
    elapsedMs: row.elapsed_ms,
  };
}

/** Ends a command and wakes its run, which is locked; nothing when it had ended before. */
export async function endCommand(
  tx: Transaction,
  commandId: string,
  status: 'succeeded' | 'failed',
  outcome: { output?: NodeCommandRow['output']; error?: NonNullable<NodeCommandRow['error']>; overdue?: boolean },
): Promise<PromisedJob[]> {
  const { output = null, error = null, overdue = false } = outcome;
  const { rows } = await tx.query<{ run_id: string }>(
    'end_command',
    `UPDATE node_commands SET status = $2, output = $3, error = $4, overdue = $5, finished_at = now(), lease_expires_at = NULL
     WHERE id = $1 AND status IN ('pending', 'leased') RETURNING run_id`,
    [
      commandId,
      status,
      output === null ? null : JSON.stringify(output),
      error === null ? null : JSON.stringify(error),
      overdue,
    ],
  );
  const row = rows[0];
  if (row === undefined) return [];
  const job = await wakeRun(tx, row.run_id);
  return job === null ? [] : [job];
}

/** Ends every open command of a node. */
export async function failNodeCommands(
  tx: Transaction,
  nodeId: string,
  error: { code: string; message: string },
): Promise<PromisedJob[]> {
  const ofNode = eq(nodeCommands.nodeId, nodeId);
  const waiting = await tx
    .select({ runId: nodeCommands.runId })
    .from(nodeCommands)
    .where(and(ofNode, inArray(nodeCommands.status, ['pending', 'leased'])));
  await lockRuns(
    tx,
    waiting.map(({ runId }) => runId),
  );
  const open = await lockOpen(tx, ofNode);
  const jobs: PromisedJob[] = [];
  for (const { id } of open) jobs.push(...(await endCommand(tx, id, 'failed', { error })));
  return jobs;
}
