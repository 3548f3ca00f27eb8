import { accessSync, constants, linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';
import { processStart } from './process-identity.ts';
import { createStateFile, readStateFile, writeStateFile } from './state-file.ts';

/** Content of the lock file: the process that owns the data folder. `url` is null while its hub starts. */
const folderOwner = z.object({
  pid: z.int().positive(),
  started: z.string(),
  url: z
    .url()
    .or(z.literal(['worker', 'command']))
    .nullable(),
});
export type FolderOwner = z.output<typeof folderOwner>;

const lockName = 'hub.lock';

/** Creates the data folder if it does not exist. @throws AppError with a one-line message when it is not writable. */
export function prepareDataFolder(folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    accessSync(folder, constants.R_OK | constants.W_OK | constants.X_OK);
    const probe = join(folder, `.probe-${process.pid}`);
    writeFileSync(probe, '');
    rmSync(probe);
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code ?? 'error';
    throw new AppError(
      'unavailable',
      `The data folder ${folder} is not writable (${code}); fix its permissions, or set OUTRIGGER_HOME to another folder.`,
      { cause: error },
    );
  }
}

const isAlive = ({ pid, started }: FolderOwner) => processStart(pid) === started;

/** The running process that owns a data folder, or null. */
export function readFolderOwner(folder: string): FolderOwner | null {
  const owner = readStateFile(join(folder, lockName), folderOwner);
  return owner !== null && isAlive(owner) ? owner : null;
}

/**
 * Waits, at most for a minute, until no command of the command line works on a data folder. With `starting`, also waits
 * until a hub has started.
 */
export async function waitForFolder(
  folder: string,
  { starting }: { starting: boolean },
  forMs = 60_000,
): Promise<void> {
  for (const deadline = Date.now() + forMs; Date.now() < deadline; await sleep(100)) {
    const owner = readFolderOwner(folder);
    if (owner === null || (owner.url !== 'command' && !(starting && owner.url === null))) return;
  }
}

/** Exclusive lock of a data folder, until disposed. A lock of a process that no longer runs is replaced. */
export class FolderLock implements Disposable {
  readonly #path: string;
  readonly #owner: FolderOwner;

  private constructor(path: string, owner: FolderOwner) {
    this.#path = path;
    this.#owner = owner;
  }

  /** @throws AppError that names the process and URL of the current owner. */
  static acquire(folder: string): FolderLock {
    const path = join(folder, lockName);
    const owner: FolderOwner = { pid: process.pid, started: processStart(process.pid) ?? 'unknown', url: null };
    for (let attempt = 0; attempt < 5; attempt += 1) {
      try {
        createStateFile(path, JSON.stringify(owner));
        return new FolderLock(path, owner);
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
        const holder = readFolderOwner(folder);
        if (holder !== null) {
          throw new AppError(
            'conflict',
            `Another hub (process ${holder.pid}${holder.url === null ? '' : `, ${holder.url}`}) runs on the data folder ${folder}; stop it, or set OUTRIGGER_HOME to another folder.`,
          );
        }
        // Renamed instead of deleted: when two processes find the same stale lock, one of the renames fails.
        const stalePath = `${path}.${process.pid}`;
        try {
          renameSync(path, stalePath);
          // A lock that another process created meanwhile is restored, unless a third process has just locked the
          // folder.
          const moved = readStateFile(stalePath, folderOwner);
          if (moved !== null && isAlive(moved)) linkSync(stalePath, path);
        } catch (moveError) {
          if (!['ENOENT', 'EEXIST'].includes((moveError as NodeJS.ErrnoException).code ?? '')) throw moveError;
        } finally {
          rmSync(stalePath, { force: true });
        }
      }
    }
    throw new AppError('conflict', `The data folder ${folder} is being locked by another process; try again.`);
  }

  /** Writes the URL of this hub into the lock file. */
  announce(url: string): void {
    this.#owner.url = url;
    writeStateFile(this.#path, JSON.stringify(this.#owner));
  }

  [Symbol.dispose](): void {
    rmSync(this.#path, { force: true });
  }
}
