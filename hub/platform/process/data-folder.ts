import { accessSync, constants, linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { AppError } from '../../../shared/errors.ts';
import { processStart } from './process-identity.ts';
import { createStateFile, readStateFile, writeStateFile } from './state-file.ts';

/** The one owner of a data folder, as its lock file names it. */
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

/** Makes the data folder if need be. @throws AppError with one line when it can't be written. */
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
      `The data folder ${folder} can't be written (${code}); mend its permissions, or set OUTRIGGER_HOME to another folder.`,
      { cause: error },
    );
  }
}

const isAlive = ({ pid, started }: FolderOwner) => processStart(pid) === started;

/** Who runs on a data folder now, or null. */
export function readFolderOwner(folder: string): FolderOwner | null {
  const owner = readStateFile(join(folder, lockName), folderOwner);
  return owner !== null && isAlive(owner) ? owner : null;
}

/** Waits, for at most a minute, while a command of the command line works on a data folder, or, where a caller needs it up, while its hub starts. */
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

/** Holds a data folder for this process until it is disposed. A lock whose process is gone is taken over. */
export class FolderLock implements Disposable {
  readonly #path: string;
  readonly #owner: FolderOwner;

  private constructor(path: string, owner: FolderOwner) {
    this.#path = path;
    this.#owner = owner;
  }

  /** @throws AppError that names the process and the address of whoever holds the folder. */
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
        // Moved away rather than removed: of two that find the dead lock at once, one move fails.
        const grave = `${path}.${process.pid}`;
        try {
          renameSync(path, grave);
          // One that was taken meanwhile is put back, unless a third took the folder at that moment.
          const moved = readStateFile(grave, folderOwner);
          if (moved !== null && isAlive(moved)) linkSync(grave, path);
        } catch (moveError) {
          if (!['ENOENT', 'EEXIST'].includes((moveError as NodeJS.ErrnoException).code ?? '')) throw moveError;
        } finally {
          rmSync(grave, { force: true });
        }
      }
    }
    throw new AppError('conflict', `The data folder ${folder} is being taken by another process; try again.`);
  }

  /** Lets others know where this hub answers. */
  announce(url: string): void {
    this.#owner.url = url;
    writeStateFile(this.#path, JSON.stringify(this.#owner));
  }

  [Symbol.dispose](): void {
    rmSync(this.#path, { force: true });
  }
}
