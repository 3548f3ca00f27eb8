import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

const pollIntervalMs = 200;

/**
 * Starts a program that outlives this process. Resolves to whether it started in time. Otherwise, the program and its
 * process group are killed.
 */
export async function startAndWatch(
  program: string,
  args: readonly string[],
  isUp: () => boolean,
  deadlineMs: number,
): Promise<boolean> {
  const child = spawn(program, args, { detached: true, stdio: 'ignore' });
  let hasEnded = false;
  child.once('error', () => {
    hasEnded = true;
  });
  child.once('exit', () => {
    hasEnded = true;
  });
  const until = performance.now() + deadlineMs;
  while (!isUp() && !hasEnded && performance.now() < until) await delay(pollIntervalMs);
  // The program may have come up between two checks and passed control to another process.
  if (isUp()) {
    child.unref();
    return true;
  }
  if (child.pid !== undefined)
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All processes of the group have ended.
    }
  return false;
}
