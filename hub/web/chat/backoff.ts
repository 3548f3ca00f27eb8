const firstMs = 500;
const maxMs = 30_000;

/** How long to wait before a further attempt: twice as long each time up to half a minute, and spread, so that many who were cut off do not come at once. */
export const backoffMs = (attempt: number, random: () => number = Math.random): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 10)) * (0.5 + random() / 2);
