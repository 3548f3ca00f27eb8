import type { Transaction } from '../platform/db/database.ts';
import { noteWorkspaceChange } from '../platform/events/workspace-topic.ts';

/** Topic of a run: its end, its cancellation, and its wait for an approval. */
export const runTopic = (runId: string) => `run:${runId}`;

/** Topic of the changes of a run and its steps that streams of the run send. */
export const runRowsTopic = (runId: string) => `run-rows:${runId}`;

/** An outbox row as `outboxText` returns it. A statement that joins it to other rows has nulls where it wrote none. */
export interface RunJobRow {
  [column: string]: unknown;
  outbox_id: string | null;
  job_id: string | null;
  run_id: string;
  tenant_id: string;
  /** Null or absent for immediately. */
  not_before?: Date | null;
}

/**
 * SQL that writes the outbox rows of runs, for the statement that makes them due. Each wake-up of a run has its own job id,
 * because the queue ignores the id of a job that it has already.
 * @param source query for `run_id`, `tenant_id`, `wake_count` and `not_before` of the runs.
 */
export const outboxText = (source: string) => `INSERT INTO outbox (tenant_id, job, job_id, data, not_before)
       SELECT tenant_id, 'run', format('run-%s-%s', run_id, wake_count), jsonb_build_object('runId', run_id, 'tenantId', tenant_id), not_before FROM (${source}) due
       RETURNING id AS outbox_id, job_id, data->>'runId' AS run_id, tenant_id, not_before`;

/** Hands the job of a run to the queue after the commit, if the statement wrote an outbox row for it. */
export function enqueueRun(tx: Transaction, row: RunJobRow): void {
  if (row.outbox_id === null || row.job_id === null) return;
  tx.enqueue({
    outboxId: Number(row.outbox_id),
    name: 'run',
    id: row.job_id,
    data: { runId: row.run_id, tenantId: row.tenant_id },
    notBefore: row.not_before ?? null,
  });
}

/** Writes the outbox row for one wake-up of a run, and enqueues its job. */
export async function insertOutbox(
  tx: Transaction,
  run: { id: string; tenantId: string; wakeCount: number },
  notBefore: Date | null,
): Promise<void> {
  const { rows } = await tx.query<RunJobRow>(
    'insert_outbox',
    outboxText(
      'SELECT $1::uuid AS run_id, $2::uuid AS tenant_id, $3::int AS wake_count, $4::timestamptz AS not_before',
    ),
    [run.id, run.tenantId, run.wakeCount, notBefore],
  );
  for (const row of rows) enqueueRun(tx, row);
}

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
  const { rows } = await tx.query<RunJobRow>(
    'wake_runs',
    `WITH woken AS (
       UPDATE runs SET wake_at = now(), wake_count = wake_count + 1, status = CASE status WHEN 'waiting_approval' THEN 'queued' ELSE status END
       WHERE id = ANY($1) AND status IN ('queued', 'running', 'waiting_approval') AND ($2::text[] IS NULL OR EXISTS (
         SELECT 1 FROM run_steps s WHERE s.run_id = runs.id AND s.index = runs.next_step AND s.wait->>'runId' = ANY($2)))
       RETURNING id, tenant_id, wake_count
     )
     ${outboxText('SELECT id AS run_id, tenant_id, wake_count, NULL::timestamptz AS not_before FROM woken')}`,
    [runIds, awaited],
  );
  for (const row of rows) {
    tx.changed(runRowsTopic(row.run_id));
    noteWorkspaceChange(tx, row.tenant_id);
    enqueueRun(tx, row);
  }
}
