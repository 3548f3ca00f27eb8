import { isForbidden } from './errors.ts';
import type { Transaction } from './transaction.ts';

/** Finds out, after a write that found the disk full, whether a table can grow again. @throws while it can not. */
export async function probeDisk(
  system: (work: (tx: Transaction) => Promise<unknown>, options: { durable: false }) => Promise<unknown>,
): Promise<void> {
  await system(
    (tx) =>
      tx.query(
        'probe_disk',
        `CREATE TEMP TABLE disk_probe ON COMMIT DROP AS SELECT (SELECT string_agg(md5(random()::text || n || m), '') FROM generate_series(1, 50) m) FROM generate_series(1, 600) n`,
        [],
      ),
    { durable: false },
  ).catch((error: unknown) => {
    // Whoever may make no temporary tables finds out with the next write.
    if (!isForbidden(error)) throw error;
  });
}
