import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { processStart } from '../process/process-identity.ts';

/** Waits until a server of an earlier hub stops by itself, and stops it when it does not. */
export async function stopOrphanedServer(data: string, onNotice: (message: string) => void): Promise<void> {
  const pidFile = join(data, 'postmaster.pid');
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, 'utf8').split('\n')[0]);
  const isServer = () => processStart(pid) !== null && /postgres/.test(commandOf(pid));
  if (!Number.isInteger(pid) || pid <= 1 || !isServer()) return;
  onNotice('Waiting for the database of an earlier hub to stop');
  for (const [index, signal] of [undefined, 'SIGINT', 'SIGQUIT', 'SIGKILL'].entries()) {
    if (signal !== undefined) process.kill(pid, signal as NodeJS.Signals);
    const deadline = performance.now() + (index === 0 ? 3_000 : 10_000);
    while (isServer()) {
      if (performance.now() > deadline) break;
      await delay(50);
    }
    if (!isServer()) return;
  }
}

function commandOf(pid: number): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    // Other systems have no /proc. There the pid file of PostgreSQL is trusted.
    return process.platform === 'linux' ? '' : 'postgres';
  }
}
