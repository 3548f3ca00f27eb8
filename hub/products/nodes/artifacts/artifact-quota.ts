import { AppError } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { foldSums } from '../../../platform/db/fold-sums.ts';

/** Maximum total size of the artifacts of one command, in bytes. */
export const maxCommandBytes = 1024 * 1024 * 1024;
/** Maximum size of the multipart bodies that this process receives for one workspace at a time, in bytes. */
const maxIncomingBytes = 2 * 1024 * 1024 * 1024;

/** The storage quota for the artifacts of each workspace, including uploads in progress. */
export class ArtifactQuota {
  readonly #maxBytes: number;
  readonly #incomingBytes = new Map<string, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /**
   * Serializes the transactions that use the quota of a workspace, so that two of them cannot exceed it together.
   * To avoid deadlocks, take this lock after any lock on a command.
   */
  async lock(tx: Transaction, tenantId: string): Promise<void> {
    await tx.query('lock_artifact_usage', `SELECT pg_advisory_xact_lock(hashtextextended('artifact room ' || $1, 0))`, [
      tenantId,
    ]);
  }

  /**
   * Checks that `bytes` more fit into the quota. The caller must hold the lock and write the bytes in the same
   * transaction.
   * @throws AppError `storage_full`.
   */
  async assertFree(tx: Transaction, tenantId: string, bytes: number): Promise<void> {
    const { rows } = await tx.query<{ used: string }>(
      'artifact_usage',
      'SELECT coalesce(sum(bytes), 0) AS used FROM artifact_usage WHERE tenant_id = $1',
      [tenantId],
    );
    const used = Number(rows[0]?.used ?? 0);
    if (used + bytes <= this.#maxBytes) return;
    throw new AppError(
      'storage_full',
      `The artifacts of this workspace would take ${used + bytes} bytes, and ${this.#maxBytes} are allowed; remove runs, set a retention in the policy, or raise ARTIFACTS_PER_WORKSPACE_MIB.`,
    );
  }

  /**
   * Reserves capacity for a request body until the returned object is disposed.
   * @throws AppError `upload_limit_reached` when the bodies in progress already use the capacity.
   */
  reserve(tenantId: string, bytes: number): Disposable {
    const incoming = this.#incomingBytes.get(tenantId) ?? 0;
    if (incoming > 0 && incoming + bytes > maxIncomingBytes)
      throw new AppError(
        'upload_limit_reached',
        'Too many artifacts of this workspace are being uploaded at the same time; try again shortly.',
        { retryAfterSeconds: 5 },
      );
    this.#incomingBytes.set(tenantId, incoming + bytes);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#incomingBytes.get(tenantId) ?? 0) - bytes;
        if (left > 0) this.#incomingBytes.set(tenantId, left);
        else this.#incomingBytes.delete(tenantId);
      },
    };
  }
}

/** Folds the usage changes of each workspace into one row. The maintenance sweep calls it. */
export const foldArtifactUsage = (db: Database, stopping?: AbortSignal): Promise<void> =>
  foldSums(db, { table: 'artifact_usage', keys: ['tenant_id'], sums: ['bytes'] }, stopping);
