import { AppError } from '../../../../shared/errors.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';

/** Bytes that no file names an hour after they were announced belong to a request that died. */
const unclaimedHours = 1;
/** Files that no message names are kept for so long. */
const looseHours = 24;
const batch = 100;

/**
 * The bytes of files. Whatever is written is noted before as bytes without a file, and the note goes with the commit of
 * the file's row; when a
 * row goes, with whatever it goes, a trigger notes its bytes again. So a crash at any moment leaves no row without
 * bytes, and no bytes for ever.
 */
export class FileBlobs {
  readonly #deps: { db: Database; blobs: Blobs };

  constructor(dependencies: { db: Database; blobs: Blobs }) {
    this.#deps = dependencies;
  }

  /** Writes bytes for a file to come. */
  async write(tenantId: string, key: string, bytes: Buffer): Promise<void> {
    const { db, blobs } = this.#deps;
    await db.workspace(tenantId, (tx) =>
      tx.query(
        'announce_chat_blob',
        'INSERT INTO chat_unused_blobs (blob_key, tenant_id, remove_at) VALUES ($1, $2, now() + make_interval(hours => $3))',
        [key, tenantId, unclaimedHours],
      ),
    );
    await blobs.put(key, bytes, { maxBytes: bytes.length });
  }

  /**
   * Keeps announced bytes, for the transaction that writes their file.
   * @throws AppError `unavailable` when they are gone meanwhile.
   */
  async keep(tx: Transaction, key: string): Promise<void> {
    // By the clock, and not by the beginning of the transaction: what is due may be on its way out.
    const { rowCount } = await tx.query(
      'keep_chat_blob',
      'DELETE FROM chat_unused_blobs WHERE blob_key = $1 AND remove_at > clock_timestamp()',
      [key],
    );
    if (rowCount === 0)
      throw new AppError('unavailable', 'Storing this file took too long; send it again.', { retryAfterSeconds: 1 });
  }

  /** Gives announced bytes up, because their file will not be. */
  async giveUp(tenantId: string, key: string): Promise<void> {
    const { db } = this.#deps;
    await db.workspace(
      tenantId,
      (tx) =>
        tx.query('give_chat_blob_up', 'UPDATE chat_unused_blobs SET remove_at = now() WHERE blob_key = $1', [key]),
      { durable: false },
    );
  }

  /** Removes files that no message named within a day; answers how many. Part of the sweep. */
  async removeLoose(stopping?: AbortSignal): Promise<number> {
    return repeat(stopping, async () => {
      const rows = await this.#deps.db.systemStatement<{ id: string }>(
        'remove_loose_chat_files',
        `DELETE FROM chat_files WHERE id = ANY(ARRAY(SELECT id FROM chat_files WHERE message_id IS NULL AND created_at < now() - make_interval(hours => $1)
           ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING id`,
        [looseHours, batch],
      );
      return rows.length;
    });
  }

  /**
   * Removes bytes that no file names; answers how many. Part of the sweep. Their notes stay until they are gone, so
   * that whatever ends this leaves them to the next time.
   */
  async removeUnused(stopping?: AbortSignal): Promise<number> {
    const { db, blobs } = this.#deps;
    return repeat(stopping, async () => {
      // Whoever would keep them meanwhile waits for this, and finds them due.
      const rows = await db.systemStatement<{ blob_key: string }>(
        'take_unused_chat_blobs',
        `UPDATE chat_unused_blobs SET remove_at = now() WHERE blob_key = ANY(ARRAY(SELECT blob_key FROM chat_unused_blobs WHERE remove_at <= now()
           ORDER BY remove_at LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING blob_key`,
        [batch],
      );
      const gone: string[] = [];
      try {
        for (const { blob_key: key } of rows) {
          if (stopping?.aborted === true) break;
          await blobs.delete(key);
          gone.push(key);
        }
      } finally {
        if (gone.length > 0)
          await db.systemStatement(
            'forget_unused_chat_blobs',
            'DELETE FROM chat_unused_blobs WHERE blob_key = ANY($1::text[])',
            [gone],
          );
      }
      return rows.length;
    });
  }
}

/** Repeats a batch until one is not full, or the hub stops. */
async function repeat(stopping: AbortSignal | undefined, removeBatch: () => Promise<number>): Promise<number> {
  let removed = 0;
  for (;;) {
    const count = await removeBatch();
    removed += count;
    if (count < batch || stopping?.aborted === true) return removed;
  }
}
