import { createHash } from 'node:crypto';
import type { z } from 'zod';
import { maxArtifacts } from '../../../../shared/contract/nodes/command-result.ts';
import type { UploadMetadata } from '../../../../shared/contract/nodes/command-result.ts';
import type { nodes as resource } from '../../../../shared/contract/nodes/nodes.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database, Transaction } from '../../../platform/db/database.ts';
import { and, eq } from '../../../platform/db/orm.ts';
import { newId } from '../../../platform/ids.ts';
import { readDeviceCommand } from '../commands/index.ts';
import { artifactUploads } from '../schema.ts';
import type { DeviceIdentity } from '../store.ts';
import { maxCommandBytes } from './artifact-quota.ts';
import type { ArtifactQuota } from './artifact-quota.ts';
import { findUpload, markVerified, touchMatching, touchUpload } from './upload-rows.ts';
import type { ReservedUpload } from './upload-rows.ts';

export interface ArtifactUploadsDependencies {
  db: Database;
  blobs: Blobs;
  quota: ArtifactQuota;
  /** Interval between checks that the command of an upload in progress is still open, in milliseconds. */
  checkIntervalMs?: number;
}

type Answer = z.input<typeof resource.uploadAutomationNodeArtifact.response>;
/** Maximum number of uploads per workspace that no result has claimed yet. */
const maxOpenUploads = 1_000;
/** Maximum number of concurrent upload requests per device and process. */
const maxConcurrentUploads = 16;
const defaultCheckIntervalMs = 15_000;
/** Minimum time that a command stays open after each piece of an artifact, in seconds. */
const commandExtensionSeconds = 300;
/**
 * Time after the last piece until an upload is removed, in hours: while its command is open, and after it has ended.
 */
const abandonedAfterHours = 24;
const endedAfterHours = 1;
/** Minimum age of bytes without an upload row before they are removed, in milliseconds. */
const orphanedAfterMs = (abandonedAfterHours + 1) * 60 * 60 * 1000;

/**
 * Receives artifacts in pieces before the result that refers to them.
 * The upload row stores the owner and the metadata, and reserves the quota before the first byte.
 * The size of the file is the progress, so that an interrupted upload resumes there.
 */
export class ArtifactUploads {
  readonly #deps: ArtifactUploadsDependencies;
  readonly #uploadCounts = new Map<string, number>();

  constructor(dependencies: ArtifactUploadsDependencies) {
    this.#deps = dependencies;
  }

  /** Returns how many bytes of an artifact the hub has received. @throws AppError `not_found`, `command_ended`. */
  async state(device: DeviceIdentity, commandId: string, name: string): Promise<Answer> {
    const row = await this.#deps.db.read(device.tenantId, async (tx) => {
      await assertOpen(tx, device, commandId);
      return findUpload(tx, commandId, name);
    });
    return row === null
      ? { name, received: 0, bytes: null, complete: false }
      : present(row, await this.#deps.blobs.partials.size(row.id));
  }

  /**
   * Receives a piece. The bytes received before an interruption are kept.
   * Writes nothing if the command belongs to another device or has ended, or if the quota is used up.
   * @param recheck rejects a device that was revoked while the piece arrived.
   * @throws AppError `not_found`, `command_ended`, `storage_full`, `upload_limit_reached`, `upload_offset_invalid`,
   * `payload_too_large`, `checksum_mismatch`.
   */
  async receive(
    device: DeviceIdentity,
    commandId: string,
    name: string,
    metadata: UploadMetadata,
    body: AsyncIterable<Buffer>,
    recheck: () => Promise<unknown>,
  ): Promise<Answer> {
    const { db, blobs } = this.#deps;
    using _slot = this.#acquireSlot(device.nodeId);
    const row = await this.#reserve(device, commandId, name, metadata);
    const { id, bytes } = row;
    if (row.verifiedAt !== null) return present(row, bytes);
    const before = await blobs.partials.size(id);
    if (metadata.offset > before)
      throw new AppError('upload_offset_invalid', `The hub has ${before} bytes of ${name}; continue from there.`);
    // The upload keeps its quota reservation until it is complete.
    const renew = (tx: Transaction) => touchUpload(tx, id);
    const received = await blobs.partials.write(
      id,
      metadata.offset,
      this.#whileCommandOpen(device, commandId, body, renew),
      {
        maxBytes: bytes,
      },
    );
    await recheck();
    if (received < bytes) return present(row, received);
    const hash = createHash('sha256');
    for await (const chunk of blobs.partials.read(id) as AsyncIterable<Buffer>) hash.update(chunk);
    if (hash.digest('hex') !== row.sha256) {
      await blobs.partials.delete(id);
      throw new AppError('checksum_mismatch', `The checksum of ${name} does not match; upload all of it again.`);
    }
    // A device never sends a verified upload again, so its bytes must survive a crash of the machine.
    await blobs.partials.sync(id);
    await db.workspace(device.tenantId, (tx) => markVerified(tx, id));
    return { ...present(row, bytes), complete: true };
  }

  /**
   * Removes abandoned uploads, uploads of ended commands, and bytes without an upload row.
   * Returns the number of removed items. The maintenance sweep calls it.
   */
  async sweep(): Promise<number> {
    const { db, blobs } = this.#deps;
    const { rows } = await db.system((tx) =>
      tx.query<{ id: string }>(
        'sweep_uploads',
        `DELETE FROM artifact_uploads u WHERE updated_at < now() - make_interval(hours => $1)
           OR (updated_at < now() - make_interval(hours => $2) AND EXISTS (SELECT 1 FROM node_commands c WHERE c.id = u.command_id AND c.finished_at < now() - make_interval(hours => $2)))
         RETURNING id`,
        [abandonedAfterHours, endedAfterHours],
      ),
    );
    for (const { id } of rows) await blobs.partials.delete(id);
    // A repeated upload request renews the row without writing to the file, so the age of the file is not enough.
    const findOwned = async (ids: string[]) =>
      new Set(
        (
          await db.systemStatement<{ id: string }>(
            'find_uploads',
            'SELECT id FROM artifact_uploads WHERE id = ANY($1::uuid[])',
            [ids],
          )
        ).map(({ id }) => id),
      );
    return rows.length + (await blobs.partials.sweep(orphanedAfterMs, findOwned));
  }

  /** Reserves the quota for an upload, once. An upload with changed metadata starts again. */
  async #reserve(
    device: DeviceIdentity,
    commandId: string,
    name: string,
    metadata: UploadMetadata,
  ): Promise<ReservedUpload> {
    const { bytes, sha256, contentType } = metadata;
    const { db, blobs, quota } = this.#deps;
    const { tenantId, nodeId } = device;
    const { row, replaced } = await db.workspace(tenantId, async (tx) => {
      await assertOpen(tx, device, commandId);
      await extendCommand(tx, commandId);
      const existing = await touchMatching(tx, commandId, name, metadata);
      if (existing !== null) return { row: existing, replaced: null };
      await quota.lock(tx, tenantId);
      const concurrent = await touchMatching(tx, commandId, name, metadata);
      if (concurrent !== null) return { row: concurrent, replaced: null };
      const [old] = await tx
        .delete(artifactUploads)
        .where(and(eq(artifactUploads.commandId, commandId), eq(artifactUploads.name, name)))
        .returning({ id: artifactUploads.id });
      await assertBounds(tx, tenantId, commandId, bytes);
      await quota.assertFree(tx, tenantId, bytes);
      const [inserted] = await tx
        .insert(artifactUploads)
        .values({ id: newId(), tenantId, nodeId, commandId, name, contentType, bytes, sha256 })
        .returning();
      return { row: inserted as ReservedUpload, replaced: old?.id ?? null };
    });
    if (replaced !== null) await blobs.partials.delete(replaced);
    return row;
  }

  /** Passes the bytes of a multipart result on while its command is open. @throws AppError `command_ended`. */
  passMultipart(device: DeviceIdentity, commandId: string, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    return this.#whileCommandOpen(device, commandId, body, async () => undefined);
  }

  /**
   * Passes bytes on until the command ends. Revoking the device also ends the command.
   * The transfer itself has no time limit.
   */
  async *#whileCommandOpen(
    device: DeviceIdentity,
    commandId: string,
    body: AsyncIterable<Buffer>,
    renew: (tx: Transaction) => Promise<unknown>,
  ): AsyncGenerator<Buffer> {
    const { db, checkIntervalMs = defaultCheckIntervalMs } = this.#deps;
    let checkedAt = performance.now();
    for await (const chunk of body) {
      yield chunk;
      if (performance.now() - checkedAt < checkIntervalMs) continue;
      await db.workspace(device.tenantId, async (tx) => {
        await assertOpen(tx, device, commandId);
        await extendCommand(tx, commandId);
        await renew(tx);
      });
      checkedAt = performance.now();
    }
  }

  #acquireSlot(nodeId: string): Disposable {
    const current = this.#uploadCounts.get(nodeId) ?? 0;
    if (current >= maxConcurrentUploads)
      throw new AppError(
        'upload_limit_reached',
        `${maxConcurrentUploads} uploads of this device are in progress; continue when one of them has finished.`,
        { retryAfterSeconds: 5, limit: maxConcurrentUploads },
      );
    this.#uploadCounts.set(nodeId, current + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#uploadCounts.get(nodeId) ?? 0) - 1;
        if (left > 0) this.#uploadCounts.set(nodeId, left);
        else this.#uploadCounts.delete(nodeId);
      },
    };
  }
}

async function assertOpen(tx: Transaction, device: DeviceIdentity, commandId: string): Promise<void> {
  const command = await readDeviceCommand(tx, device, commandId);
  if (command.ended !== null)
    throw new AppError(
      'command_ended',
      `The command ${commandId} has ended (${command.ended}); its artifacts are no longer accepted.`,
    );
}

/** Extends the lease of a command whose artifacts arrive, so that it does not expire before the next piece. */
async function extendCommand(tx: Transaction, commandId: string): Promise<void> {
  await tx.query(
    'keep_command_alive',
    `UPDATE node_commands SET lease_expires_at = greatest(lease_expires_at, now() + make_interval(secs => $2)),
       expires_at = greatest(expires_at, least(now() + make_interval(secs => $2), coalesce(deadline_at, 'infinity')))
     WHERE id = $1 AND status = 'leased'`,
    [commandId, commandExtensionSeconds],
  );
}

async function assertBounds(tx: Transaction, tenantId: string, commandId: string, bytes: number): Promise<void> {
  const { rows } = await tx.query<{ names: number; announced: string; open: number }>(
    'count_uploads',
    `SELECT count(*) FILTER (WHERE command_id = $2)::int AS names, coalesce(sum(bytes) FILTER (WHERE command_id = $2), 0) AS announced, count(*)::int AS open FROM artifact_uploads WHERE tenant_id = $1`,
    [tenantId, commandId],
  );
  const { names, announced, open } = rows[0] as { names: number; announced: string; open: number };
  if (names >= maxArtifacts)
    throw new AppError(
      'validation_failed',
      `params.name is one too many: a command has at most ${maxArtifacts} artifacts.`,
      { details: [{ path: 'params.name', message: `is more than ${maxArtifacts} artifacts of one command` }] },
    );
  if (Number(announced) + bytes > maxCommandBytes)
    throw new AppError('payload_too_large', `The artifacts of one command may have ${maxCommandBytes} bytes together.`);
  if (open >= maxOpenUploads)
    throw new AppError(
      'upload_limit_reached',
      `${maxOpenUploads} uploads of this workspace are waiting for their results; try again later.`,
      { retryAfterSeconds: 60, limit: maxOpenUploads },
    );
}

function present(row: ReservedUpload, received: number): Answer {
  const complete = row.verifiedAt !== null;
  return { name: row.name, received: complete ? row.bytes : received, bytes: row.bytes, complete };
}
