import { AppError } from '../../../shared/errors.ts';
import type { Transaction } from '../../platform/db/database.ts';
import { and, eq, inArray } from '../../platform/db/orm.ts';
import { artifactUploads } from './schema.ts';

export type UploadRow = typeof artifactUploads.$inferSelect;

export async function findUpload(tx: Transaction, commandId: string, name: string): Promise<UploadRow | null> {
  const [row] = await tx
    .select()
    .from(artifactUploads)
    .where(and(eq(artifactUploads.commandId, commandId), eq(artifactUploads.name, name)));
  return row ?? null;
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
