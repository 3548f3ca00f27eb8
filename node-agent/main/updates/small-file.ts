import { closeSync, constants, fsyncSync, openSync, renameSync, rmSync } from 'node:fs';
import { dirname } from 'node:path';
import type { z } from 'zod';
import { createOwnFile, readOwnFile } from '../../runtime/own-file.ts';

/** Reads a small state file. Returns null if it is missing, broken or does not match the schema. */
export function readSmallFile<Schema extends z.ZodType>(path: string, schema: Schema): z.output<Schema> | null {
  try {
    return schema.safeParse(JSON.parse(readOwnFile(path).toString())).data ?? null;
  } catch {
    return null;
  }
}

/** Replaces a small file atomically: after a crash, the old or the new content is there. Only the owner can read it. */
export function writeSmallFile(path: string, value: unknown): void {
  const temporaryPath = `${path}.new-${process.pid}`;
  try {
    createOwnFile(temporaryPath, JSON.stringify(value));
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
    const handle = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
    try {
      fsyncSync(handle);
    } finally {
      closeSync(handle);
    }
  } catch {
    // The file is complete, but the rename may be lost after a power failure.
  }
}
