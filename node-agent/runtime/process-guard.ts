import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { background } from './background.ts';
import {
  canMarkByLimit,
  commandMarker,
  endMarked,
  limitOf,
  lowestMark,
  prlimit,
  read,
  signalMarked,
  signalProcess,
} from './marked-processes.ts';

/**
 * Kills the processes of running programs after the companion ended for any reason, which closes this script's input. It
 * starts with the entries in the variable ENTRIES, so that it knows them even if the companion ends now, and reads lines
 * `add GROUP MARK LIMIT` and `del GROUP MARK LIMIT`; GROUP is `-` while it is not known. It kills the groups and, where
 * /proc shows environments and limits, the processes that left the groups.
 */
const guardScript = `live=$ENTRIES
while read -r op group mark limit; do
  case $op in
    add) live="$live $group:$mark:$limit" ;;
    del) rest=""; for entry in $live; do [ "$entry" = "$group:$mark:$limit" ] || rest="$rest $entry"; done; live=$rest ;;
  esac
done
for entry in $live; do
  kill -KILL -- "-\${entry%%:*}" 2>/dev/null
  marks=\${entry#*:}
  set -- "$@" -e "${commandMarker}=\${marks%%:*}" -e " \${marks##*:} "
done
[ $# -gt 0 ] || exit 0
# A process that forks during one scan is found by the next scan.
for look in 1 2 3; do
  for file in $(grep -lsF "$@" /proc/[0-9]*/environ /proc/[0-9]*/limits); do
    process=\${file#/proc/}
    kill -KILL "\${process%%/*}" 2>/dev/null
  done
done
exit 0`;

/** How long a program may take to end by itself, in milliseconds. It is shorter when the owner paused. */
const graceMs = { asked: 2_000, paused: 300 };
/** Interval at which a stopped guard is replaced, and processes that were not ended are searched again. */
const checkIntervalMs = 1_000;

/**
 * How to start a program so that all its descendants can be found, also those that leave its group and environment.
 * @param program Its resolved path. `argv[0]` is the name under which it is called.
 */
export function markedStart(
  program: string,
  argv: readonly [string, ...string[]],
  mark: string,
): { file: string; args: string[]; argv0: string } {
  const [argv0, ...args] = argv;
  if (!canMarkByLimit) return { file: program, args, argv0 };
  const limit = limitOf(mark);
  // prlimit replaces itself by the program, which it finds by name on the same PATH. A name that resolves to another
  // program there was refused before.
  return { file: prlimit, args: [`--rttime=${limit}:${limit}`, '--', argv0, ...args], argv0: prlimit };
}

const entryFor = (group: number | '-', mark: string) => `${group} ${mark} ${limitOf(mark)}`;

/**
 * Owns the process groups that commands start: none outlives its command or the companion, also after `kill -9`. On
 * Linux a process that leaves its group is found by the mark in its environment or by its limit. A process that sets
 * another limit on purpose is not found; nor, on other systems, one that leaves its group. Processes that end the guard
 * together with the companion run on until `endLeft` of the next start.
 */
export class ProcessGuard implements AsyncDisposable {
  #guard: ChildProcess | undefined;
  /** The limits with which the guard started, as Linux shows them. */
  #guardLimits = '';
  /** The entries of programs that may still run. */
  readonly #entries = new Set<string>();
  /** Marks of processes that could not be ended yet. */
  readonly #left = new Set<readonly string[]>();
  readonly #onLeft: (mark: string | null) => void;
  #timer: NodeJS.Timeout | undefined;

  /**
   * @param onLeft Called when processes of a command could not be ended. The command is null if an earlier companion
   *   started it.
   */
  constructor(onLeft: (mark: string | null) => void = () => undefined) {
    this.#onLeft = onLeft;
  }

  /**
   * Starts a program and guards its group until the returned object is disposed.
   * @param start Starts the program `detached`, with `mark` as `commandMarker` in its environment.
   */
  start<Child extends ChildProcess>(mark: string, start: () => Child): AsyncDisposable & { child: Child } {
    const entryOf = (group: number | '-') => entryFor(group, mark);
    // The companion may be killed before it knows the group.
    this.#add(entryOf('-'));
    let child: Child;
    try {
      child = start();
    } catch (error) {
      this.#remove(entryOf('-'));
      throw error;
    }
    const { pid } = child;
    if (pid !== undefined) this.#add(entryOf(pid));
    return {
      child,
      [Symbol.asyncDispose]: async () => {
        if (pid !== undefined) {
          const isEnded = await killTree(pid, mark);
          this.#remove(entryOf(pid));
          // The other entry stays, so that the guard searches them again after the end of the companion.
          if (!isEnded) {
            this.#noteLeft([mark], mark);
            return;
          }
        }
        this.#remove(entryOf('-'));
      },
    };
  }

  /** Terminates a group, and kills it when it does not end within the grace time. */
  async end(child: ChildProcess, mark: string, why: keyof typeof graceMs = 'asked'): Promise<void> {
    const { pid } = child;
    if (pid === undefined) return;
    signalTree(pid, mark, 'SIGTERM');
    const ended = Promise.withResolvers<void>();
    const timer = setTimeout(ended.resolve, graceMs[why]);
    child.once('exit', () => ended.resolve());
    if (child.exitCode === null && child.signalCode === null) await ended.promise;
    clearTimeout(timer);
    await killTree(pid, mark);
  }

  /** Ends what earlier companions left running of these commands. */
  async endLeft(marks: Iterable<string>): Promise<void> {
    const known = [...marks];
    if (!(await endMarked(known))) this.#noteLeft(known, null);
  }

  #noteLeft(marks: readonly string[], mark: string | null): void {
    this.#left.add(marks);
    this.#watch();
    this.#onLeft(mark);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#guard?.stdin?.end();
    this.#guard = undefined;
  }

  #add(entry: string): void {
    if (process.platform === 'win32') return;
    this.#entries.add(entry);
    this.#watch();
    if (!this.#isGuardRunning) this.#startGuard();
    else this.#guard?.stdin?.write(`add ${entry}\n`);
  }

  #remove(entry: string): void {
    if (this.#entries.delete(entry) && this.#isGuardRunning) this.#guard?.stdin?.write(`del ${entry}\n`);
  }

  /** Replaces a guard that cannot work, and ends processes that were left, while there are any. */
  #watch(): void {
    this.#timer ??= setInterval(() => {
      if (this.#entries.size + this.#left.size === 0) {
        clearInterval(this.#timer);
        this.#timer = undefined;
        return;
      }
      // A program can stop the guard, or take its file handles, before it kills the companion. A killed guard is replaced.
      if (this.#isGuardRunning && this.#isGuardUnable) this.#guard?.kill('SIGKILL');
      for (const marks of this.#left) background(this.#endAgain(marks), 'end of processes');
    }, checkIntervalMs).unref();
  }

  async #endAgain(marks: readonly string[]): Promise<void> {
    this.#left.delete(marks);
    if (!(await endMarked(marks))) this.#left.add(marks);
    else for (const mark of marks) this.#remove(entryFor('-', mark));
  }

  get #isGuardRunning(): boolean {
    const { pid, exitCode = null, signalCode = null } = this.#guard ?? {};
    return pid !== undefined && exitCode === null && signalCode === null;
  }

  /** Whether the guard is stopped, or has other limits than at its start. */
  get #isGuardUnable(): boolean {
    const folder = `/proc/${this.#guard?.pid}`;
    const limits = read(`${folder}/limits`);
    return (
      / [Tt] /.test(read(`${folder}/stat`).replace(/^.*\)/, '')) || (limits !== '' && limits !== this.#guardLimits)
    );
  }

  /** Starts a guard with all entries. A system without free memory or processes may refuse it. */
  #startGuard(): void {
    let guard: ChildProcess;
    const entries = [...this.#entries].map((entry) => entry.replaceAll(' ', ':')).join(' ');
    try {
      // The guard has its own session, so that a signal to the companion's group does not end it.
      guard = spawn('sh', ['-c', guardScript], {
        stdio: ['pipe', 'ignore', 'ignore'],
        detached: true,
        cwd: '/',
        env: { PATH: '/usr/bin:/bin', ENTRIES: entries },
      });
    } catch {
      // The next program starts it.
      return;
    }
    this.#guard = guard;
    this.#guardLimits = read(`/proc/${guard.pid}/limits`);
    guard.stdin?.on('error', () => undefined);
    guard.on('error', () => undefined);
    guard.once('exit', (_code, signal) => {
      // A guard that ends without a signal could end again and again. The next program replaces it.
      if (signal !== null && this.#guard === guard && this.#entries.size > 0) this.#startGuard();
    });
    guard.unref();
  }
}

/** Signals a process group and, on Linux, processes with the mark or its limit that left the group. */
function signalTree(group: number, mark: string, signal: NodeJS.Signals): void {
  if (process.platform === 'win32') {
    spawn('taskkill', ['/pid', String(group), '/t', '/f'], { stdio: 'ignore' }).on('error', () => undefined);
    return;
  }
  signalProcess(-group, signal);
  signalMarked(mark, signal);
}

/** Kills a process group and, on Linux, processes that left the group. @returns whether none is left. */
async function killTree(group: number, mark: string): Promise<boolean> {
  if (process.platform !== 'linux') {
    signalTree(group, mark, 'SIGKILL');
    return true;
  }
  signalProcess(-group, 'SIGKILL');
  return endMarked([mark]);
}

/**
 * Whether a command of a companion started a process, as far as Linux shows it: by the limit, which an unprivileged
 * process can lower but not remove, by the variable, or by those of its ancestors. True also for a process that ended
 * before it was examined: its end may be timed to hide its marks.
 */
export function isStartedByCommand(pid: number): boolean {
  if (process.platform !== 'linux') return pid === process.pid && process.env[commandMarker] !== undefined;
  for (let ancestor = pid; ancestor > 1;) {
    const status = read(`/proc/${ancestor}/status`);
    const limits = read(`/proc/${ancestor}/limits`);
    // Ancestors may belong to another user, whose processes some systems hide.
    if (status === '' || limits === '') return ancestor === pid;
    if (
      read(`/proc/${ancestor}/environ`)
        .split('\0')
        .some((entry) => entry.startsWith(`${commandMarker}=`))
    )
      return true;
    if (isMarkedByLimit(limits)) return true;
    ancestor = Number(/^PPid:\s+(\d+)$/m.exec(status)?.[1] ?? 0);
  }
  return false;
}

/** @param limits The text of `/proc/PID/limits`. */
function isMarkedByLimit(limits: string): boolean {
  const [, soft = '', hard = ''] = /^Max realtime timeout\s+(unlimited|\d+)\s+(unlimited|\d+)\s/m.exec(limits) ?? [];
  if (hard === '') return false;
  if (soft === 'unlimited' && hard === 'unlimited') return false;
  // This process may have a limit because a command started it, or because the system sets one for all processes. Only
  // marks are this high.
  return canMarkByLimit || (hard !== 'unlimited' && BigInt(hard) >= lowestMark);
}
