import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';

/** What a small file of state holds; null when it is missing, broken, or holds something else. */
export function readStateFile<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> | null {
  try {
    return schema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data ?? null;
  } catch {
    return null;
  }
}

/** Replaces a file, readable by its owner alone, as a whole: whatever ends the process or fills the disk, the old one or the new one is there. */
export function writeStateFile(path: string, text: string): void {
  const temporary = writeTemporary(path, text);
  try {
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** Makes a file that must not be there yet, as a whole: nobody sees a part of it. @throws the error EEXIST when it is there. */
export function createStateFile(path: string, text: string): void {
  const temporary = writeTemporary(path, text);
  try {
    linkSync(temporary, path);
  } catch (error) {
    // Some file systems have no links.
    if (!['EPERM', 'ENOTSUP', 'EOPNOTSUPP', 'ENOSYS'].includes((error as NodeJS.ErrnoException).code ?? ''))
      throw error;
    writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true });
  } finally {
    rmSync(temporary, { force: true });
  }
  syncFolder(dirname(path));
}

function writeTemporary(path: string, text: string): string {
  const temporary = `${path}.new-${process.pid}`;
  try {
    writeFileSync(temporary, text, { mode: 0o600, flush: true });
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
  return temporary;
}

/** Makes a rename in a folder last; some systems can't and need not. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
