import { LRUCache } from 'lru-cache';
import type { RateLimit, RateLimiter, RateLimitState } from './rate-limiter.ts';
import type { SharedCounts } from './shared-counts.ts';

/** Maximum share of a limit that a process leases. */
const maxLeaseShare = 1 / 20;
/** Maximum requests that a process leases. */
const maxLeaseSize = 100;
const maxKeys = 20_000;

/** Requests of a key in a window that this process may allow without accessing the store. */
interface Lease {
  /** End of the window, by the clock of `performance`. */
  endsAt: number;
  resetAt: Date;
  /** The shared count when this process last accessed the store. */
  count: number;
  /** Leased requests that are not used yet. The shared count includes them. */
  left: number;
  limit: number;
  /** Size of the lease. The next lease is twice as large. */
  size: number;
}

interface Refill {
  waiting: ((state: RateLimitState | Error) => void)[];
}

/**
 * Leases small shares of a limit, so that most requests do not access the shared store. All processes together never
 * allow more than the limit; they may allow fewer, by the unused leases of other processes. A key that exceeds its
 * limit is refused without accessing the store until its window ends.
 */
export class LeasingRateLimiter implements RateLimiter {
  readonly #counts: SharedCounts;
  readonly #leases = new LRUCache<string, Lease>({ max: maxKeys });
  readonly #refills = new Map<string, Refill>();
  readonly #now: () => number;

  constructor(counts: SharedCounts, now: () => number = () => performance.now()) {
    this.#counts = counts;
    this.#now = now;
  }

  take(key: string, limit: RateLimit): Promise<RateLimitState> {
    const refill = this.#refills.get(key);
    const lease = refill === undefined ? this.#current(key) : undefined;
    if (lease !== undefined && lease.left > 0) {
      return Promise.resolve(this.#use(lease, limit));
    }
    // `exceeded` is null for the reduced limit of an unavailable store, because the store may be available again.
    const exceeded = refill === undefined ? this.exceeded(key, limit) : null;
    if (exceeded !== null) return Promise.resolve(exceeded);
    return new Promise((done, fail) => {
      const settle = (state: RateLimitState | Error) => (state instanceof Error ? fail(state) : done(state));
      if (refill !== undefined) {
        refill.waiting.push(settle);
        return;
      }
      const started: Refill = { waiting: [settle] };
      this.#refills.set(key, started);
      this.#refill(key, limit, started).catch((error: unknown) => {
        for (const pending of started.waiting.splice(0)) pending(error as Error);
      });
    });
  }

  async peek(key: string, limit: RateLimit): Promise<RateLimitState> {
    const { count, limit: allowed, resetAt } = await this.#counts.add(key, limit, 0);
    const used = count - (this.#current(key)?.left ?? 0);
    return { allowed: used < allowed, limit: limit.limit, remaining: Math.max(0, allowed - used), resetAt };
  }

  exceeded(key: string, limit: RateLimit): RateLimitState | null {
    const lease = this.#current(key);
    return lease !== undefined && lease.left === 0 && lease.count >= limit.limit
      ? stateOf(lease, lease.count + 1, limit)
      : null;
  }

  prune(): Promise<void> {
    return this.#counts.prune();
  }

  [Symbol.asyncDispose](): PromiseLike<void> {
    return this.#counts[Symbol.asyncDispose]();
  }

  #current(key: string): Lease | undefined {
    const lease = this.#leases.get(key);
    return lease !== undefined && this.#now() < lease.endsAt ? lease : undefined;
  }

  #use(lease: Lease, limit: RateLimit): RateLimitState {
    lease.left -= 1;
    return stateOf(lease, lease.count - lease.left, limit);
  }

  /** Leases until no request waits, with one access to the store at a time. */
  async #refill(key: string, limit: RateLimit, refill: Refill): Promise<void> {
    const largest = Math.max(1, Math.min(maxLeaseSize, Math.floor(limit.limit * maxLeaseShare)));
    try {
      while (refill.waiting.length > 0) {
        const known = this.#current(key);
        // Requests that arrived during the last access use its lease.
        for (const settle of refill.waiting.splice(0, known?.left ?? 0)) settle(this.#use(known as Lease, limit));
        const served = refill.waiting.splice(0);
        if (served.length === 0) break;
        const size = Math.min(largest, (known?.size ?? 0) * 2 || 1);
        const amount = Math.max(size, served.length);
        // Measured before the access, so that a lease is never used after its window has ended.
        const requestedAt = this.#now();
        try {
          const { count, limit: allowed, resetAt, leftMs } = await this.#counts.add(key, limit, amount);
          const before = count - amount;
          const granted = Math.min(amount, Math.max(0, allowed - before));
          const lease: Lease = {
            endsAt: requestedAt + leftMs,
            resetAt,
            count: Math.max(before, 0) + granted,
            left: Math.max(0, granted - served.length),
            limit: allowed,
            size,
          };
          this.#leases.set(key, lease);
          served.forEach((settle, index) => settle(stateOf({ limit: allowed, resetAt }, before + index + 1, limit)));
        } catch (error) {
          for (const settle of served) settle(error as Error);
        }
      }
    } finally {
      this.#refills.delete(key);
    }
  }
}

/** The state after `count` requests, allowed or not. */
function stateOf(
  { limit: allowed, resetAt }: Pick<Lease, 'limit' | 'resetAt'>,
  count: number,
  { limit }: RateLimit,
): RateLimitState {
  return { allowed: count <= allowed, limit, remaining: Math.max(0, allowed - count), resetAt };
}
