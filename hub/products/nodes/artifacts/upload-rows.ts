import type { UploadMetadata } from '../../../../shared/contract/nodes/command-result.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray } from '../../../platform/db/orm.ts';
import { artifactUploads } from '../schema.ts';

type UploadRow = typeof artifactUploads.$inferSelect;

/** The fields of an upload that are needed while its bytes arrive. */
export type ReservedUpload = Pick<UploadRow, 'id' | 'name' | 'bytes' | 'sha256' | 'verifiedAt'>;

export async function findUpload(tx: Transaction, commandId: string, name: string): Promise<UploadRow | null> {
  const [row] = await tx
    .select()
    .from(artifactUploads)
    .where(and(eq(artifactUploads.commandId, commandId), eq(artifactUploads.name, name)));
  return row ?? null;
}

/** Renews an upload that has exactly this metadata. Returns null when there is none. */
export async function touchMatching(
  tx: Transaction,
  commandId: string,
  name: string,
  { bytes, sha256, contentType }: UploadMetadata,
): Promise<ReservedUpload | null> {
  const { rows } = await tx.query<{ id: string; verified_at: Date | null }>(
    'touch_same_upload',
    `UPDATE artifact_uploads SET updated_at = now()
     WHERE command_id = $1 AND name = $2 AND bytes = $3 AND sha256 = $4 AND content_type = $5 RETURNING id, verified_at`,
    [commandId, name, bytes, sha256, contentType],
  );
  const row = rows[0];
  return row === undefined ? null : { id: row.id, name, bytes, sha256, verifiedAt: row.verified_at };
}

/** Renews an upload, so that the sweep does not remove it as abandoned. */
export async function touchUpload(tx: Transaction, id: string): Promise<void> {
  await tx.query('touch_upload', 'UPDATE artifact_uploads SET updated_at = now() WHERE id = $1', [id]);
}

/** Records that an upload is complete and that its checksum matches. */
export async function markVerified(tx: Transaction, id: string): Promise<void> {
  await tx.query('mark_upload_verified', 'UPDATE artifact_uploads SET verified_at = now() WHERE id = $1', [id]);
}

/** Returns the verified uploads that a result names. @throws AppError `validation_failed` for an unverified upload. */
export async function findVerified(tx: Transaction, commandId: string, names: string[]): Promise<UploadRow[]> {
  if (names.length === 0) return [];
  const rows = await tx
    .select()
    .from(artifactUploads)
    .where(and(eq(artifactUploads.commandId, commandId), inArray(artifactUploads.name, names)));
  return names.map((name, index) => {
    const row = rows.find((candidate) => candidate.name === name && candidate.verifiedAt !== null);
    if (row !== undefined) return row;
    const path = `body.uploads[${index}]`;
    throw new AppError('validation_failed', `${path} names ${name}, which was not uploaded completely.`, {
      details: [{ path, message: 'was not uploaded completely' }],
    });
  });
}

/** Deletes all upload rows of a command. Returns the ids of the blobs to delete after the commit. */
export async function releaseUploads(tx: Transaction, commandId: string): Promise<string[]> {
  const released = await tx
    .delete(artifactUploads)
    .where(eq(artifactUploads.commandId, commandId))
    .returning({ id: artifactUploads.id });
  return released.map(({ id }) => id);
}

/** Deletes one upload row, so that the device can upload the artifact again. */
export async function deleteUpload(tx: Transaction, uploadId: string): Promise<void> {
  await tx.delete(artifactUploads).where(eq(artifactUploads.id, uploadId));
}
