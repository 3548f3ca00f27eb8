import { createHash, randomUUID } from 'node:crypto';
import { closeSync, fstatSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

const waitMs = 2_000;
const pollIntervalMs = 5;
/** A lock without a process number that is older than this was left by a process that ended before it wrote the number. */
const graceMs = 1_000;
/** A lock whose age differs more than this from 0 is stale, whatever process has its number now: its holder writes one file only. The time can lie in the future after the clock was turned back. */
const maxHoldMs = 10_000;

/** What stands in a lock, and what tells this lock from a later one of the same path. */
interface LockHolder {
  text: string;
  pid: number;
  ageMs: number;
  stamp: string;
}

/**
 * Holds a lock among processes until it is disposed, at once where nobody has it; that of a process that is gone counts for nothing.
 * @returns null where another process held it all the time that it was waited for. @throws the error of a file system that takes no lock.
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

/** False where there is one already. */
function tryCreate(path: string, text: string): boolean {
  let handle: number;
  try {
    handle = openSync(path, 'wx', 0o600);
  } catch (error) {
    const { code = '' } = error as NodeJS.ErrnoException;
    // Windows says the latter two of a file that is being removed.
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
    handle = openSync(path, 'r');
    const { ino, mtimeMs } = fstatSync(handle);
    const text = readFileSync(handle, 'utf8');
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

/** Of several that find the same dead one's lock, one alone removes it, and answers true: the others would remove the lock of whoever came next. */
function removeStaleLock(path: string, { stamp }: LockHolder): boolean {
  const removalLock = `${path}.${createHash('sha256').update(stamp).digest('hex').slice(0, 16)}`;
  if (!tryCreate(removalLock, '')) {
    // Its own was left in the middle of this.
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
