const firstMs = 5_000;
const longestMs = 600_000;

/** How long to wait after so many failures in a row, in milliseconds: 5 s, twice as long each time up to 10 min, each a tenth more or less, so that many who failed at once do not come back at once. */
export function backOffMs(failures: number, random: () => number = Math.random): number {
  const baseMs = Math.min(longestMs, firstMs * 2 ** Math.min(20, Math.max(0, failures - 1)));
  return Math.min(longestMs, baseMs * (0.9 + 0.2 * random()));
}

/** When a registration is renewed: a minute before its end, or half of it where it is short. */
export const renewalMs = (expiresSeconds: number): number =>
  1000 * Math.max(5, expiresSeconds > 120 ? expiresSeconds - 60 : expiresSeconds / 2);
