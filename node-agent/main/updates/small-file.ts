import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';

/** What a small file of state holds; null when it is missing, broken, or holds something else. */
export function readSmallFile<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> | null {
  try {
    return schema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data ?? null;
  } catch {
    return null;
  }
}

/** Replaces a small file, readable by its owner alone, as a whole: whatever ends the process, the old one or the new one is there. */
export function writeSmallFile(path: string, value: unknown): void {
  const aside = `${path}.new-${process.pid}`;
  try {
    writeFileSync(aside, JSON.stringify(value), { mode: 0o600, flush: true });
    renameSync(aside, path);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** Makes what was renamed in a folder last, where its file system can. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  try {
    const handle = openSync(folder, 'r');
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {
    // It is as it would be without: whole, and perhaps not there after a power failure.
  }
}
