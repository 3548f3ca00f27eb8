import type { UploadMetadata } from '../../../../shared/contract/nodes/command-result.ts';
import { AppError } from '../../../../shared/errors.ts';
import type { Transaction } from '../../../platform/db/database.ts';
import { and, eq, inArray } from '../../../platform/db/orm.ts';
import { artifactUploads } from '../schema.ts';

type UploadRow = typeof artifactUploads.$inferSelect;

/** What is known of an upload while its bytes come. */
export type ReservedUpload = Pick<UploadRow, 'id' | 'name' | 'bytes' | 'sha256' | 'verifiedAt'>;

export async function findUpload(tx: Transaction, commandId: string, name: string): Promise<UploadRow | null> {
  const [row] = await tx
    .select()
    .from(artifactUploads)
    .where(and(eq(artifactUploads.commandId, commandId), eq(artifactUploads.name, name)));
  return row ?? null;
}

/** Has an upload live on, if it is of an artefact with just these facts; null when there is none. */
export async function touchSame(
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

/** Has an upload live on. */
export async function touchUpload(tx: Transaction, id: string): Promise<void> {
  await tx.query('touch_upload', 'UPDATE artifact_uploads SET updated_at = now() WHERE id = $1', [id]);
}

/** Notes that all bytes of an upload are here and have its checksum. */
export async function markVerified(tx: Transaction, id: string): Promise<void> {
  await tx.query('mark_upload_verified', 'UPDATE artifact_uploads SET verified_at = now() WHERE id = $1', [id]);
}

/** Uploads that a result names, whole and with the right checksum. @throws AppError `validation_failed` for one that is not. */
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
    throw new AppError('validation_failed', `${path} names ${name}, which was not uploaded whole.`, {
      details: [{ path, message: 'was not uploaded whole' }],
    });
  });
}

/** Ends every upload of a command; answers which bytes are to be deleted after the commit. */
export async function releaseUploads(tx: Transaction, commandId: string): Promise<string[]> {
  const released = await tx
    .delete(artifactUploads)
    .where(eq(artifactUploads.commandId, commandId))
    .returning({ id: artifactUploads.id });
  return released.map(({ id }) => id);
}

/** Ends one upload, so that its artefact can be uploaded anew. */
export async function forgetUpload(tx: Transaction, uploadId: string): Promise<void> {
  await tx.delete(artifactUploads).where(eq(artifactUploads.id, uploadId));
}
