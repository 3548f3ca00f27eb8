import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/observability/logger.ts';

/** Bytes younger than this may belong to a result that is being recorded, in milliseconds. */
const leastAgeMs = 24 * 60 * 60 * 1000;
const batchSize = 500;

/**
 * Removes stored bytes that no artefact names: a crash between writing the file and committing its row leaves them, and one
 * between removing the row and the file. Those of workspaces that this database does not have are another installation's. Part of the sweep; answers how many.
 */
export async function removeOrphanBlobs(
  { db, blobs, logger, now = Date.now }: { db: Database; blobs: Blobs; logger: Logger; now?: () => number },
  stopping?: AbortSignal,
): Promise<number> {
  let removed = 0;
  const batch: string[] = [];
  const flush = async () => {
    const keys = batch.splice(0);
    if (keys.length === 0) return;
    const orphans = await db.systemStatement<{ key: string }>(
      'orphan_blobs',
      `SELECT key FROM unnest($1::text[]) AS key WHERE EXISTS (SELECT 1 FROM tenants WHERE id = split_part(key, '/', 1)::uuid)
         AND NOT EXISTS (SELECT 1 FROM artifacts WHERE id = split_part(key, '/', 2)::uuid)`,
      [keys],
    );
    for (const { key } of orphans) await blobs.delete(key);
    removed += orphans.length;
  };
  for await (const { key, writtenAt } of blobs.list()) {
    if (stopping?.aborted === true) break;
    if (now() - writtenAt.getTime() < leastAgeMs) continue;
    batch.push(key);
    if (batch.length >= batchSize) await flush();
  }
  await flush();
  if (removed > 0) logger.info({ blobs: removed }, 'removed stored bytes that no artefact names');
  return removed;
}
