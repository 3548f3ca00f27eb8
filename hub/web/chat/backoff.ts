const firstMs = 500;
const maxMs = 30_000;

/**
 * Delay before the next attempt, in milliseconds. It doubles with each attempt up to 30 seconds, and is randomized so
 * that clients that lost a connection together do not reconnect together.
 */
export const backoffMs = (attempt: number, random: () => number = Math.random): number =>
  Math.min(maxMs, firstMs * 2 ** Math.min(attempt, 10)) * (0.5 + random() / 2);
