import { closeSync, openSync, rmSync, statSync } from 'node:fs';

const waitMs = 2_000;
const lookMs = 5;
/** Whoever holds it for so long has died with it: nobody does more under it than write a file. */
const staleMs = 5_000;

const pause = new Int32Array(new SharedArrayBuffer(4));

/** Holds a lock among processes for a moment, until it is disposed; `isHeld` is false where it could not be had in time. */
export function lockFile(path: string): Disposable & { isHeld: boolean } {
  const deadline = performance.now() + waitMs;
  while (performance.now() < deadline) {
    try {
      closeSync(openSync(path, 'wx', 0o600));
      return { isHeld: true, [Symbol.dispose]: () => rmSync(path, { force: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') break;
    }
    if (isStale(path)) rmSync(path, { force: true });
    else Atomics.wait(pause, 0, 0, lookMs);
  }
  return { isHeld: false, [Symbol.dispose]: () => undefined };
}

function isStale(path: string): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > staleMs;
  } catch {
    return false;
  }
}
