import {
  closeSync,
  constants,
  fstatSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';

/** Another program of the user put a folder, a pipe, a socket or a device at the path of a file. */
export class NotAFileError extends Error {
  readonly code = 'it is not a file';
}

const { O_APPEND, O_CREAT, O_RDONLY, O_RDWR } = constants;
/** The system ignores O_NONBLOCK for files. Windows has neither flag. */
const neverBlocks = (constants.O_NONBLOCK ?? 0) | (constants.O_NOCTTY ?? 0);
const openFlags = { read: O_RDONLY, change: O_RDWR, append: O_RDWR | O_APPEND | O_CREAT };
const copyBytes = 1024 * 1024;

/**
 * Opens a file of the companion: to read it, to change it, or to append to it, which creates it with access for the
 * owner only. Opening, reading or writing a pipe or a device could block this process without end, so only a file is
 * opened.
 * @throws NotAFileError, or the error of the file system.
 */
export function openOwnFile(path: string, purpose: keyof typeof openFlags): number {
  let handle: number;
  try {
    handle = openSync(path, openFlags[purpose] | neverBlocks, 0o600);
  } catch (error) {
    // The system reports ENXIO for a socket and for a pipe that no program reads, and EISDIR for a folder.
    if (!['ENXIO', 'EISDIR'].includes((error as NodeJS.ErrnoException).code ?? '')) throw error;
    throw new NotAFileError(`${path} is not a file.`, { cause: error });
  }
  if (fstatSync(handle).isFile()) return handle;
  closeSync(handle);
  throw new NotAFileError(`${path} is not a file.`);
}

/** Reads a file of the companion. @throws NotAFileError, or the error of the file system. */
export function readOwnFile(path: string): Buffer {
  const handle = openOwnFile(path, 'read');
  try {
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

/**
 * Creates a file that only the owner can read, and replaces what is at its path.
 * @param mode The permissions of a file that others may read.
 * @throws the error of the file system.
 */
export function createOwnFile(path: string, content: string | Buffer, mode = 0o600): void {
  rmSync(path, { recursive: true, force: true });
  // A file that did not exist is no pipe and no device.
  writeFileSync(path, content, { mode, flag: 'wx', flush: true });
}

/** The same with the content of another file. @throws NotAFileError, or the error of the file system. */
export function copyToOwnFile(from: string, to: string): void {
  const source = openOwnFile(from, 'read');
  try {
    createOwnFile(to, '');
    const target = openOwnFile(to, 'append');
    try {
      const piece = Buffer.alloc(copyBytes);
      for (let length = readSync(source, piece); length > 0; length = readSync(source, piece))
        writeFileSync(target, piece.subarray(0, length));
    } finally {
      closeSync(target);
    }
  } finally {
    closeSync(source);
  }
}
