import { LRUCache } from 'lru-cache';
import type { RateLimiter } from '../../rate-limiter/rate-limiter.ts';
import { rateLimitError } from './address-limits.ts';

/** Counts a request of a device. @throws AppError `rate_limited`. */
export type DeviceLimiter = (nodeId: string) => Promise<void>;

/**
 * The share of the limit that each process does not count. A quiet device stays below it, so that thousands of quiet
 * devices do not access the store of the rate limiter.
 */
const uncountedShare = 1 / 50;
const windowSeconds = 60;
const maxDevices = 20_000;

/** Limits requests by device, across all hub processes. */
export function createDeviceLimiter(rateLimiter: RateLimiter, perMinute: number): DeviceLimiter {
  const recent = new LRUCache<string, { window: number; count: number }>({ max: maxDevices });
  const uncounted = Math.ceil(perMinute * uncountedShare);
  return async (nodeId) => {
    const window = Math.floor(performance.now() / (windowSeconds * 1000));
    const known = recent.get(nodeId);
    const count = (known?.window === window ? known.count : 0) + 1;
    recent.set(nodeId, { window, count });
    if (count <= uncounted) return;
    const state = await rateLimiter.take(`device:${nodeId}`, { limit: perMinute, windowSeconds });
    if (!state.allowed) throw rateLimitError(state, 'this device');
  };
}
