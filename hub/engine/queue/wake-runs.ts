import type { Transaction } from '../../platform/db/database.ts';
import { noteWorkspaceChange } from '../../platform/events/workspace-topic.ts';

/** Topic for callers that wait for a run: it has ended, or waits for an approval. Only followed topics are published. */
export const runTopic = (runId: string) => `run:${runId}`;

/** Topic of an event for the worker of a run: it was cancelled. */
export const cancelTopic = (runId: string) => `run-cancel:${runId}`;

/** Topic of the changes of a run and its steps that streams of the run send. */
export const runRowsTopic = (runId: string) => `run-rows:${runId}`;

/** Whether the time of a run has come, as SQL. `wake_at` is rounded to milliseconds, also up. */
export const isTimeText = `wake_at <= now() + interval '5 milliseconds'`;

/** Whether a run becomes due within a second, as SQL. Workers are woken for it; the list of each second finds later ones in time. */
export const isSoonText = `wake_at <= now() + interval '1 second'`;

/** Makes a waiting run due, unless it has ended. */
export function wakeRun(tx: Transaction, runId: string): Promise<void> {
  return wakeRuns(tx, [runId]);
}

/**
 * Makes waiting runs due, except those that have ended. The caller has locked them if there are several.
 * @param awaited ended child runs: only runs that still wait for one of these are woken, because a step that timed out no
 * longer waits for its child run. Null to wake all.
 */
export async function wakeRuns(
  tx: Transaction,
  runIds: readonly string[],
  awaited: readonly string[] | null = null,
): Promise<void> {
  if (runIds.length === 0) return;
  const still = awaited === null ? runIds : await waitingFor(tx, runIds, awaited);
  const { rows } = await tx.query<{ id: string; tenant_id: string }>(
    'wake_runs',
    `UPDATE runs SET wake_at = now(), wake_count = wake_count + 1, status = CASE status WHEN 'waiting_approval' THEN 'queued' ELSE status END
     WHERE id = ANY($1) AND status IN ('queued', 'running', 'waiting_approval') RETURNING id, tenant_id`,
    [still],
  );
  for (const { id, tenant_id: tenantId } of rows) {
    tx.changed(runRowsTopic(id));
    noteWorkspaceChange(tx, tenantId);
    tx.wakeWorkers(tenantId);
  }
}

/**
 * The runs that still wait for one of these child runs. They are locked, and their steps are read by a statement of its own: see
 * `resultsOfClaimed`.
 */
async function waitingFor(tx: Transaction, runIds: readonly string[], awaited: readonly string[]): Promise<string[]> {
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
