import { createHash, randomUUID } from 'node:crypto';
import { closeSync, constants, fstatSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const waitMs = 2_000;
const pollIntervalMs = 5;
/** A lock without a process ID that is older than this is stale: its process ended before it wrote the ID. */
const graceMs = 1_000;
/**
 * A lock older than this is stale, also when a process has its ID: a holder writes only one file. The same holds for a
 * time that is further in the future, because the clock was turned back.
 */
const maxHoldMs = 10_000;

/** The content of a lock file, and a stamp that identifies this lock among later ones at the same path. */
interface LockHolder {
  text: string;
  pid: number;
  ageMs: number;
  stamp: string;
}

/**
 * Acquires a lock among processes, until it is disposed. The lock of a process that ended is removed.
 * @returns null when another process holds the lock for the whole waiting time.
 * @throws the error of the file system when the lock file cannot be created.
 */
export async function lockFile(path: string): Promise<Disposable | null> {
  const deadline = performance.now() + waitMs;
  const text = `${process.pid} ${randomUUID()}`;
  while (!tryCreate(path, text)) {
    const holder = readLock(path);
    if (holder !== null && isStale(holder) && removeStaleLock(path, holder)) continue;
    if (performance.now() > deadline) return null;
    await delay(pollIntervalMs);
  }
  return {
    [Symbol.dispose]: () => {
      if (readLock(path)?.text === text) rmSync(path, { force: true });
    },
  };
}

/** Returns false when a lock exists. */
function tryCreate(path: string, text: string): boolean {
  let handle: number;
  try {
    handle = openSync(path, 'wx', 0o600);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // Windows reports EPERM or EACCES for a file that is being removed.
    if (code === 'EEXIST' || (process.platform === 'win32' && ['EPERM', 'EACCES'].includes(code))) return false;
    throw error;
  }
  try {
    writeSync(handle, text);
    return true;
  } catch (error) {
    rmSync(path, { force: true });
    throw error;
  } finally {
    closeSync(handle);
  }
}

function readLock(path: string): LockHolder | null {
  let handle: number | undefined;
  try {
    // Opening a pipe would otherwise wait for a program that writes to it.
    handle = openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
    const facts = fstatSync(handle);
    if (facts.isDirectory()) return null;
    const { ino, mtimeMs } = facts;
    const text = facts.isFile() ? readFileSync(handle, 'utf8') : '';
    return { text, pid: Number.parseInt(text, 10), ageMs: Date.now() - mtimeMs, stamp: `${ino} ${mtimeMs} ${text}` };
  } catch {
    return null;
  } finally {
    if (handle !== undefined) closeSync(handle);
  }
}

function isStale({ pid, ageMs }: LockHolder): boolean {
  if (!(pid > 0)) return Math.abs(ageMs) > graceMs;
  if (Math.abs(ageMs) > maxHoldMs) return true;
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'ESRCH';
  }
}

/**
 * Removes a stale lock. Of several processes that find the same stale lock, only one removes it and gets true: the
 * others could otherwise remove the next holder's lock.
 */
function removeStaleLock(path: string, { stamp }: LockHolder): boolean {
  const removalLock = `${path}.${createHash('sha256').update(stamp).digest('hex').slice(0, 16)}`;
  if (!tryCreate(removalLock, '')) {
    // A process that ended here left its removal lock.
    const createdAt = statSync(removalLock, { throwIfNoEntry: false })?.mtimeMs;
    if (createdAt !== undefined && Math.abs(Date.now() - createdAt) > graceMs) rmSync(removalLock, { force: true });
    return false;
  }
  try {
    if (readLock(path)?.stamp === stamp) rmSync(path, { force: true });
    return true;
  } finally {
    rmSync(removalLock, { force: true });
  }
}
