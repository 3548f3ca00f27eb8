import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Ends a process when its own input ends before it is told to leave it; the moment of its start tells it from another of the same number. */
const script = `read -r word && exit 0
started=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20)
[ "$started" = "$2" ] && kill -KILL "$1"
exit 0`;

/** When a process started, in ticks since the system did. */
function startOf(pid: number): string | null {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'utf8');
    return stat.slice(stat.lastIndexOf(')') + 2).split(' ')[19] ?? null;
  } catch {
    return null;
  }
}

/**
 * Sees to it that a process does not outlive this one, however this one ends, also where the other is frozen and hears nothing. On Linux; elsewhere it does
 * nothing.
 */
export function killWithParent(pid: number): Disposable {
  const started = process.platform === 'linux' ? startOf(pid) : null;
  if (started === null) return { [Symbol.dispose]: () => undefined };
  // Its own session: what ends the group of the app must not end it.
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
