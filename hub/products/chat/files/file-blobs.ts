import { AppError } from '../../../../shared/errors.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';

/** Announced bytes without a file after this time belong to a failed request. */
const unclaimedHours = 1;
/** Files without a message are kept for this long. */
const unattachedHours = 24;
const batchSize = 100;

/**
 * The bytes of files. A blob is recorded as unused before it is written. The transaction that stores the file's row
 * deletes the record. When the row is deleted, a trigger adds the record again. So a crash leaves neither a row without
 * bytes nor bytes that are never deleted.
 */
export class FileBlobs {
  readonly #deps: { db: Database; blobs: Blobs };

  constructor(dependencies: { db: Database; blobs: Blobs }) {
    this.#deps = dependencies;
  }

  /** Writes the bytes of a file whose row is stored later. */
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
   * Claims announced bytes in the transaction that stores the file's row.
   * @throws AppError `unavailable` if the bytes may already be deleted.
   */
  async keep(tx: Transaction, key: string): Promise<void> {
    // Uses the clock instead of the start of the transaction, because due bytes may be in deletion.
    const { rowCount } = await tx.query(
      'keep_chat_blob',
      'DELETE FROM chat_unused_blobs WHERE blob_key = $1 AND remove_at > clock_timestamp()',
      [key],
    );
    if (rowCount === 0)
      throw new AppError('unavailable', 'Storing this file took too long; send it again.', { retryAfterSeconds: 1 });
  }

  /** Marks announced bytes for deletion, because their file is not stored. */
  async giveUp(tenantId: string, key: string): Promise<void> {
    const { db } = this.#deps;
    await db.workspace(
      tenantId,
      (tx) =>
        tx.query('give_chat_blob_up', 'UPDATE chat_unused_blobs SET remove_at = now() WHERE blob_key = $1', [key]),
      { durable: false },
    );
  }

  /** Deletes files without a message after a day. Returns their number. Part of the sweep. */
  async removeUnattached(stopping?: AbortSignal): Promise<number> {
    return repeat(stopping, async () => {
      const rows = await this.#deps.db.systemStatement<{ id: string }>(
        'remove_loose_chat_files',
        `DELETE FROM chat_files WHERE id = ANY(ARRAY(SELECT id FROM chat_files WHERE message_id IS NULL AND created_at < now() - make_interval(hours => $1)
           ORDER BY created_at LIMIT $2 FOR UPDATE SKIP LOCKED)) RETURNING id`,
        [unattachedHours, batchSize],
      );
      return rows.length;
    });
  }

  /**
   * Deletes unused bytes. Returns their number. Part of the sweep. A record is deleted after its bytes, so that an
   * interrupted deletion is repeated.
   */
  async removeUnused(stopping?: AbortSignal): Promise<number> {
    const { db, blobs } = this.#deps;
    return repeat(stopping, async () => {
      // A concurrent `keep` waits for this update and then finds the bytes due.
      const rows = await db.systemStatement<{ blob_key: string }>(
        'claim_unused_chat_blobs',
        `UPDATE chat_unused_blobs SET remove_at = now() WHERE blob_key = ANY(ARRAY(SELECT blob_key FROM chat_unused_blobs WHERE remove_at <= now()
           ORDER BY remove_at LIMIT $1 FOR UPDATE SKIP LOCKED)) RETURNING blob_key`,
        [batchSize],
      );
      const deleted: string[] = [];
      try {
        for (const { blob_key: key } of rows) {
          if (stopping?.aborted === true) break;
          await blobs.delete(key);
          deleted.push(key);
        }
      } finally {
        if (deleted.length > 0)
          await db.systemStatement(
            'forget_unused_chat_blobs',
            'DELETE FROM chat_unused_blobs WHERE blob_key = ANY($1::text[])',
            [deleted],
          );
      }
      return rows.length;
    });
  }
}

/** Repeats batches until one is not full or the hub stops. */
async function repeat(stopping: AbortSignal | undefined, removeBatch: () => Promise<number>): Promise<number> {
  let removed = 0;
  for (;;) {
    const count = await removeBatch();
    removed += count;
    if (count < batchSize || stopping?.aborted === true) return removed;
  }
}
