import type { Transaction } from '../../platform/db/database.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';

/** Topic for callers that wait for a run: the run has ended, or waits for an approval. Published only if the topic has subscribers. */
export const runTopic = (runId: string) => `run:${runId}`;

/** Topic for the process that executes a run: the run was cancelled. */
export const cancelTopic = (runId: string) => `run-cancel:${runId}`;

/** Topic for streams of a run: the run or its steps have changed. */
export const runRowsTopic = (runId: string) => `run-rows:${runId}`;

/** Whether the wake-up time of a run has come, as SQL. `wake_at` can be rounded up to the next millisecond, hence the tolerance. */
export const isWakeTimeText = `wake_at <= now() + interval '5 milliseconds'`;

/** Whether a run becomes due within a second, as SQL. Only then are workers woken. They find later runs by listing due runs every second. */
export const isDueSoonText = `wake_at <= now() + interval '1 second'`;

/** Makes a waiting run due, unless it has ended. */
export function wakeRun(tx: Transaction, runId: string): Promise<void> {
  return wakeRuns(tx, [runId]);
}

/**
 * Makes waiting runs due, except those that have ended. The caller must have locked the runs if there are several.
 * @param awaited ended child runs. Only runs that still wait for one of them are woken: a step that timed out no longer waits for
 * its child run. Null to wake all runs.
 */
export async function wakeRuns(
  tx: Transaction,
  runIds: readonly string[],
  awaited: readonly string[] | null = null,
): Promise<void> {
  if (runIds.length === 0) return;
  const stillWaiting = awaited === null ? runIds : await lockWaitingFor(tx, runIds, awaited);
  const { rows } = await tx.query<{ id: string; tenant_id: string }>(
    'wake_runs',
    `UPDATE runs SET wake_at = now(), wake_count = wake_count + 1, status = CASE status WHEN 'waiting_approval' THEN 'queued' ELSE status END
     WHERE id = ANY($1) AND status IN ('queued', 'running', 'waiting_approval') RETURNING id, tenant_id`,
    [stillWaiting],
  );
  for (const { id, tenant_id: tenantId } of rows) {
    tx.changed(runRowsTopic(id));
    noteWorkspaceChange(tx, tenantId);
    tx.wakeWorkers(tenantId);
  }
}

/**
 * Locks the runs and returns those that still wait for one of these child runs. A separate statement reads their steps (see
 * `resultsOfClaimed`).
 */
async function lockWaitingFor(
  tx: Transaction,
  runIds: readonly string[],
  awaited: readonly string[],
): Promise<string[]> {
  const [, { rows }] = await Promise.all([
    tx.query('lock_waiting_runs', 'SELECT 1 FROM runs WHERE id = ANY($1) ORDER BY depth DESC, id FOR NO KEY UPDATE', [
      runIds,
    ]),
    tx.query<{ id: string }>(
      'waiting_for_children',
      `SELECT r.id FROM runs r JOIN run_steps s ON s.run_id = r.id AND s.index = r.next_step WHERE r.id = ANY($1) AND s.wait->>'runId' = ANY($2)`,
      [runIds, awaited],
    ),
  ]);
  return rows.map(({ id }) => id);
}
