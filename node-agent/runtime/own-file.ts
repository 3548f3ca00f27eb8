import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';

/** Another program of the user put a folder, a pipe or a device at the path of a file. */
export class NotAFileError extends Error {
  readonly code = 'it is not a file';
}

/**
 * Reads a file of the companion. Opening and reading a pipe or a device could block this process without end, so only
 * the content of a file is read.
 * @throws NotAFileError, or the error of the file system.
 */
export function readOwnFile(path: string): Buffer {
  // The system ignores this flag for files. Windows does not have it.
  const handle = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  try {
    if (!fstatSync(handle).isFile()) throw new NotAFileError(`${path} is not a file.`);
    return readFileSync(handle);
  } finally {
    closeSync(handle);
  }
}

/** The size of a file in bytes. @throws NotAFileError, or the error of the file system. */
export function sizeOfOwnFile(path: string): number {
  const facts = statSync(path);
  if (!facts.isFile()) throw new NotAFileError(`${path} is not a file.`);
  return facts.size;
}

/** Creates a file that only the owner can read, and replaces what is at its path. */
export function createOwnFile(path: string, text: string): void {
  rmSync(path, { recursive: true, force: true });
  writeFileSync(path, text, { mode: 0o600, flag: 'wx', flush: true });
}
