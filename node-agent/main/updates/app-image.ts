import { createHash } from 'node:crypto';
import { createReadStream, linkSync, renameSync, rmSync, statSync } from 'node:fs';
import { constants, copyFile, open } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { z } from 'zod';
import type { UpdateFeed } from './feed.ts';
import { compareVersions } from './feed.ts';
import { readSmallFile, syncFolder, writeSmallFile } from './small-file.ts';
import { UpdateProblem, diskProblem } from './update-problem.ts';

/**
 * Replaces the AppImage of this app by a new version. The path always holds the complete old file or the complete new
 * file. The old file is kept as `.previous` until the new version has started once.
 */

/** Written before the files are exchanged. Removed when the new version has started. */
const pending = z.object({
  path: z.string(),
  from: z.string(),
  to: z.string(),
  /** Number of starts of the new version. */
  starts: z.int(),
});

/** A version that did not start on this machine. It is not installed again. */
const broken = z.object({ version: z.string() });

const maxStarts = 3;

export class AppImage {
  readonly path: string;
  readonly #folder: string;

  /** @param path Path of the AppImage (`$APPIMAGE`). @param folder Folder for the state of this app. */
  constructor(path: string, folder: string) {
    this.path = path;
    this.#folder = folder;
  }

  get previous(): string {
    return `${this.path}.previous`;
  }

  get #next(): string {
    return join(dirname(this.path), `.${basename(this.path)}.next`);
  }

  get #pending(): string {
    return join(this.#folder, 'update-pending.json');
  }

  get #broken(): string {
    return join(this.#folder, 'update-broken.json');
  }

  /** Whether a version was installed here and did not start. */
  isBroken(version: string): boolean {
    return readSmallFile(this.#broken, broken)?.version === version;
  }

  /**
   * Replaces this AppImage by a downloaded file and keeps the file mode. Checks the SHA-512 again.
   * @throws UpdateProblem on failure. The AppImage is unchanged then.
   */
  async replace(file: string, feed: UpdateFeed, current: string): Promise<void> {
    try {
      const mode = statSync(this.path).mode & 0o7777;
      await copyChecked(file, this.#next, feed, mode);
      writeSmallFile(this.#pending, { path: this.path, from: current, to: feed.version, starts: 0 });
      rmSync(this.previous, { force: true });
      await linkOrCopy(this.path, this.previous);
      renameSync(this.#next, this.path);
      syncFolder(dirname(this.path));
    } catch (error) {
      this.#removePending();
      throw error instanceof UpdateProblem ? error : diskProblem(error, dirname(this.path));
    }
  }

  /**
   * Call this first in a start of `current`. Cleans up after an interrupted exchange, and counts the starts of a new
   * version. Returns `restart` if the new version failed too often and was rolled back: start the previous version then.
   */
  checkPending(current: string): 'start' | 'restart' {
    const state = readSmallFile(this.#pending, pending);
    if (state === null) {
      rmSync(this.#next, { force: true });
      return 'start';
    }
    if (state.to !== current || state.path !== this.path) {
      // The exchange did not happen, was rolled back, or belongs to another AppImage.
      if (state.path === this.path) this.#removePending();
      return 'start';
    }
    if (state.starts >= maxStarts && this.rollback(state.to)) return 'restart';
    writeSmallFile(this.#pending, { ...state, starts: state.starts + 1 });
    return 'start';
  }

  /** Call this when the new version runs. Removes the previous version. */
  confirm(current: string): void {
    const state = readSmallFile(this.#pending, pending);
    if (state === null || state.path !== this.path || compareVersions(state.to, current) !== 0) return;
    this.#removePending();
  }

  /** Whether a new version has not started successfully yet. */
  get isPending(): boolean {
    return readSmallFile(this.#pending, pending)?.path === this.path;
  }

  /** Restores the previous version. Returns false if there is none. The new version is not installed again. */
  rollback(version: string): boolean {
    if (statSync(this.previous, { throwIfNoEntry: false }) === undefined) return false;
    writeSmallFile(this.#broken, { version });
    renameSync(this.previous, this.path);
    syncFolder(dirname(this.path));
    rmSync(this.#pending, { force: true });
    return true;
  }

  #removePending(): void {
    rmSync(this.#next, { force: true });
    rmSync(this.previous, { force: true });
    rmSync(this.#pending, { force: true });
  }
}

/** Creates a second name for a file: a hard link, or a copy if the file system has no links. */
async function linkOrCopy(path: string, second: string): Promise<void> {
  try {
    linkSync(path, second);
  } catch (error) {
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS', 'EMLINK'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error;
    await copyFile(path, second, constants.COPYFILE_EXCL);
    await using copy = await open(second, 'r');
    await copy.sync();
  }
}

async function copyChecked(from: string, to: string, feed: UpdateFeed, mode: number): Promise<void> {
  const hash = createHash('sha512');
  rmSync(to, { force: true });
  await using handle = await open(to, 'wx', 0o600);
  for await (const piece of createReadStream(from, { highWaterMark: 1024 * 1024 })) {
    hash.update(piece as Buffer);
    await handle.appendFile(piece as Buffer);
  }
  if (hash.digest('hex') !== feed.sha512)
    throw new UpdateProblem('refused', `The file of version ${feed.version} was changed after its download.`);
  await handle.chmod(mode);
  await handle.sync();
}
