import { LRUCache } from 'lru-cache';
import type { RateLimit } from './rate-limiter.ts';
import type { SharedCount } from './shared-counts.ts';

interface Count {
  /** Start of the window, in Unix seconds. */
  start: number;
  count: number;
  /** Whether the count came from the shared store in this window, and so includes all processes. */
  isShared: boolean;
}

const maxKeys = 20_000;
/** The longest window in use. Older windows have ended. */
const maxWindowSeconds = 3_600;

/** Counts of this process, used while the shared store is unavailable. */
export class LocalCounts {
  readonly #counts = new LRUCache<string, Count>({ max: maxKeys });
  readonly #now: () => number;

  constructor(now: () => number) {
    this.#now = now;
  }

  /** Stores a count of the shared store. */
  setShared(key: string, count: number, start: number): void {
    this.#counts.set(key, { start, count, isShared: true });
  }

  add(key: string, { limit, windowSeconds }: RateLimit, amount: number): SharedCount {
    const now = this.#now();
    const seconds = Math.floor(now / 1000);
    const known = this.#counts.get(key);
    const isCurrent = known !== undefined && seconds < known.start + windowSeconds;
    const entry = isCurrent ? known : { start: seconds - (seconds % windowSeconds), count: 0, isShared: false };
    const count = entry.count + amount;
    if (amount > 0) this.#counts.set(key, { ...entry, count });
    const endsAt = (entry.start + windowSeconds) * 1000;
    return {
      count,
      limit: entry.isShared ? limit : Math.ceil(limit / 2),
      resetAt: new Date(endsAt),
      leftMs: endsAt - now,
    };
  }

  get size(): number {
    return this.#counts.size;
  }

  prune(): void {
    const oldest = this.#now() / 1000 - maxWindowSeconds;
    for (const [key, { start }] of this.#counts.entries()) if (start < oldest) this.#counts.delete(key);
  }
}
