import { createHash } from 'node:crypto';
import { accessSync, constants, readdirSync, readFileSync } from 'node:fs';
import { setTimeout as delay } from 'node:timers/promises';

/** The environment variable that identifies a command's processes after they left their process group. */
export const commandMarker = 'OUTRIGGER_COMMAND';

export const prlimit = '/usr/bin/prlimit';
/** How long one attempt to end processes may take, in milliseconds as `maxCountedMs` counts them. */
const endDeadlineMs = 2_000;
/** Scans that must find nothing, one after the other, before an attempt succeeds. */
const emptyScans = 2;
/**
 * Time without a marked process after which ended processes that were not examined count as those of other programs, in
 * milliseconds as `maxCountedMs` counts them.
 */
const unseenMs = 500;
/**
 * How much of the time since the previous scan counts. The system may not have run this process for seconds, while other
 * processes started more. So an attempt that fails has at least 100 scans.
 */
const maxCountedMs = 20;
/** How long scans may block this process. */
const burstMs = 20;

/** Marks are above any real-time limit in use, and do not overflow. */
export const lowestMark = 1n << 61n;

/**
 * Converts a mark to a resource limit. Every descendant inherits limits, also with another session, environment or
 * parent, so limits mark processes that nothing else marks. This limit affects only real-time tasks, after thousands of
 * years.
 */
export function limitOf(mark: string): string {
  return (lowestMark + (createHash('sha256').update(mark).digest().readBigUInt64BE() >> 4n)).toString();
}

/** Whether programs can be started with such a limit: util-linux is installed, and no lower limit is set. */
export const canMarkByLimit = (() => {
  if (process.platform !== 'linux') return false;
  try {
    accessSync(prlimit, constants.X_OK);
    return /^Max realtime timeout\s+unlimited\s+unlimited\s/m.test(readFileSync('/proc/self/limits', 'utf8'));
  } catch {
    return false;
  }
})();

/**
 * Finds the processes that have one of some marks, on Linux. After the first scan, a scan examines only processes that
 * are new, so that it finds processes that live for a millisecond.
 */
export class MarkedProcesses {
  readonly #marks: Set<string>;
  readonly #limits: Set<string>;
  /** Running processes without the marks. */
  #others = new Set<number>();

  constructor(marks: Iterable<string>) {
    this.#marks = new Set(marks);
    this.#limits = new Set(canMarkByLimit ? [...this.#marks].map(limitOf) : []);
  }

  /**
   * Returns the running processes with a mark.
   * @returns `isComplete`: false if a new process ended before it was examined.
   * @throws the error of the file system when processes cannot be examined, such as without a free file handle.
   */
  scan(): { found: number[]; isComplete: boolean } {
    if (process.platform !== 'linux') return { found: [], isComplete: true };
    const others = new Set<number>();
    const found: number[] = [];
    let isComplete = true;
    // A new process usually has the highest ID, and may end soon.
    for (const pid of readdirSync('/proc').map(Number).toReversed()) {
      if (!Number.isInteger(pid) || pid === process.pid) continue;
      const isMarked = this.#others.has(pid) ? false : this.#isMarked(pid);
      if (isMarked === true) {
        found.push(pid);
        continue;
      }
      // The parent of an ended process may never remove it, so the next scan ignores it.
      if (isMarked === null) isComplete = false;
      others.add(pid);
    }
    this.#others = others;
    return { found, isComplete };
  }

  /** Whether a process has a mark. Null when it ended, at most once for each process: it may have left a child. */
  #isMarked(pid: number): boolean | null {
    const limits = /^Max realtime timeout\s+(\w+)\s+(\w+)\s/m.exec(examine(`/proc/${pid}/limits`)) ?? [];
    const isMarked =
      limits.some((limit) => this.#limits.has(limit)) || this.#hasVariable(examine(`/proc/${pid}/environ`));
    // The name of the program, in parentheses, can contain any character.
    const fields = examine(`/proc/${pid}/stat`)
      .replace(/^.*\) /s, '')
      .split(' ');
    const [state = ''] = fields;
    const threads = Number(fields[17] ?? 0);
    // A process whose first thread has ended looks like a zombie.
    return state === '' || state === 'X' || (state === 'Z' && threads <= 1) ? null : isMarked;
  }

  #hasVariable(environment: string): boolean {
    return environment
      .split('\0')
      .some((entry) => entry.startsWith(`${commandMarker}=`) && this.#marks.has(entry.slice(commandMarker.length + 1)));
  }
}

/**
 * Ends all processes with one of some marks, on Linux. Stops them first, so that they cannot start more processes
 * meanwhile.
 * @returns whether none is left. False when they start others faster than they are found, or cannot be found.
 */
export async function endMarked(marks: Iterable<string>): Promise<boolean> {
  const processes = new MarkedProcesses(marks);
  const stopped = new Set<number>();
  let scannedAt = performance.now();
  let elapsedMs = 0;
  /** When a marked process was seen, or could have been missed because a scan failed. In `elapsedMs`. */
  let seenAtMs = Number.NEGATIVE_INFINITY;
  let burstEnd = scannedAt + burstMs;
  for (let empty = 0; empty < emptyScans;) {
    const scanned = unlessFailed(() => processes.scan());
    const { found, isComplete } = scanned ?? { found: [], isComplete: false };
    const now = performance.now();
    elapsedMs += Math.min(now - scannedAt, maxCountedMs);
    scannedAt = now;
    if (scanned === undefined || found.length > 0) seenAtMs = elapsedMs;
    empty = found.length === 0 && isComplete ? empty + 1 : 0;
    const running = found.filter((pid) => !stopped.has(pid));
    for (const pid of running) {
      signalProcess(pid, 'SIGSTOP');
      stopped.add(pid);
    }
    const isLate = elapsedMs > endDeadlineMs;
    if (running.length === 0 || isLate) for (const pid of found) signalProcess(pid, 'SIGKILL');
    if (isLate) return elapsedMs - seenAtMs > unseenMs;
    if (now > burstEnd) {
      await delay(1);
      burstEnd = performance.now() + burstMs;
    }
  }
  return true;
}

/** Errors of a system without the means to read a file. They say nothing about the process. */
const shortages = new Set(['EMFILE', 'ENFILE', 'ENOMEM']);

/** The text of a file of a process. It is empty after the process ended. @throws the error of a shortage. */
function examine(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    if (shortages.has((error as NodeJS.ErrnoException).code ?? '')) throw error;
    return '';
  }
}

/** The text of a file of a process. It is empty after the process ended, and when it cannot be read. */
export const read = (path: string): string => unlessFailed(() => readFileSync(path, 'utf8')) ?? '';

function unlessFailed<Result>(action: () => Result): Result | undefined {
  try {
    return action();
  } catch {
    return undefined;
  }
}

/** Signals the processes with a mark, as far as they can be found now. */
export function signalMarked(mark: string, signal: NodeJS.Signals): void {
  const { found = [] } = unlessFailed(() => new MarkedProcesses([mark]).scan()) ?? {};
  for (const pid of found) signalProcess(pid, signal);
}

export function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
