import { closeSync, existsSync, fstatSync, fsyncSync, openSync, readSync } from 'node:fs';

const pieceBytes = 64 * 1024;

/** Yields the lines of a file, the last one first. A file that does not exist has none. */
export function* linesFromEnd(path: string): Generator<string> {
  if (!existsSync(path)) return;
  const handle = openSync(path, 'r');
  try {
    let rest = Buffer.alloc(0);
    for (let end = fstatSync(handle).size; end > 0;) {
      const start = Math.max(0, end - pieceBytes);
      const piece = Buffer.alloc(end - start);
      readSync(handle, piece, 0, piece.length, start);
      end = start;
      const whole = Buffer.concat([piece, rest]);
      const first = start === 0 ? 0 : whole.indexOf(0x0a) + 1;
      rest = whole.subarray(0, start === 0 ? 0 : Math.max(first, 0));
      if (start > 0 && first === 0) {
        rest = whole;
        continue;
      }
      yield* whole.subarray(first).toString('utf8').split('\n').toReversed();
    }
  } finally {
    closeSync(handle);
  }
}

/** Makes created and renamed files of a folder durable. Windows cannot sync a folder, and does not need it. */
export function syncFolder(folder: string): void {
  if (process.platform === 'win32') return;
  const handle = openSync(folder, 'r');
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
