/** Maximum requests per window. */
export interface RateLimit {
  limit: number;
  windowSeconds: number;
}

export interface RateLimitState {
  allowed: boolean;
  limit: number;
  remaining: number;
  /** End of the window, when the count is reset. */
  resetAt: Date;
}

/** Limits requests in fixed windows across all hub processes, by the clock of the shared store. */
export interface RateLimiter extends AsyncDisposable {
  /** Counts a request. `allowed` is false when the request exceeds the limit. */
  take(key: string, limit: RateLimit): Promise<RateLimitState>;
  /** Returns whether another request would be allowed, without counting one. */
  peek(key: string, limit: RateLimit): Promise<RateLimitState>;
  /**
   * Returns the state of a key that this process knows to exceed its limit, without accessing the store; otherwise
   * null.
   */
  exceeded(key: string, limit: RateLimit): RateLimitState | null;
  /** Deletes ended windows; called by the sweep. */
  prune(): Promise<void>;
}
