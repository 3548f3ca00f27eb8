import { HubError } from './hub-error.ts';

/** Longest pause between two attempts when the hub sends no Retry-After, in milliseconds. */
const maxBackoffMs = 30_000;
const firstBackoffMs = 250;
const growth = 1.6;
/** Longest Retry-After that is honoured, in milliseconds. */
const maxRetryAfterMs = 300_000;

/**
 * Milliseconds to wait after `failures` failed attempts in a row: full jitter over a growing bound, so that the devices
 * of a hub do not reconnect at the same time. With a Retry-After, the jitter is added to the requested time.
 */
export function backoffMs(error: unknown, failures: number, random: () => number = Math.random): number {
  const bound = Math.min(maxBackoffMs, firstBackoffMs * growth ** failures);
  const requestedSeconds = error instanceof HubError ? error.retryAfterSeconds : undefined;
  if (requestedSeconds === undefined) return random() * bound;
  const requestedMs = Math.min(requestedSeconds * 1000, maxRetryAfterMs);
  return requestedMs + random() * Math.max(requestedMs, bound);
}

/** A period with jitter, so that devices that started together do not send at the same time. */
export function spreadPeriod(period: number, random: () => number = Math.random): number {
  return period * (1 - random() * 0.2);
}
