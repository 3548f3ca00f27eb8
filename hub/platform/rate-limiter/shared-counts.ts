import type { RateLimit } from './rate-limiter.ts';

/** The count of a key in the current window, from the store that all processes share. */
export interface SharedCount {
  /** Includes the added amount. */
  count: number;
  /** Requests that are allowed in the window: fewer than the requested limit while the store is unavailable. */
  limit: number;
  resetAt: Date;
  /** Remaining time of the window by the clock of the store, in milliseconds. */
  leftMs: number;
}

/** Exact counts in fixed windows across all hub processes, by the clock of the store. */
export interface SharedCounts extends AsyncDisposable {
  /** Adds an amount to a count. The amount 0 only reads the count. */
  add(key: string, limit: RateLimit, amount: number): Promise<SharedCount>;
  /** Deletes ended windows; called by the sweep. */
  prune(): Promise<void>;
}
