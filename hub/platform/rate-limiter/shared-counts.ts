import type { RateLimit } from './rate-limiter.ts';

/** What a store that all processes share answers of a count. */
export interface SharedCount {
  /** In the window that is now, with what was added. */
  count: number;
  /** How many may be let through in it: less than was asked for while the store is away. */
  limit: number;
  resetAt: Date;
  /** What is left of the window by the store's own clock, in milliseconds. */
  leftMs: number;
}

/** Counts in fixed windows, exactly, over all hub processes, by the clock of the store. */
export interface SharedCounts extends AsyncDisposable {
  /** Adds to a count; 0 only reads it. */
  add(key: string, limit: RateLimit, amount: number): Promise<SharedCount>;
  /** Forgets windows that are over; part of the sweep. */
  prune(): Promise<void>;
}
