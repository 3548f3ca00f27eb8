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
 * The AppImage of this app, put in the place of its predecessor. At each moment the path holds the whole old file or the whole new one; the old one is
 * kept beside it, as `.previous`, until the new one has started once.
 */

/** Written before the files are exchanged, removed when the new version has started. */
const pending = z.object({
  path: z.string(),
  from: z.string(),
  to: z.string(),
  /** How often the new version began to start. */
  starts: z.int(),
});

/** A version that did not start here; it is not taken again. */
const broken = z.object({ version: z.string() });

const maxStarts = 3;

export class AppImage {
  readonly path: string;
  readonly #folder: string;

  /** @param path Where the AppImage lies (`$APPIMAGE`). @param folder Where this app keeps its state. */
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

  /** Whether a version was tried here and did not start. */
  isBroken(version: string): boolean {
    return readSmallFile(this.#broken, broken)?.version === version;
  }

  /**
   * Puts a downloaded file, whose sha512 is checked once more on the way, in the place of this AppImage; its mode stays.
   * @throws UpdateProblem when that can't be done; the AppImage is as it was.
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
   * To be called first thing in a start of `current`: clears away what an exchange that was interrupted left, and counts the starts of a new version.
   * Answers `restart` when that one failed so often that its predecessor is back in its place, which is to be started instead.
   */
  checkPending(current: string): 'start' | 'restart' {
    const state = readSmallFile(this.#pending, pending);
    if (state === null) {
      rmSync(this.#next, { force: true });
      return 'start';
    }
    if (state.to !== current || state.path !== this.path) {
      // The exchange did not happen, was taken back, or is another AppImage's.
      if (state.path === this.path) this.#removePending();
      return 'start';
    }
    if (state.starts >= maxStarts && this.rollback(state.to)) return 'restart';
    writeSmallFile(this.#pending, { ...state, starts: state.starts + 1 });
    return 'start';
  }

  /** The new version runs: its predecessor is not needed any more. */
  confirm(current: string): void {
    const state = readSmallFile(this.#pending, pending);
    if (state === null || state.path !== this.path || compareVersions(state.to, current) !== 0) return;
    this.#removePending();
  }

  /** Whether a replacement waits for its first start. */
  get isPending(): boolean {
    return readSmallFile(this.#pending, pending)?.path === this.path;
  }

  /** Puts the predecessor back in its place; false when there is none. The version is not taken again. */
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

/** Keeps a file under a second name: a link, or a copy where the file system has none. */
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
