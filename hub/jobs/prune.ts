import { sql } from 'drizzle-orm';
import type { Database } from '../platform/db/database.ts';

const batch = 1_000;

/** Removes rows whose time is over, in small batches; part of the sweep. */
export async function pruneExpired(db: Database): Promise<void> {
  for (const table of ['idempotency_keys', 'hook_keys', 'channel_receipts', 'memory_entries', 'sessions', 'sign_in_codes']) {
    const name = sql.identifier(table);
    for (;;) {
      const { rowCount } = await db.system(
        (tx) => tx.execute(sql`DELETE FROM ${name} WHERE ctid IN (SELECT ctid FROM ${name} WHERE expires_at < now() - interval '1 hour' LIMIT ${batch})`),
        { durable: false },
      );
      if ((rowCount ?? 0) < batch) break;
    }
  }
}
