import { HubError } from './hub-error.ts';

/** Longest pause between two attempts that nobody asked for, in milliseconds. */
const maxBackoffMs = 30_000;
const firstBackoffMs = 250;
const growth = 1.6;
/** Longest time that a hub, or a proxy before it, can ask to be left alone, in milliseconds. */
const maxRetryAfterMs = 300_000;

/**
 * How long to wait after so many failed attempts in a row, in milliseconds: full jitter over a bound that grows, so that all
 * devices of a hub come back spread out. Where the other side named a time, not before it, and spread out after it.
 */
export function backoffMs(error: unknown, failures: number, random: () => number = Math.random): number {
  const bound = Math.min(maxBackoffMs, firstBackoffMs * growth ** failures);
  const requestedSeconds = error instanceof HubError ? error.retryAfterSeconds : undefined;
  if (requestedSeconds === undefined) return random() * bound;
  const requestedMs = Math.min(requestedSeconds * 1000, maxRetryAfterMs);
  return requestedMs + random() * Math.max(requestedMs, bound);
}

/** A period that differs a little each time, so that devices that began together do not stay together. */
export function spreadPeriod(period: number, random: () => number = Math.random): number {
  return period * (1 - random() * 0.2);
}
