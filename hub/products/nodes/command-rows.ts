import { lockRuns, wakeRun } from '../../engine/index.ts';
import type { PromisedJob } from '../../engine/index.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { and, eq, inArray, sql } from '../../platform/db/orm.ts';
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

/** Ends a command and wakes its run, which is locked; nothing when it had ended before. */
export async function endCommand(
  tx: Transaction,
  commandId: string,
  status: 'succeeded' | 'failed',
  outcome: { output?: NodeCommandRow['output']; error?: NonNullable<NodeCommandRow['error']>; overdue?: boolean },
): Promise<PromisedJob[]> {
  const [row] = await tx
    .update(nodeCommands)
    .set({
      status,
      output: outcome.output ?? null,
      error: outcome.error ?? null,
      overdue: outcome.overdue === true,
      finishedAt: sql`now()`,
      leaseExpiresAt: null,
    })
    .where(and(eq(nodeCommands.id, commandId), inArray(nodeCommands.status, ['pending', 'leased'])))
    .returning({ runId: nodeCommands.runId });
  if (row === undefined) return [];
  const job = await wakeRun(tx, row.runId);
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
