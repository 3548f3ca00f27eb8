/** How long to wait before what ended by itself is started again. */
export interface RestartDelays {
  firstMs: number;
  longestMs: number;
  /** Whatever lived so long begins anew with the first delay. */
  calmMs: number;
}

export const restartDelays: RestartDelays = { firstMs: 1_000, longestMs: 60_000, calmMs: 5 * 60_000 };

/** The delay after an end: twice the one before, up to the longest; the first one again after a calm time. */
export function nextDelay(previousMs: number | null, aliveMs: number, delays: RestartDelays = restartDelays): number {
  if (previousMs === null || aliveMs >= delays.calmMs) return delays.firstMs;
  return Math.min(Math.max(previousMs, delays.firstMs) * 2, delays.longestMs);
}
