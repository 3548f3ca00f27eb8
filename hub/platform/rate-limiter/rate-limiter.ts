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

/** Lets so many through in each window, over all hub processes, by the clock of the store that they share. */
export interface RateLimiter extends AsyncDisposable {
  /** Counts one; `allowed` says whether it was within the limit. */
  take(key: string, limit: RateLimit): Promise<RateLimitState>;
  /** Tells whether one more would be allowed, without counting it. */
  peek(key: string, limit: RateLimit): Promise<RateLimitState>;
  /** The state of a key that this process knows to be over its limit, without asking the store; else null. */
  exceeded(key: string, limit: RateLimit): RateLimitState | null;
  /** Forgets windows that are over; part of the sweep. */
  prune(): Promise<void>;
}
