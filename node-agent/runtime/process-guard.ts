import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';

/** The variable by which a process that left its group is still found. */
export const commandMarker = 'OUTRIGGER_COMMAND';

/**
 * Reads `add GROUP MARK` and `del GROUP MARK` lines; when its input ends, which the kernel sees to whatever becomes of the
 * companion, it kills the groups that are left and, where /proc shows environments, whoever left them.
 */
const guardScript = `live=""
while read -r op group mark; do
  case $op in
    add) live="$live $group:$mark" ;;
    del) rest=""; for entry in $live; do [ "$entry" = "$group:$mark" ] || rest="$rest $entry"; done; live=$rest ;;
  esac
done
for entry in $live; do
  kill -KILL -- "-\${entry%%:*}" 2>/dev/null
  for process in /proc/[0-9]*; do
    grep -qs "${commandMarker}=\${entry##*:}" "$process/environ" && kill -KILL "\${process##*/}" 2>/dev/null
  done
done
exit 0`;

const graceMs = 2_000;

/**
 * Owns the process groups that commands start: none outlives its command, nor the companion, even after kill -9. A process that leaves its
 * group is found by the mark in its environment, on Linux; one that leaves its group and drops its environment is not.
 */
export class ProcessGuard implements AsyncDisposable {
  #guard: ChildProcess | undefined;

  /** Takes the group of a child that was started `detached` with `commandMarker` in its environment. */
  adopt(child: ChildProcess, mark: string): AsyncDisposable {
    const { pid } = child;
    if (pid === undefined) return { [Symbol.asyncDispose]: async () => undefined };
    this.#tell(`add ${pid} ${mark}`);
    return {
      [Symbol.asyncDispose]: async () => {
        killTree(pid, mark, 'SIGKILL');
        this.#tell(`del ${pid} ${mark}`);
      },
    };
  }

  /** Asks a group to end, and makes it when it does not within two seconds. */
  async end(child: ChildProcess, mark: string): Promise<void> {
    const { pid } = child;
    if (pid === undefined) return;
    killTree(pid, mark, 'SIGTERM');
    const ended = Promise.withResolvers<void>();
    const timer = setTimeout(ended.resolve, graceMs);
    child.once('exit', () => ended.resolve());
    if (child.exitCode === null && child.signalCode === null) await ended.promise;
    clearTimeout(timer);
    killTree(pid, mark, 'SIGKILL');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#guard?.stdin?.end();
    this.#guard = undefined;
  }

  #tell(line: string): void {
    if (process.platform === 'win32') return;
    if (this.#guard === undefined || this.#guard.exitCode !== null) {
      // Its own session: what ends the companion's group must not end the guard with it.
      this.#guard = spawn('sh', ['-c', guardScript], { stdio: ['pipe', 'ignore', 'ignore'], detached: true, cwd: '/', env: { PATH: '/usr/bin:/bin' } });
      this.#guard.stdin?.on('error', () => undefined);
      this.#guard.on('error', () => undefined);
      this.#guard.unref();
    }
    this.#guard.stdin?.write(`${line}\n`);
  }
}

/** Signals a process group and, on Linux, the processes that carry the mark and left the group. */
function killTree(group: number, mark: string, signal: NodeJS.Signals): void {
  if (process.platform === 'win32') {
    spawn('taskkill', ['/pid', String(group), '/t', '/f'], { stdio: 'ignore' }).on('error', () => undefined);
    return;
  }
  tryKill(-group, signal);
  if (process.platform !== 'linux') return;
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (Number.isInteger(pid) && pid !== process.pid && environmentOf(pid).includes(`${commandMarker}=${mark}`)) tryKill(pid, signal);
  }
}

function environmentOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/environ`, 'utf8');
  } catch {
    return '';
  }
}

function tryKill(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch {
    // It has ended.
  }
}
