import { AppError } from '../../../../shared/errors.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { foldSums } from '../../../platform/db/fold-sums.ts';

/** Artefacts of one command together, at most, in bytes. */
export const maxCommandBytes = 1024 * 1024 * 1024;
/** Bytes of one workspace that are on their way into this process in whole results, at most. */
const maxHeldBytes = 2 * 1024 * 1024 * 1024;

/** The room that the artefacts of each workspace may take, those on their way included. */
export class ArtifactQuota {
  readonly #maxBytes: number;
  readonly #held = new Map<string, number>();

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  /** Lets one transaction at a time take of the room of a workspace: two at once must not both take the last of it. After any lock on a command. */
  async lock(tx: Transaction, tenantId: string): Promise<void> {
    await tx.query('lock_artifact_room', `SELECT pg_advisory_xact_lock(hashtextextended('artifact room ' || $1, 0))`, [
      tenantId,
    ]);
  }

  /** Makes sure that a workspace may keep so much more, for a transaction that has the lock and writes it. @throws AppError `storage_full`. */
  async assertFree(tx: Transaction, tenantId: string, bytes: number): Promise<void> {
    const { rows } = await tx.query<{ used: string }>(
      'artifact_room',
      'SELECT coalesce(sum(bytes), 0) AS used FROM artifact_room WHERE tenant_id = $1',
      [tenantId],
    );
    const used = Number(rows[0]?.used ?? 0);
    if (used + bytes <= this.#maxBytes) return;
    throw new AppError(
      'storage_full',
      `The artefacts of this workspace would take ${used + bytes} bytes, and ${this.#maxBytes} are allowed; remove runs, set a retention in the policy, or raise ARTIFACTS_PER_WORKSPACE_MIB.`,
    );
  }

  /** Takes room for a body that is about to be read. @throws AppError `upload_limit_reached` while too much is on its way already. */
  hold(tenantId: string, bytes: number): Disposable {
    const held = this.#held.get(tenantId) ?? 0;
    if (held > 0 && held + bytes > maxHeldBytes)
      throw new AppError(
        'upload_limit_reached',
        'Too many artefacts of this workspace are being sent at once; try again shortly.',
        { retryAfterSeconds: 5 },
      );
    this.#held.set(tenantId, held + bytes);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#held.get(tenantId) ?? 0) - bytes;
        if (left > 0) this.#held.set(tenantId, left);
        else this.#held.delete(tenantId);
      },
    };
  }
}

/** Folds what changed of the room of workspaces; part of the sweep. */
export const foldArtifactUsage = (db: Database, stopping?: AbortSignal): Promise<void> =>
  foldSums(db, { table: 'artifact_room', keys: ['tenant_id'], sums: ['bytes'] }, stopping);
