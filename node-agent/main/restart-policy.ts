/** Delays before a process that ended by itself is restarted. */
export interface RestartDelays {
  firstMs: number;
  longestMs: number;
  /** A process that lived this long is restarted after the first delay. */
  calmMs: number;
}

export const restartDelays: RestartDelays = { firstMs: 1_000, longestMs: 60_000, calmMs: 5 * 60_000 };

/** The next delay: twice the previous one, up to the longest. After a long life, the first delay. */
export function nextDelay(previousMs: number | null, aliveMs: number, delays: RestartDelays = restartDelays): number {
  if (previousMs === null || aliveMs >= delays.calmMs) return delays.firstMs;
  return Math.min(Math.max(previousMs, delays.firstMs) * 2, delays.longestMs);
}
