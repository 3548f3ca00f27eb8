const firstMs = 5_000;
const longestMs = 600_000;

/**
 * Delay after a number of consecutive failures, in milliseconds: 5 s, doubled up to 10 min.
 * Jitter of ±10 % spreads trunks that failed together.
 */
export function backOffMs(failures: number, random: () => number = Math.random): number {
  const baseMs = Math.min(longestMs, firstMs * 2 ** Math.min(20, Math.max(0, failures - 1)));
  return Math.min(longestMs, baseMs * (0.9 + 0.2 * random()));
}

/** Delay until a registration is renewed: one minute before its end, or half its lifetime if that is at most 2 min. */
export const renewalMs = (expiresSeconds: number): number =>
  1000 * Math.max(5, expiresSeconds > 120 ? expiresSeconds - 60 : expiresSeconds / 2);
