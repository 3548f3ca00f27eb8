import { closeSync, fsyncSync, linkSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';

/** Reads a small state file; null when it is missing, unreadable or does not match the schema. */
export function readStateFile<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> | null {
  try {
    return schema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data ?? null;
  } catch {
    return null;
  }
}

/**
 * Replaces a file atomically, readable only by its owner. After a crash or on a full disk, either the old or the new
 * content exists.
 */
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

/** Creates a file atomically. @throws the error EEXIST when the file exists. */
export function createStateFile(path: string, text: string): void {
  const temporary = writeTemporary(path, text);
  try {
    linkSync(temporary, path);
  } catch (error) {
    // Some file systems do not support hard links.
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

/** Flushes a rename in a folder to the disk. Windows neither supports nor needs this. */
function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
