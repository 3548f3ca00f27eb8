/** How many, in how long. */
export interface RateLimit {
  limit: number;
  windowSeconds: number;
}

export interface RateLimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** When the window ends and the count begins anew. */
  resetAt: Date;
}

/** Counts in fixed windows, exactly, over all hub processes, by the clock of the store. */
export interface RateLimiter extends AsyncDisposable {
  /** Counts one; `allowed` says whether it was within the limit. */
  take(key: string, limit: RateLimit): Promise<RateLimitState>;
  /** Tells whether one more would be allowed, without counting it. */
  peek(key: string, limit: RateLimit): Promise<RateLimitState>;
  /** Forgets windows that are over; part of the sweep. */
  prune(): Promise<void>;
}

/** The state after `count` were counted in the window that ends at `resetAt`. */
export function stateOf(count: number, { limit }: RateLimit, resetAt: Date, peeked: boolean): RateLimitState {
  return { allowed: peeked ? count < limit : count <= limit, limit, remaining: Math.max(0, limit - count), resetAt };
}
