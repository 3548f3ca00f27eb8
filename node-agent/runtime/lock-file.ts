import { closeSync, openSync, rmSync, statSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const waitMs = 2_000;
const lookMs = 5;
/** Whoever holds it for so long has died with it: nobody does more under it than write a file. */
const staleMs = 5_000;

const pause = new Int32Array(new SharedArrayBuffer(4));

/** A lock among processes, held for a moment; `isHeld` is false where it could not be had in time. */
export type HeldLock = Disposable & { isHeld: boolean };

/** Holds a lock until it is disposed; whoever waits for it does nothing else. */
export function lockFile(path: string): HeldLock {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const lock = tryLock(path);
    if (lock !== 'taken') return lock;
    if (performance.now() > deadline) return notHeld;
    Atomics.wait(pause, 0, 0, lookMs);
  }
}

/** The same for work that takes turns with other work of this process. */
export async function lockFileSoon(path: string): Promise<HeldLock> {
  const deadline = performance.now() + waitMs;
  for (;;) {
    const lock = tryLock(path);
    if (lock !== 'taken') return lock;
    if (performance.now() > deadline) return notHeld;
    await delay(lookMs);
  }
}

const notHeld: HeldLock = { isHeld: false, [Symbol.dispose]: () => undefined };

function tryLock(path: string): HeldLock | 'taken' {
  try {
    closeSync(openSync(path, 'wx', 0o600));
    return { isHeld: true, [Symbol.dispose]: () => rmSync(path, { force: true }) };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') return notHeld;
  }
  if (isStale(path)) rmSync(path, { force: true });
  return 'taken';
}

function isStale(path: string): boolean {
  try {
    return Date.now() - statSync(path).mtimeMs > staleMs;
  } catch {
    return false;
  }
}
