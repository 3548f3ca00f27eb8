import { constants, createReadStream } from 'node:fs';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { AppError } from '../../../shared/errors.ts';
import { isUuid } from '../../../shared/uuid.ts';

/** Bytes that arrive in pieces, stored under a UUID. They survive the process that received them. */
export interface PartialBlobs {
  /** Number of stored bytes; 0 when there are none. */
  size(id: string): Promise<number>;
  /**
   * Writes from `offset` and returns the total number of stored bytes. When the source fails, the bytes received until
   * then are kept.
   * @throws AppError `payload_too_large` when the total exceeds `maxBytes`, `unavailable` when the disk is full.
   * @throws RangeError when `offset` is past the end.
   */
  write(id: string, offset: number, source: AsyncIterable<Buffer>, options: { maxBytes: number }): Promise<number>;
  /**
   * Flushes the bytes to the disk, so that they survive a power failure. @throws AppError `unavailable` when the disk
   * is full.
   */
  sync(id: string): Promise<void>;
  /** Streams the bytes. Call it only when no write is in progress. */
  read(id: string): Readable;
  delete(id: string): Promise<void>;
  /**
   * Deletes partial blobs that were not written for `olderThanMs`, except the ids that `findOwned` returns: those still
   * have an owner. Returns the number of deleted blobs.
   */
  sweep(olderThanMs: number, findOwned: (ids: string[]) => Promise<ReadonlySet<string>>): Promise<number>;
}

/** Stores partial blobs as files of one folder. Several hub processes can share the folder. */
export async function createPartialBlobs(folder: string): Promise<PartialBlobs> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pathOf = (id: string) => {
    if (!isUuid(id)) throw new TypeError('the id of a partial blob must be a UUID');
    return join(folder, id);
  };
  const sizeOf = async (id: string) => (await stat(pathOf(id)).catch(ignoreMissing))?.size ?? 0;

  return {
    size: sizeOf,

    async write(id, offset, source, { maxBytes }) {
      const size = await sizeOf(id);
      if (offset > size) throw new RangeError('offset is past the end of the partial blob');
      let at = offset;
      let file: FileHandle | undefined;
      try {
        for await (const chunk of source) {
          if (at + chunk.length > maxBytes)
            throw new AppError('payload_too_large', `More than the announced ${maxBytes} bytes.`);
          file ??= await open(pathOf(id), constants.O_WRONLY | constants.O_CREAT, 0o600);
          await writeAll(file, chunk, at);
          at += chunk.length;
        }
      } catch (error) {
        throw diskFullError(error) ?? error;
      } finally {
        await file?.close();
      }
      return Math.max(at, size);
    },

    async sync(id) {
      await using file = await open(pathOf(id), 'r+');
      await file.sync().catch((error: unknown) => {
        throw diskFullError(error) ?? error;
      });
    },

    read: (id) => createReadStream(pathOf(id)),

    async delete(id) {
      await rm(pathOf(id), { force: true });
    },

    async sweep(olderThanMs, findOwned) {
      const old: string[] = [];
      for (const name of await readdir(folder)) {
        const stats = await stat(join(folder, name)).catch(ignoreMissing);
        if (stats !== undefined && Date.now() - stats.mtimeMs > olderThanMs) old.push(name);
      }
      const owned = old.length === 0 ? new Set() : await findOwned(old.filter((name) => isUuid(name)));
      const abandoned = old.filter((name) => !owned.has(name));
      for (const name of abandoned) await rm(join(folder, name), { force: true });
      return abandoned.length;
    },
  };
}

/** Writes a whole chunk. On a nearly full disk, one write can store only a part of its bytes without an error. */
export async function writeAll(file: FileHandle, chunk: Buffer, position: number): Promise<void> {
  for (let done = 0; done < chunk.length;)
    done += (await file.write(chunk, done, chunk.length - done, position + done)).bytesWritten;
}

/**
 * Converts the error of a write to `unavailable` when the disk, the quota or the largest file size is exceeded; else
 * returns undefined.
 */
export function diskFullError(error: unknown): AppError | undefined {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG'
    ? new AppError(
        'unavailable',
        'The disk of the hub is full; send the bytes again later, after its operator has freed space.',
        { cause: error, retryAfterSeconds: 30, internal: { part: 'artifacts' } },
      )
    : undefined;
}

/** Returns undefined when the file does not exist, and rethrows other errors. */
export function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
