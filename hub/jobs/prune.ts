import { sql } from 'drizzle-orm';
import type { SQL } from 'drizzle-orm';
import type { Database } from '../platform/db/database.ts';

const batch = 1_000;

/** What only helps for a while: fires of schedules, and sums of runs beyond the longest window. */
const aged = [
  { table: 'schedule_fires', column: 'created_at', days: 35 },
  { table: 'run_starts', column: 'slice_at', days: 1 },
  { table: 'run_rollups', column: 'slice_at', days: 400 },
  { table: 'sign_in_addresses', column: 'used_at', days: 180 },
];

/** Removes rows whose time is over, in small batches; part of the sweep. */
export async function pruneExpired(db: Database, stopping?: AbortSignal): Promise<void> {
  for (const table of [
    'idempotency_keys',
    'hook_keys',
    'channel_receipts',
    'memory_entries',
    'sessions',
    'sign_in_codes',
  ]) {
    await prune(db, table, 'expires_at', sql`expires_at < now() - interval '1 hour'`, stopping);
  }
  for (const { table, column, days } of aged)
    await prune(db, table, column, sql`${sql.identifier(column)} < now() - make_interval(days => ${days})`, stopping);
}

/** What others hold now is left to the next sweep: nobody waits for this one, and this one for nobody. */
async function prune(
  db: Database,
  table: string,
  column: string,
  isOver: SQL,
  stopping: AbortSignal | undefined,
): Promise<void> {
  const name = sql.identifier(table);
  while (stopping?.aborted !== true) {
    const { rowCount } = await db.system(
      (tx) =>
        tx.execute(
          sql`DELETE FROM ${name} WHERE ctid = ANY(ARRAY(SELECT ctid FROM ${name} WHERE ${isOver} ORDER BY ${sql.identifier(column)} LIMIT ${batch} FOR UPDATE SKIP LOCKED))`,
        ),
      { durable: false },
    );
    if ((rowCount ?? 0) < batch) break;
  }
}
