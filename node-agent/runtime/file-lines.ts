import { closeSync, constants, fstatSync, fsyncSync, lstatSync, openSync, readSync, statSync } from 'node:fs';
import { LogFileError, useLogFile } from './companion-error.ts';
import { openOwnFile } from './own-file.ts';

const pieceBytes = 64 * 1024;
/** Longer lines are read as empty lines. The longest entry of a log, that of a rotation, has about 1 MiB. */
const maxLineBytes = 4 * 1024 * 1024;

/** The parts of one line. It stays small when the line does not end. */
class LineParts {
  #parts: Buffer[] = [];
  #bytes = 0;

  add(part: Buffer, position: 'before' | 'after'): void {
    this.#bytes += part.length;
    if (this.#bytes > maxLineBytes) this.#parts = [];
    else if (position === 'before') this.#parts.unshift(part);
    else this.#parts.push(part);
  }

  /** Returns the text of the line, and begins another line. */
  take(): string {
    const text = Buffer.concat(this.#parts).toString('utf8');
    this.#parts = [];
    this.#bytes = 0;
    return text;
  }
}

/**
 * Yields the lines of a log file, the last one first. A file that does not exist has none.
 * @throws LogFileError when the file cannot be read.
 */
export function* linesFromEnd(path: string): Generator<string> {
  const line = new LineParts();
  for (const piece of piecesOf(path, 'end')) {
    let end = piece.length;
    while (end > 0) {
      const newline = piece.lastIndexOf(0x0a, end - 1);
      line.add(piece.subarray(newline + 1, end), 'before');
      if (newline === -1) break;
      yield line.take();
      end = newline;
    }
  }
  yield line.take();
}

/** The same, the first line first. */
export function* linesFromStart(path: string): Generator<string> {
  const line = new LineParts();
  for (const piece of piecesOf(path, 'start')) {
    let start = 0;
    for (let newline = piece.indexOf(0x0a); newline !== -1; newline = piece.indexOf(0x0a, start)) {
      line.add(piece.subarray(start, newline), 'after');
      yield line.take();
      start = newline + 1;
    }
    line.add(piece.subarray(start), 'after');
  }
  yield line.take();
}

function* piecesOf(path: string, from: 'start' | 'end'): Generator<Buffer> {
  const facts = useLogFile(path, () => statSync(path, { throwIfNoEntry: false }));
  if (facts === undefined) {
    if (lstatSync(path, { throwIfNoEntry: false }) === undefined) return;
    throw new LogFileError(path, 'it is a link to a file that does not exist');
  }
  const handle = useLogFile(path, () => openOwnFile(path, 'read'));
  try {
    const { size } = fstatSync(handle);
    for (let done = 0; done < size; done += pieceBytes) {
      const length = Math.min(pieceBytes, size - done);
      const piece = Buffer.alloc(length);
      readSync(handle, piece, 0, length, from === 'start' ? done : size - done - length);
      yield piece;
    }
  } finally {
    closeSync(handle);
  }
}

/** Makes created and renamed files of a folder durable. Windows cannot sync a folder, and does not need it. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  // Opening a pipe in place of the folder would otherwise wait for a program that writes to it.
  const handle = openSync(folder, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
