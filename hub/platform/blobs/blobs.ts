import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, open, opendir, readdir, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { AppError } from '../../../shared/errors.ts';
import { createPartialBlobs, diskFullError, writeAll } from './partial-blobs.ts';
import type { PartialBlobs } from './partial-blobs.ts';
import { createWriteProbe } from './write-probe.ts';
import type { WriteProbeOptions } from './write-probe.ts';

/** Binary objects of workspaces, stored under the key `<workspace id>/<id>`. */
export interface Blobs {
  /**
   * Stores bytes durably, all or nothing. @throws AppError `payload_too_large`; `unavailable` when the disk is full.
   */
  put(
    key: string,
    content: Buffer | Readable,
    options: { maxBytes: number },
  ): Promise<{ bytes: number; sha256: string }>;
  /** Opens a blob for reading, whole or from `start` to `end`, both inclusive. @throws AppError `not_found`. */
  open(key: string, range?: { start: number; end: number }): Promise<Readable>;
  delete(key: string): Promise<void>;
  /** Uploads in progress. */
  partials: PartialBlobs;
  /**
   * Checks that blobs can be stored now. Results are cached for seconds. @throws AppError `unavailable`, or the
   * signal's reason.
   */
  check(signal: AbortSignal): Promise<void>;
  /**
   * Lists all blobs with the time of their last write, in no order. Blobs that are written or deleted meanwhile can be
   * missing.
   */
  list(): AsyncIterable<{ key: string; writtenAt: Date }>;
}

const keyPattern = /^[0-9a-f-]{36}\/[0-9a-f-]{36}$/;
const unfinished = '.unfinished';
/** A temporary file older than this, in milliseconds, belongs to a process that died. */
const abandonedAfterMs = 60 * 60 * 1000;

/** Stores blobs as files of one folder. Several hub processes can share the folder. */
export async function createFileBlobs(folder: string, options: WriteProbeOptions = {}): Promise<Blobs> {
  const incoming = join(folder, unfinished);
  await mkdir(incoming, { recursive: true, mode: 0o700 });
  for (const name of await readdir(incoming)) {
    const path = join(incoming, name);
    const stats = await stat(path).catch(() => undefined);
    if (stats !== undefined && Date.now() - stats.mtimeMs > abandonedAfterMs) await rm(path, { force: true });
  }
  const pathOf = (key: string) => {
    if (!keyPattern.test(key)) throw new TypeError('a blob key must be two UUIDs');
    return join(folder, key);
  };

  const probe = createWriteProbe(incoming, options);

  return {
    partials: await createPartialBlobs(join(folder, '.uploads')),

    async put(key, content, { maxBytes }) {
      const path = pathOf(key);
      const temporary = join(incoming, randomUUID());
      const hash = createHash('sha256');
      let bytes = 0;
      try {
        await using file = await open(temporary, 'wx', 0o600);
        for await (const chunk of content instanceof Readable ? (content as AsyncIterable<Buffer>) : [content]) {
          const at = bytes;
          bytes += chunk.length;
          if (bytes > maxBytes) throw new AppError('payload_too_large', `An artifact has more than ${maxBytes} bytes.`);
          hash.update(chunk);
          await writeAll(file, chunk, at);
        }
        await file.sync();
        const made = await mkdir(dirname(path), { recursive: true, mode: 0o700 });
        await rename(temporary, path);
        // Without syncing the folder, a power failure can lose the file name while the database row that refers to it
        // survives.
        await syncFolder(dirname(path));
        if (made !== undefined) await syncFolder(folder);
      } catch (error) {
        await rm(temporary, { force: true });
        throw diskFullError(error) ?? error;
      }
      return { bytes, sha256: hash.digest('hex') };
    },

    async open(key, range) {
      const path = pathOf(key);
      const file = await open(path, 'r').catch((error: NodeJS.ErrnoException) => {
        throw error.code === 'ENOENT'
          ? new AppError('not_found', 'The bytes of this artifact no longer exist.', { cause: error })
          : error;
      });
      return createReadStream(path, { fd: file, ...(range === undefined ? {} : range) });
    },

    async delete(key) {
      await rm(pathOf(key), { force: true });
    },

    async check(signal) {
      await probe(signal).catch((error: unknown) => {
        if (signal.aborted) throw signal.reason;
        throw (
          diskFullError(error) ??
          new AppError(
            'unavailable',
            'The artifact folder is not writable; the operator of the hub must check ARTIFACTS_FOLDER.',
            { cause: error },
          )
        );
      });
    },

    async *list() {
      for await (const workspace of await opendir(folder)) {
        if (!workspace.isDirectory() || workspace.name.startsWith('.')) continue;
        const entries = await opendir(join(folder, workspace.name)).catch(() => null);
        if (entries === null) continue;
        for await (const entry of entries) {
          const key = `${workspace.name}/${entry.name}`;
          const stats = keyPattern.test(key) ? await stat(join(folder, key)).catch(() => undefined) : undefined;
          if (stats?.isFile() === true) yield { key, writtenAt: stats.mtime };
        }
      }
    },
  };
}

/** Flushes the file names of a folder to the disk. Windows neither supports nor needs this. */
async function syncFolder(folder: string): Promise<void> {
  if (process.platform === 'win32') return;
  await using handle = await open(folder, 'r');
  await handle.sync();
}
