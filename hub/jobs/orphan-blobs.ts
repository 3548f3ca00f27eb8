import type { Blobs } from '../platform/blobs/blobs.ts';
import type { Database } from '../platform/db/database.ts';
import type { Logger } from '../platform/logger.ts';

/** Bytes younger than this may belong to a result that is being recorded, in milliseconds. */
const leastAgeMs = 24 * 60 * 60 * 1000;
const batchSize = 500;

/**
 * Removes stored bytes that no artefact names: a crash between writing the file and committing its row leaves them, and one
 * between removing the row and the file. Part of the sweep; answers how many.
 */
export async function removeOrphanBlobs({ db, blobs, logger, now = Date.now }: { db: Database; blobs: Blobs; logger: Logger; now?: () => number }, stopping?: AbortSignal): Promise<number> {
  let removed = 0;
  let batch: string[] = [];
  const flush = async () => {
    const keys = new Map(batch.map((key) => [key.slice(key.indexOf('/') + 1), key]));
    batch = [];
    if (keys.size === 0) return;
    const known = await db.systemStatement<{ id: string }>('known_artifacts', 'SELECT id FROM artifacts WHERE id = ANY($1)', [[...keys.keys()]]);
    for (const { id } of known) keys.delete(id);
    for (const key of keys.values()) await blobs.delete(key);
    removed += keys.size;
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
