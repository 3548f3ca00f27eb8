import { randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import { maxPicturePixels, minPicturePixels } from '../../../../shared/contract/chat/pictures.ts';
import type { StoredPicture } from '../../../../shared/contract/chat/pictures.ts';
import { picturePath } from '../../../../shared/contract/common.ts';
import { AppError, notFound } from '../../../../shared/errors.ts';
import type { Blobs } from '../../../platform/blobs/blobs.ts';
import type { Database } from '../../../platform/db/database.ts';
import { recordAudit } from '../../core/audit/index.ts';
import { reasonOfUnsupported } from '../files/index.ts';
import type { FileBlobs, FileScanner } from '../files/index.ts';

export interface MemberPicturesDependencies {
  db: Database;
  blobs: Blobs;
  fileBlobs: FileBlobs;
  scanner: FileScanner;
}

/** Whose picture is changed, and by whom. */
export interface PictureOwner {
  tenantId: string;
  userId: string;
  actor: string;
}

export interface ServedPicture {
  contentType: string;
  bytes: number;
  open(): Promise<Readable>;
}

const refused = (reason: string) =>
  new AppError('unsupported_media_type', `${reason} Send a PNG, JPEG or WebP that is not animated.`);

/** Pictures of members. The bytes are kept like the files of conversations. */
export class MemberPictures {
  readonly #deps: MemberPicturesDependencies;

  constructor(dependencies: MemberPicturesDependencies) {
    this.#deps = dependencies;
  }

  /** Makes sure that the member exists, before the body is read. @throws AppError `not_found`. */
  async assertMember({ tenantId, userId }: PictureOwner): Promise<void> {
    const { rows } = await this.#deps.db.read(tenantId, (tx) =>
      tx.query('find_member_of_picture', 'SELECT id FROM users WHERE tenant_id = $1 AND id = $2', [tenantId, userId]),
    );
    if (rows.length === 0) throw notFound('member', userId);
  }

  /**
   * Replaces the picture of a member.
   * @param recheck refuses a caller who lost the right while the file was sent.
   * @throws AppError `unsupported_media_type`, `not_found`, `unavailable`.
   */
  async put(
    owner: PictureOwner,
    given: Buffer,
    { signal, recheck }: { signal: AbortSignal; recheck: () => Promise<unknown> },
  ): Promise<StoredPicture> {
    const { db, fileBlobs, scanner } = this.#deps;
    const { tenantId, userId, actor } = owner;
    const { contentType, bytes, size } = await scanner.scan(given, signal).catch((error: unknown) => {
      if (error instanceof AppError && error.code === 'unsupported_media_type')
        throw refused(reasonOfUnsupported(error.message));
      throw error;
    });
    if (size === null) throw refused(`This file is ${contentType}.`);
    const { width, height, isAnimated } = size;
    if (isAnimated) throw refused('This picture is animated.');
    if (Math.max(width, height) > maxPicturePixels || Math.min(width, height) < minPicturePixels)
      throw refused(
        `This picture has ${width} × ${height} pixels; each side must have ${minPicturePixels} to ${maxPicturePixels}.`,
      );
    const id = randomUUID();
    const key = `${tenantId}/${id}`;
    await fileBlobs.write(tenantId, key, bytes);
    try {
      await recheck();
      await db.workspace(tenantId, async (tx) => {
        // Two uploads at the same time must not both insert.
        const { rowCount } = await tx.query(
          'lock_member_of_picture',
          'SELECT id FROM users WHERE tenant_id = $1 AND id = $2 FOR NO KEY UPDATE',
          [tenantId, userId],
        );
        if (rowCount === 0) throw notFound('member', userId);
        await fileBlobs.keep(tx, key);
        await tx.query(
          'delete_member_picture',
          'DELETE FROM member_pictures WHERE tenant_id = $1 AND user_id = $2 RETURNING id',
          [tenantId, userId],
        );
        await tx.query(
          'write_member_picture',
          `INSERT INTO member_pictures (user_id, tenant_id, id, content_type, bytes, blob_key) VALUES ($1, $2, $3, $4, $5, $6)`,
          [userId, tenantId, id, contentType, bytes.length, key],
        );
        await recordAudit(tx, {
          tenantId,
          actor,
          action: 'member.picture_set',
          targetType: 'user',
          targetId: userId,
          details: { contentType, bytes: bytes.length },
        });
      });
    } catch (error) {
      // The sweep removes the bytes. If this statement fails too, the sweep removes them an hour later.
      await fileBlobs.giveUp(tenantId, key).catch(() => undefined);
      throw error;
    }
    return { userId, picture: picturePath(id), contentType, bytes: bytes.length, width, height };
  }

  /** @throws AppError `not_found`, also without a picture. */
  async delete({ tenantId, userId, actor }: PictureOwner): Promise<{ id: string; deleted: true }> {
    return this.#deps.db.workspace(tenantId, async (tx) => {
      const { rows } = await tx.query<{ id: string }>(
        'delete_member_picture',
        'DELETE FROM member_pictures WHERE tenant_id = $1 AND user_id = $2 RETURNING id',
        [tenantId, userId],
      );
      const [row] = rows;
      if (row === undefined) throw notFound('picture of member', userId);
      await recordAudit(tx, {
        tenantId,
        actor,
        action: 'member.picture_deleted',
        targetType: 'user',
        targetId: userId,
        details: {},
      });
      return { id: row.id, deleted: true };
    });
  }

  /** A picture by its id, which is the only credential. @throws AppError `not_found`. */
  async find(id: string): Promise<ServedPicture> {
    const [row] = await this.#deps.db.systemStatement<{ content_type: string; bytes: number; blob_key: string }>(
      'find_member_picture',
      'SELECT content_type, bytes, blob_key FROM member_pictures WHERE id = $1',
      [id],
    );
    if (row === undefined) throw notFound('picture', id);
    return {
      contentType: row.content_type,
      bytes: row.bytes,
      open: () => this.#deps.blobs.open(row.blob_key),
    };
  }
}
