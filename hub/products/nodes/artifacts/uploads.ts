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
import { findUpload, markVerified, touchSame, touchUpload } from './upload-rows.ts';
import type { ReservedUpload } from './upload-rows.ts';

export interface ArtifactUploadsDependencies {
  db: Database;
  blobs: Blobs;
  room: ArtifactQuota;
  /** How often it is asked whether bytes under way are wanted still, in milliseconds. */
  lookEveryMs?: number;
}

type Answer = z.input<typeof resource.uploadAutomationNodeArtifact.response>;
/** Uploads of one workspace that have not become artefacts yet, at most. */
const maxOpenUploads = 1_000;
/** Requests of one device that write at the same time, to one process. */
const maxWriters = 16;
const defaultLookEveryMs = 15_000;
/** How long a command is kept for the next piece of an artefact, in seconds. */
const pieceSeconds = 300;
/** An upload lives so long after its last piece, in hours; the second once its command is over. */
const abandonedAfterHours = 24;
const endedAfterHours = 1;
/** Bytes without an upload that are older belong to a process that died, in milliseconds. */
const orphanedAfterMs = (abandonedAfterHours + 1) * 60 * 60 * 1000;

/**
 * Artefacts that come in pieces, ahead of the result that names them. The row says whose they are and what they will be, and takes
 * the workspace's room before the first byte; the size of the file says how far they are, so that whatever breaks off goes on there.
 */
export class ArtifactUploads {
  readonly #deps: ArtifactUploadsDependencies;
  readonly #writers = new Map<string, number>();

  constructor(dependencies: ArtifactUploadsDependencies) {
    this.#deps = dependencies;
  }

  /** How much of an artefact is here. @throws AppError `not_found`, `command_ended`. */
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
   * Takes a piece; what came of it stays when it breaks off. Nothing is written for a command that is not this device's, or over,
   * or without room in the workspace.
   * @throws AppError `not_found`, `command_ended`, `storage_full`, `upload_limit_reached`, `upload_offset_invalid`, `payload_too_large`, `checksum_mismatch`.
   */
  async receive(
    device: DeviceIdentity,
    commandId: string,
    name: string,
    facts: UploadMetadata,
    body: AsyncIterable<Buffer>,
  ): Promise<Answer> {
    const { db, blobs } = this.#deps;
    using _writer = this.#admit(device.nodeId);
    const row = await this.#reserve(device, commandId, name, facts);
    const { id, bytes } = row;
    if (row.verifiedAt !== null) return present(row, bytes);
    const before = await blobs.partials.size(id);
    if (facts.offset > before)
      throw new AppError('upload_offset_invalid', `The hub has ${before} bytes of ${name}; go on from there.`);
    // Until it is whole its room is its own.
    const keep = (tx: Transaction) => touchUpload(tx, id);
    const received = await blobs.partials.write(id, facts.offset, this.#whileWanted(device, commandId, body, keep), {
      maxBytes: bytes,
    });
    if (received < bytes) return present(row, received);
    const hash = createHash('sha256');
    for await (const chunk of blobs.partials.read(id) as AsyncIterable<Buffer>) hash.update(chunk);
    if (hash.digest('hex') !== row.sha256) {
      await blobs.partials.delete(id);
      throw new AppError('checksum_mismatch', `What arrived of ${name} has another checksum; send all of it again.`);
    }
    // What is said to be whole is never asked for again, so it must be there also after the machine went down.
    await blobs.partials.sync(id);
    await db.workspace(device.tenantId, (tx) => markVerified(tx, id));
    return { ...present(row, bytes), complete: true };
  }

  /** Ends uploads that nobody went on with, or whose command is over, and bytes that no upload has; part of the sweep. */
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
    // An upload that is asked for again and again lives on, although nobody writes to it.
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

  /** The room for an upload, taken once; with other facts than before it begins anew. */
  async #reserve(
    device: DeviceIdentity,
    commandId: string,
    name: string,
    facts: UploadMetadata,
  ): Promise<ReservedUpload> {
    const { bytes, sha256, contentType } = facts;
    const { db, blobs, room } = this.#deps;
    const { tenantId, nodeId } = device;
    const { row, replaced } = await db.workspace(tenantId, async (tx) => {
      await assertOpen(tx, device, commandId);
      await keepAlive(tx, commandId);
      const known = await touchSame(tx, commandId, name, facts);
      if (known !== null) return { row: known, replaced: null };
      await room.lock(tx, tenantId);
      const meanwhile = await touchSame(tx, commandId, name, facts);
      if (meanwhile !== null) return { row: meanwhile, replaced: null };
      const [old] = await tx
        .delete(artifactUploads)
        .where(and(eq(artifactUploads.commandId, commandId), eq(artifactUploads.name, name)))
        .returning({ id: artifactUploads.id });
      await assertBounds(tx, tenantId, commandId, bytes);
      await room.assertFree(tx, tenantId, bytes);
      const [made] = await tx
        .insert(artifactUploads)
        .values({ id: newId(), tenantId, nodeId, commandId, name, contentType, bytes, sha256 })
        .returning();
      return { row: made as ReservedUpload, replaced: old?.id ?? null };
    });
    if (replaced !== null) await blobs.partials.delete(replaced);
    return row;
  }

  /** Passes the bytes of a whole result on while it is wanted. @throws AppError `command_ended` once it is not. */
  passWhole(device: DeviceIdentity, commandId: string, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
    return this.#whileWanted(device, commandId, body, async () => undefined);
  }

  /** Passes bytes on until the command is over, as it is once its device is revoked: they may take as long as they like to come. */
  async *#whileWanted(
    device: DeviceIdentity,
    commandId: string,
    body: AsyncIterable<Buffer>,
    keep: (tx: Transaction) => Promise<unknown>,
  ): AsyncGenerator<Buffer> {
    const { db, lookEveryMs = defaultLookEveryMs } = this.#deps;
    let lookedAt = performance.now();
    for await (const chunk of body) {
      yield chunk;
      if (performance.now() - lookedAt < lookEveryMs) continue;
      await db.workspace(device.tenantId, async (tx) => {
        await assertOpen(tx, device, commandId);
        await keepAlive(tx, commandId);
        await keep(tx);
      });
      lookedAt = performance.now();
    }
  }

  #admit(nodeId: string): Disposable {
    const writers = this.#writers.get(nodeId) ?? 0;
    if (writers >= maxWriters)
      throw new AppError(
        'upload_limit_reached',
        `${maxWriters} uploads of this device are under way; go on when one of them is done.`,
        { retryAfterSeconds: 5, limit: maxWriters },
      );
    this.#writers.set(nodeId, writers + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#writers.get(nodeId) ?? 0) - 1;
        if (left > 0) this.#writers.set(nodeId, left);
        else this.#writers.delete(nodeId);
      },
    };
  }
}

async function assertOpen(tx: Transaction, device: DeviceIdentity, commandId: string): Promise<void> {
  const command = await readDeviceCommand(tx, device, commandId);
  if (command.ended !== null)
    throw new AppError(
      'command_ended',
      `The command ${commandId} is over (${command.ended}); nobody wants its artefacts any more.`,
    );
}

/** A command whose artefacts arrive is being handed over: it does not run out before the next piece. */
async function keepAlive(tx: Transaction, commandId: string): Promise<void> {
  await tx.query(
    'keep_command_alive',
    `UPDATE node_commands SET lease_expires_at = greatest(lease_expires_at, now() + make_interval(secs => $2)),
       expires_at = greatest(expires_at, least(now() + make_interval(secs => $2), coalesce(deadline_at, 'infinity')))
     WHERE id = $1 AND status = 'leased'`,
    [commandId, pieceSeconds],
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
      `params.name is one too many: a command has at most ${maxArtifacts} artefacts.`,
      { details: [{ path: 'params.name', message: `is more than ${maxArtifacts} artefacts of one command` }] },
    );
  if (Number(announced) + bytes > maxCommandBytes)
    throw new AppError('payload_too_large', `The artefacts of one command may have ${maxCommandBytes} bytes together.`);
  if (open >= maxOpenUploads)
    throw new AppError(
      'upload_limit_reached',
      `${maxOpenUploads} uploads of this workspace wait for their results; try again later.`,
      { retryAfterSeconds: 60, limit: maxOpenUploads },
    );
}

function present(row: ReservedUpload, received: number): Answer {
  const complete = row.verifiedAt !== null;
  return { name: row.name, received: complete ? row.bytes : received, bytes: row.bytes, complete };
}
