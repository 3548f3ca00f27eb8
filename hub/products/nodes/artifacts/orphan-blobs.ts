import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database } from '../../../platform/db/database.ts';
import type { Logger } from '../../../platform/observability/logger.ts';

/** Minimum age of a blob before it is removed, in milliseconds. A younger blob may belong to an uncommitted result. */
const minAgeMs = 24 * 60 * 60 * 1000;
const batchSize = 500;

/**
 * Removes blobs without an artifact and returns their number. The maintenance sweep calls it.
 * A crash leaves orphans when a blob is written but its row is not committed, or when its row is deleted first.
 * Blobs of unknown workspaces are kept, because they belong to another installation.
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
    if (now() - writtenAt.getTime() < minAgeMs) continue;
    batch.push(key);
    if (batch.length >= batchSize) await flush();
  }
  await flush();
  if (removed > 0) logger.info({ blobs: removed }, 'removed blobs without an artifact');
  return removed;
}
