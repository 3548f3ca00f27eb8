import { closeSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';

/** Reads a small state file. Returns null if it is missing, broken or does not match the schema. */
export function readSmallFile<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> | null {
  try {
    return schema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data ?? null;
  } catch {
    return null;
  }
}

/** Replaces a small file atomically: after a crash, the old or the new content is there. Only the owner can read it. */
export function writeSmallFile(path: string, value: unknown): void {
  const temporaryPath = `${path}.new-${process.pid}`;
  try {
    writeFileSync(temporaryPath, JSON.stringify(value), { mode: 0o600, flush: true });
    renameSync(temporaryPath, path);
  } catch (error) {
    rmSync(temporaryPath, { force: true });
    throw error;
  }
  syncFolder(dirname(path));
}

/** Makes renames in a folder durable, if the file system supports it. */
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
    // The file is complete, but the rename may be lost after a power failure.
  }
}
