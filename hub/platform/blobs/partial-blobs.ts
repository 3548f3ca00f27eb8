import { constants, createReadStream } from 'node:fs';
import { mkdir, open, readdir, rm, stat } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join } from 'node:path';
import type { Readable } from 'node:stream';
import { AppError } from '../../../shared/errors.ts';
import { isUuid } from '../../../shared/uuid.ts';

/** Bytes that arrive in pieces, under a UUID; what is there of them outlives the process that took them. */
export interface PartialBlobs {
  /** How many bytes there are; 0 when there are none. */
  size(id: string): Promise<number>;
  /**
   * Writes from `offset`, which is not past the end, and keeps what came when the source breaks off. Answers how many bytes there are.
   * @throws AppError `payload_too_large` for more than `maxBytes` in all, `unavailable` without room; RangeError past the end.
   */
  write(id: string, offset: number, source: AsyncIterable<Buffer>, options: { maxBytes: number }): Promise<number>;
  /** Makes what is there outlive the machine. @throws AppError `unavailable` without room. */
  sync(id: string): Promise<void>;
  /** Streams the bytes; only once none is written any more. */
  read(id: string): Readable;
  delete(id: string): Promise<void>;
  /** Removes what nobody wrote to for so long, but for what `findOwned` answers of it: its owner died, or forgot it. */
  sweep(olderThanMs: number, findOwned: (ids: string[]) => Promise<ReadonlySet<string>>): Promise<number>;
}

/** Partial bytes in files of one folder, which several hub processes may share. */
export async function createPartialBlobs(folder: string): Promise<PartialBlobs> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const pathOf = (id: string) => {
    if (!isUuid(id)) throw new TypeError('the id of partial bytes is a UUID');
    return join(folder, id);
  };
  const sizeOf = async (id: string) => (await stat(pathOf(id)).catch(ignoreMissing))?.size ?? 0;

  return {
    size: sizeOf,

    async write(id, offset, source, { maxBytes }) {
      const size = await sizeOf(id);
      if (offset > size) throw new RangeError('bytes are written from where there are some');
      let at = offset;
      let file: FileHandle | undefined;
      try {
        for await (const chunk of source) {
          if (at + chunk.length > maxBytes)
            throw new AppError('payload_too_large', `More than the ${maxBytes} bytes that were announced.`);
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

/** Writes all of a chunk: on a disk that is all but full one write takes a part of it, and says so by no error. */
export async function writeAll(file: FileHandle, chunk: Buffer, position: number): Promise<void> {
  for (let done = 0; done < chunk.length;)
    done += (await file.write(chunk, done, chunk.length - done, position + done)).bytesWritten;
}

/** What to answer when a write failed for want of room; undefined when it failed for something else. */
export function diskFullError(error: unknown): AppError | undefined {
  const { code } = error as NodeJS.ErrnoException;
  return code === 'ENOSPC' || code === 'EDQUOT' || code === 'EFBIG'
    ? new AppError(
        'unavailable',
        'The disk of the hub has no room for more artefacts; send the bytes again later, once its operator made room.',
        { cause: error, retryAfterSeconds: 30, internal: { part: 'artifacts' } },
      )
    : undefined;
}

/** Answers nothing where there is no such file. */
export function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
