import type { Database, Transaction } from '../../platform/db/database.ts';
import { newTurn, runInTurns } from '../../platform/db/row-retention.ts';
import { bucketSql } from './histogram.ts';
import type { Histogram } from './histogram.ts';

/** Length of a time slice, in seconds. A slice is rolled up after its end. */
export const sliceSeconds = 300;
/** Delay between the end of a slice and its rollup, in seconds. The transaction that ends a run can commit later than `finished_at`. */
const settleSeconds = 60;

export interface SliceRow {
  [column: string]: unknown;
  succeeded: number;
  failed: number;
  cancelled: number;
  queue_histogram: Histogram;
  run_histogram: Histogram;
}

/** Counts the runs of a workspace that ended in a period. Uses the index on `finished_at`. */
const summaryStatement = `
  WITH ended AS (
    SELECT status, ${bucketSql('queued_at', 'started_at')} AS queue_bucket, ${bucketSql('started_at', 'finished_at')} AS run_bucket, started_at IS NOT NULL AS began
    FROM runs WHERE tenant_id = $1 AND finished_at >= $2 AND finished_at < $3
  )
  SELECT (SELECT count(*) FROM ended WHERE status = 'succeeded')::int AS succeeded,
    (SELECT count(*) FROM ended WHERE status = 'failed')::int AS failed,
    (SELECT count(*) FROM ended WHERE status = 'cancelled')::int AS cancelled,
    coalesce((SELECT jsonb_object_agg(queue_bucket, n) FROM (SELECT queue_bucket, count(*) AS n FROM ended WHERE began GROUP BY 1) q), '{}') AS queue_histogram,
    coalesce((SELECT jsonb_object_agg(run_bucket, n) FROM (SELECT run_bucket, count(*) AS n FROM ended WHERE began AND status <> 'cancelled' GROUP BY 1) r), '{}') AS run_histogram`;

/** Summarises the runs that ended in a period, from the runs themselves. For periods that have no complete rolled-up slices. */
export async function summarisePeriod(tx: Transaction, tenantId: string, from: Date, to: Date): Promise<SliceRow> {
  const { rows } = await tx.query<SliceRow>('summarise_period', summaryStatement, [tenantId, from, to]);
  return rows[0] as SliceRow;
}

/** Serializes changes to the slices of a workspace until the transaction ends: rollups, and runs that are reopened. */
const lockSlices = `SELECT pg_advisory_xact_lock(hashtextextended('run rollups ' || $1::text, 0))`;

const sliceOf = (column: string, seconds: string) =>
  `to_timestamp(floor(extract(epoch from ${column}) / ${seconds}) * ${seconds})`;
const decrementBucket = (histogram: string, bucket: string) =>
  `CASE WHEN (${histogram}->>${bucket})::int > 1 THEN jsonb_set(${histogram}, ARRAY[${bucket}], to_jsonb((${histogram}->>${bucket})::int - 1)) ELSE ${histogram} - ${bucket} END`;

/**
 * Removes the end of a run that is reopened from the slice that counts it, if there is one. The next end of the run is
 * counted again. Call it before the row of the run changes, and lock the run first.
 */
export async function removeEndFromRollup(tx: Transaction, tenantId: string, runId: string): Promise<void> {
  await tx.query('lock_slices', lockSlices, [tenantId]);
  await tx.query(
    'forget_end',
    `WITH ended AS (
       SELECT tenant_id, status, started_at IS NOT NULL AS began, ${sliceOf('finished_at', '$3::int')} AS slice_at,
         (${bucketSql('queued_at', 'started_at')})::text AS queue_bucket, (${bucketSql('started_at', 'finished_at')})::text AS run_bucket
       FROM runs WHERE tenant_id = $1 AND id = $2 AND finished_at IS NOT NULL
     )
     UPDATE run_rollups u SET succeeded = greatest(0, succeeded - (status = 'succeeded')::int), failed = greatest(0, failed - (status = 'failed')::int), cancelled = greatest(0, cancelled - (status = 'cancelled')::int),
       queue_histogram = CASE WHEN began THEN ${decrementBucket('queue_histogram', 'queue_bucket')} ELSE queue_histogram END,
       run_histogram = CASE WHEN began AND status <> 'cancelled' THEN ${decrementBucket('run_histogram', 'run_bucket')} ELSE run_histogram END
     FROM ended WHERE u.tenant_id = ended.tenant_id AND u.slice_at = ended.slice_at`,
    [tenantId, runId, sliceSeconds],
  );
}

/** The rolled-up slices of a period, and the end of the newest slice of the workspace. */
export async function readSlices(
  tx: Transaction,
  tenantId: string,
  from: Date,
  to: Date,
): Promise<{ slices: SliceRow[]; through: Date | null }> {
  const [{ rows }, { rows: marks }] = await Promise.all([
    tx.query<SliceRow & { slice_at: Date }>(
      'read_slices',
      'SELECT slice_at, succeeded, failed, cancelled, queue_histogram, run_histogram FROM run_rollups WHERE tenant_id = $1 AND slice_at >= $2 AND slice_at < $3 ORDER BY slice_at',
      [tenantId, from, to],
    ),
    tx.query<{ through: Date | null }>(
      'read_rollup_mark',
      'SELECT max(slice_at) AS through FROM run_rollups WHERE tenant_id = $1',
      [tenantId],
    ),
  ]);
  const last = marks[0]?.through ?? null;
  return { slices: rows, through: last === null ? null : new Date(last.getTime() + sliceSeconds * 1000) };
}

/** Slices of one workspace per batch. */
const slicesPerBatch = 500;

/**
 * Rolls up the slices that have ended, for each workspace with runs that ended since its last rollup. Returns the number of slices
 * written. Part of the sweep.
 *
 * Any process can roll up. The first inserted row of a slice counts, and only `removeEndFromRollup` changes it. A slice in which no run ended
 * has no row. All times are by the clock of the database, because the clock of a process can be wrong.
 * @throws AggregateError with the failures of single workspaces, after the other workspaces are rolled up; DatabaseOutage.
 */
export async function rollUp(db: Database, stopping?: AbortSignal): Promise<number> {
  const tenants = await db.systemStatement<{ tenant_id: string; from_at: Date; until: Date }>(
    'rollup_tenants',
    `SELECT t.id AS tenant_id, o.until, coalesce((SELECT max(slice_at) + make_interval(secs => $1) FROM run_rollups u WHERE u.tenant_id = t.id),
       to_timestamp(floor(extract(epoch from (SELECT min(finished_at) FROM runs r WHERE r.tenant_id = t.id AND finished_at IS NOT NULL)) / $1) * $1)) AS from_at
     FROM tenants t CROSS JOIN (SELECT to_timestamp(floor((extract(epoch from now()) - $2::int) / $1) * $1) AS until) o
     WHERE EXISTS (
       SELECT 1 FROM runs r WHERE r.tenant_id = t.id AND r.finished_at < o.until
         AND r.finished_at >= coalesce((SELECT max(slice_at) + make_interval(secs => $1) FROM run_rollups u WHERE u.tenant_id = t.id), '-infinity'))`,
    [sliceSeconds, settleSeconds],
  );
  let written = 0;
  const tasks = tenants.map(({ tenant_id: tenantId, from_at: from, until }) => {
    let fromAt = from;
    return {
      name: tenantId,
      runBatch: async () => {
        const slices = await writeSlices(db, tenantId, fromAt, until);
        written += slices.length;
        fromAt = new Date((slices.at(-1) ?? fromAt).getTime() + sliceSeconds * 1000);
        return slices.length === slicesPerBatch;
      },
    };
  });
  await runInTurns(newTurn(stopping), tasks);
  return written;
}

/** Writes the first slices of a period in which runs ended, oldest first. Returns the start times of these slices. */
async function writeSlices(db: Database, tenantId: string, from: Date, until: Date): Promise<Date[]> {
  const { rows } = await db.workspace(
    tenantId,
    (tx) =>
      tx.query<{ slice_at: Date }>(
        'ended_slices',
        `SELECT DISTINCT ${sliceOf('finished_at', '$4')} AS slice_at FROM runs
         WHERE tenant_id = $1 AND finished_at >= $2 AND finished_at < $3 ORDER BY 1 LIMIT $5`,
        [tenantId, from, until, sliceSeconds, slicesPerBatch],
      ),
    { durable: false },
  );
  for (const { slice_at: sliceAt } of rows)
    await db.workspace(
      tenantId,
      async (tx) => {
        await tx.query('lock_slices', lockSlices, [tenantId]);
        const slice = await summarisePeriod(tx, tenantId, sliceAt, new Date(sliceAt.getTime() + sliceSeconds * 1000));
        await tx.query(
          'insert_slice',
          `INSERT INTO run_rollups (tenant_id, slice_at, succeeded, failed, cancelled, queue_histogram, run_histogram) VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING`,
          [
            tenantId,
            sliceAt,
            slice.succeeded,
            slice.failed,
            slice.cancelled,
            JSON.stringify(slice.queue_histogram),
            JSON.stringify(slice.run_histogram),
          ],
        );
      },
      { durable: false },
    );
  return rows.map((row) => row.slice_at);
}
