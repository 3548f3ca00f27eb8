import { setTimeout as sleep } from 'node:timers/promises';
import { DatabaseOutage } from './errors.ts';

const firstPauseMs = 200;
const longestPauseMs = 5_000;

/**
 * Does something with the database; while that is out of reach, too busy or full, again and again, each time a little later.
 * @param onOutage told of each try that failed.
 * @throws the reason of `signal` once it is aborted between two tries; at once, whatever is no outage.
 */
export async function retryOnOutage<Result>(
  signal: AbortSignal,
  work: () => Promise<Result>,
  onOutage?: (error: DatabaseOutage) => void,
): Promise<Result> {
  for (let tries = 1; ; tries += 1) {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof DatabaseOutage)) throw error;
      onOutage?.(error);
      await sleep(Math.min(firstPauseMs * 2 ** (tries - 1), longestPauseMs) * (0.5 + Math.random() / 2), undefined, {
        signal,
      }).catch(() => undefined);
      signal.throwIfAborted();
    }
  }
}
