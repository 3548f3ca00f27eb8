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
  for (const table of ['idempotency_keys', 'hook_keys', 'channel_receipts', 'memory_entries', 'sessions', 'sign_in_codes']) {
    await prune(db, table, sql`expires_at < now() - interval '1 hour'`, stopping);
  }
  for (const { table, column, days } of aged) await prune(db, table, sql`${sql.identifier(column)} < now() - make_interval(days => ${days})`, stopping);
}

async function prune(db: Database, table: string, isOver: SQL, stopping: AbortSignal | undefined): Promise<void> {
  const name = sql.identifier(table);
  while (stopping?.aborted !== true) {
    const { rowCount } = await db.system((tx) => tx.execute(sql`DELETE FROM ${name} WHERE ctid IN (SELECT ctid FROM ${name} WHERE ${isOver} LIMIT ${batch})`), { durable: false });
    if ((rowCount ?? 0) < batch) break;
  }
}
