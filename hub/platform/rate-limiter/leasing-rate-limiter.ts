import { LRUCache } from 'lru-cache';
import type { RateLimit, RateLimiter, RateLimitState } from './rate-limiter.ts';
import type { SharedCounts } from './shared-counts.ts';

/** A process has at most so small a part of a limit in hand, */
const maxLeaseShare = 1 / 20;
/** and never more than so many. */
const maxLeaseSize = 100;
const maxKeys = 20_000;

/** What a process has of a key in a window. */
interface Lease {
  /** When the window ends, by the clock of `performance`. */
  endsAt: number;
  resetAt: Date;
  /** The shared count, as far as this process knows it. */
  count: number;
  /** Counted already, and not yet used. */
  left: number;
  limit: number;
  /** How many were asked for, so that who asks often asks for more the next time. */
  size: number;
}

interface Refill {
  waiting: ((state: RateLimitState | Error) => void)[];
}

/**
 * Takes small shares of a shared count and lets through as many without asking for each: never more than the limit over all processes, and
 * less by what another process has in hand. Who is over a limit is refused without asking until its window ends.
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
    // Not when less is let through while the store is away: it may be back.
    const exceeded = refill === undefined ? this.exceeded(key, limit) : null;
    if (exceeded !== null) return Promise.resolve(exceeded);
    return new Promise((done, fail) => {
      const settle = (state: RateLimitState | Error) => (state instanceof Error ? fail(state) : done(state));
      if (refill !== undefined) {
        refill.waiting.push(settle);
        return;
      }
      const begun: Refill = { waiting: [settle] };
      this.#refills.set(key, begun);
      void this.#refill(key, limit, begun);
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

  /** Counts for all who wait, one request after another, until nobody does. */
  async #refill(key: string, limit: RateLimit, refill: Refill): Promise<void> {
    const largest = Math.max(1, Math.min(maxLeaseSize, Math.floor(limit.limit * maxLeaseShare)));
    try {
      while (refill.waiting.length > 0) {
        const known = this.#current(key);
        // What came while it was asked is let through by what that brought.
        for (const settle of refill.waiting.splice(0, known?.left ?? 0)) settle(this.#use(known as Lease, limit));
        const served = refill.waiting.splice(0);
        if (served.length === 0) break;
        const size = Math.min(largest, (known?.size ?? 0) * 2 || 1);
        const amount = Math.max(size, served.length);
        // From before it was asked, so that what is left of a window is never used in the next one.
        const askedAt = this.#now();
        try {
          const { count, limit: allowed, resetAt, leftMs } = await this.#counts.add(key, limit, amount);
          const before = count - amount;
          const granted = Math.min(amount, Math.max(0, allowed - before));
          const lease: Lease = {
            endsAt: askedAt + leftMs,
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

/** The state after `count` were let through, or would have been. */
function stateOf(
  { limit: allowed, resetAt }: Pick<Lease, 'limit' | 'resetAt'>,
  count: number,
  { limit }: RateLimit,
): RateLimitState {
  return { allowed: count <= allowed, limit, remaining: Math.max(0, allowed - count), resetAt };
}
