import { lockRuns, waitsText, wakeRun } from '../../../engine/index.ts';
import type { CommandOutcome, Resumption } from '../../../engine/index.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray } from '../../../platform/db/orm.ts';
import type { SQL } from '../../../platform/db/orm.ts';
import { pipelineCommit, commitDurably } from '../../../platform/db/transaction.ts';
import { nodeCommands } from '../schema.ts';

export type NodeCommandRow = typeof nodeCommands.$inferSelect;

/** Locks open commands in id order. To avoid deadlocks, every transaction locks runs before commands. */
export function lockOpenCommands(tx: Transaction, condition: SQL | undefined) {
  return tx
    .select({ id: nodeCommands.id })
    .from(nodeCommands)
    .where(and(condition, inArray(nodeCommands.status, ['pending', 'leased'])))
    .orderBy(nodeCommands.id)
    .for('update');
}

/** A locked command whose result is about to be recorded. */
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
  | 'acts'
  | 'createdAt'
  | 'handedOutAt'
> {
  /** Whether the step succeeds with any exit code. Only `system.run` supports this. */
  acceptsExitCode: boolean;
  /** Time since the command was leased to its device, in milliseconds. */
  elapsedMs: number;
  /** Whether the device uploaded artifacts before the result. */
  hasUploads: boolean;
  /** Whether its run is waiting and no worker has a lease on it. */
  runWaits: boolean;
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
  acts: boolean;
  created_at: Date;
  handed_out_at: Date | null;
  accepts_exit_code: boolean;
  elapsed_ms: number;
  has_uploads: boolean;
}

/**
 * Locks the run of a command, then the command, to record its result. Returns null when the node has no such command.
 */
export async function lockCommand(tx: Transaction, nodeId: string, id: string): Promise<LockedCommand | null> {
  // Both statements are pipelined: the second one does not wait for the result of the first one.
  const [{ rows: runs }, { rows }] = await Promise.all([
    tx.query<{ waits: boolean }>(
      'lock_run_of_command',
      `SELECT ${waitsText} AS waits FROM runs WHERE id = (SELECT run_id FROM node_commands WHERE id = $1 AND node_id = $2) FOR NO KEY UPDATE`,
      [id, nodeId],
    ),
    tx.query<LockedRow>(
      'lock_command',
      `SELECT id, tenant_id, node_id, run_id, step_index, attempt, call, type, status, deadline_at, error, overdue, acts, created_at, handed_out_at,
         type = 'system.run' AND coalesce(input->>'failOnExitCode' = 'false', false) AS accepts_exit_code,
         coalesce(extract(epoch from clock_timestamp() - handed_out_at)::float8 * 1000, 0) AS elapsed_ms,
         EXISTS (SELECT 1 FROM artifact_uploads u WHERE u.command_id = node_commands.id) AS has_uploads
       FROM node_commands WHERE id = $1 AND node_id = $2 FOR UPDATE`,
      [id, nodeId],
    ),
  ]);
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
    acts: row.acts,
    createdAt: row.created_at,
    handedOutAt: row.handed_out_at,
    acceptsExitCode: row.accepts_exit_code,
    elapsedMs: row.elapsed_ms,
    hasUploads: row.has_uploads,
    runWaits: runs[0]?.waits === true,
  };
}

/**
 * Ends a command and wakes its run. The caller holds the lock of the run. Does nothing when the command has already
 * ended.
 */
export async function endCommand(
  tx: Transaction,
  commandId: string,
  status: 'succeeded' | 'failed',
  outcome: Outcome,
): Promise<void> {
  const row = await markEnded(tx, commandId, status, outcome);
  if (row !== undefined) await wakeRun(tx, row.run_id);
}

/**
 * Ends a locked open command, resumes its run and returns the outcome. The statements are pipelined.
 * @param isLast whether the transaction writes nothing else. COMMIT is then sent in the same flush.
 */
export async function endLockedCommand(
  tx: Transaction,
  command: LockedCommand,
  { status, outcome, isLast }: { status: 'succeeded' | 'failed'; outcome: Outcome; isLast: boolean },
  resumption: Resumption,
): Promise<CommandOutcome> {
  const writes = [
    markEnded(tx, command.id, status, outcome),
    resumption.resume(tx, { id: command.runId, waits: command.runWaits }),
    // A read-only command can be repeated after a crash of the database. An action cannot, so its result must be
    // durable.
    command.acts ? commitDurably(tx) : Promise.resolve(),
  ] as const;
  if (isLast) pipelineCommit(tx);
  const [row] = await Promise.all(writes);
  if (row === undefined) throw new Error('a command that is locked and open could not be ended');
  const { type, nodeId, createdAt, handedOutAt } = command;
  const { output, error, finished_at: finishedAt } = row;
  return { status, output, error, type, nodeId, createdAt, handedOutAt, finishedAt };
}

/** Error codes of commands that started on their node, or may have started. */
const startedErrorCodes = [
  'interrupted',
  'outcome_unknown',
  'timeout',
  'exit_code',
  'invalid_reply',
  'output_too_large',
];

/**
 * Finds the newest unsuccessful command of a step, over all attempts of its flow, that may have started on its node.
 */
export async function findEarlier(
  tx: Transaction,
  { runId, stepIndex, type }: { runId: string; stepIndex: number; type: string },
): Promise<{ code: string; handedOutAt: Date } | null> {
  const { rows } = await tx.query<{ code: string; handed_out_at: Date }>(
    'find_earlier_command',
    `SELECT CASE WHEN c.status = 'withdrawn' THEN c.status ELSE c.error->>'code' END AS code, c.handed_out_at
     FROM runs r JOIN runs attempt ON attempt.flow_id = r.flow_id JOIN node_commands c ON c.run_id = attempt.id
     WHERE r.id = $1 AND c.step_index = $2 AND c.type = $3 AND c.handed_out_at IS NOT NULL
       AND (c.status = 'withdrawn' OR c.status = 'failed' AND c.error->>'code' = ANY($4))
     ORDER BY c.handed_out_at DESC LIMIT 1`,
    [runId, stepIndex, type, startedErrorCodes],
  );
  const [found] = rows;
  return found === undefined ? null : { code: found.code, handedOutAt: found.handed_out_at };
}

interface EndedRow {
  run_id: string;
  /** The output as stored. */
  output: NodeCommandRow['output'];
  error: NodeCommandRow['error'];
  finished_at: Date;
}

interface Outcome {
  output?: NodeCommandRow['output'];
  error?: NonNullable<NodeCommandRow['error']>;
  overdue?: boolean;
}

/**
 * Ends a command. Returns undefined when it has already ended.
 * The caller holds the lock of the run, and wakes the run.
 */
export async function markEnded(
  tx: Transaction,
  commandId: string,
  status: 'succeeded' | 'failed',
  { output = null, error, overdue = false }: Outcome,
): Promise<EndedRow | undefined> {
  const { rows } = await tx.query<EndedRow>(
    'end_command',
    `UPDATE node_commands SET status = $2, output = $3, error = $4, overdue = $5, finished_at = now(), lease_expires_at = NULL
     WHERE id = $1 AND status IN ('pending', 'leased') RETURNING run_id, output, error, finished_at`,
    [
      commandId,
      status,
      output === null ? null : JSON.stringify(output),
      error === undefined ? null : JSON.stringify(error),
      overdue,
    ],
  );
  return rows[0];
}

/** The error of a command whose node is revoked before the command ends. */
export const nodeRevoked = { code: 'node_revoked', message: 'The node was revoked.' };

/** Ends every open command of a node. */
export async function failNodeCommands(
  tx: Transaction,
  nodeId: string,
  error: { code: string; message: string },
): Promise<void> {
  const ofNode = eq(nodeCommands.nodeId, nodeId);
  const waiting = await tx
    .select({ runId: nodeCommands.runId })
    .from(nodeCommands)
    .where(and(ofNode, inArray(nodeCommands.status, ['pending', 'leased'])));
  await lockRuns(
    tx,
    waiting.map(({ runId }) => runId),
  );
  const open = await lockOpenCommands(tx, ofNode);
  for (const { id } of open) await endCommand(tx, id, 'failed', { error });
}
