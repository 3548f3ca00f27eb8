import { spawn } from 'node:child_process';
import { setTimeout as delay } from 'node:timers/promises';

const pollIntervalMs = 200;

/**
 * Starts a program that is to outlive this one, and answers whether it came up in time. One that ended before, or did not come up, is ended with all that it
 * started in its own process group.
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
  // It may have come up between two looks, and handed on to another process.
  if (isUp()) {
    child.unref();
    return true;
  }
  if (child.pid !== undefined)
    try {
      process.kill(-child.pid, 'SIGKILL');
    } catch {
      // All of it has ended.
    }
  return false;
}
