import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/**
 * Kills a process when the input of the script ends without the line that releases it. The start time of the process
 * protects other processes that reuse its pid.
 */
const script = `read -r word && exit 0
started=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20)
[ "$started" = "$2" ] && kill -KILL "$1"
exit 0`;

/** Start time of a process in clock ticks since boot. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/**
 * Kills a process when this process ends for any reason, even if the other process is stopped. Dispose the result to
 * release the process. Works on Linux only; does nothing on other systems.
 */
export function killWithParent(pid: number): Disposable {
  const started = process.platform === 'linux' ? startOf(pid) : null;
  if (started === null) return { [Symbol.dispose]: () => undefined };
  // Detached, because a signal to the process group of the app must not kill the watcher.
  const watcher = spawn('/bin/sh', ['-c', script, 'sh', String(pid), started], {
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
    cwd: '/',
    env: { PATH: '/usr/bin:/bin' },
  });
  watcher.on('error', () => undefined);
  watcher.stdin?.on('error', () => undefined);
  watcher.unref();
  return {
    [Symbol.dispose]: () => {
      watcher.stdin?.end('leave\n');
    },
  };
}
