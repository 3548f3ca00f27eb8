import type { Database } from '../../../platform/db/database.ts';
import type { Follower } from '../../../platform/events/live-topics.ts';
import { encodePosition } from './position.ts';
import type { Position } from './position.ts';
import { readAfter, readNewest } from './store.ts';
import type { EventPage } from './store.ts';

/** Cached events per workspace and process. A subscriber further behind reads from the database. */
const maxCachedEvents = 1_000;

/**
 * The newest events of one workspace, read once for all subscribers in this process, and only while a subscriber waits.
 * Each subscriber continues from its own position at its own pace.
 */
export class WorkspaceFeed implements Disposable {
  readonly #db: Database;
  readonly #tenantId: string;
  readonly #follower: Follower;
  readonly #disposed = new AbortController();
  /** Cached pages by the encoded position before them, oldest first. */
  readonly #pages = new Map<string, EventPage>();
  #cachedEvents = 0;
  #newest: Position | null = null;
  #reading: Promise<void> = Promise.resolve();
  #nextReading: Promise<void> | undefined;
  #watching: Promise<void> | undefined;

  constructor(db: Database, tenantId: string, follower: Follower) {
    this.#db = db;
    this.#tenantId = tenantId;
    this.#follower = follower;
  }

  /** The position for a new subscriber. */
  async currentPosition(): Promise<Position> {
    await this.#refresh();
    return this.#newest as Position;
  }

  /** Waits for events after a position. Empty if the signal aborts. Null if events after the position were removed. */
  async pageAfter(position: Position, signal: AbortSignal): Promise<EventPage | null> {
    const id = encodePosition(position);
    let hasRefreshed = false;
    while (!signal.aborted) {
      const cached = this.#pages.get(id);
      if (cached !== undefined) return cached;
      if (this.#newest !== null && id === encodePosition(this.#newest)) await this.#waitForEvents(signal);
      else if (hasRefreshed) return readAfter(this.#db, this.#tenantId, position, (this.#newest as Position).seen);
      // The position may come from another process that has read newer events. Read them before treating the position as
      // older than the cache.
      else await this.#refresh();
      hasRefreshed = true;
    }
    return { events: [], to: position, count: 0 };
  }

  [Symbol.dispose](): void {
    this.#disposed.abort();
    this.#follower[Symbol.dispose]();
  }

  /** Waits for a notification or the poll interval, then reads new events. */
  async #waitForEvents(signal: AbortSignal): Promise<void> {
    this.#watching ??= this.#follower
      .next(this.#disposed.signal)
      .then(() => (this.#disposed.signal.aborted ? undefined : this.#refresh()))
      .finally(() => {
        this.#watching = undefined;
      });
    const aborted = Promise.withResolvers<void>();
    const onAbort = () => aborted.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#watching, aborted.promise]).finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Reads all events committed before this call. A read that has already started is not sufficient. */
  #refresh(): Promise<void> {
    this.#nextReading ??= this.#reading
      .catch(() => undefined)
      .then(() => {
        this.#nextReading = undefined;
        this.#reading = this.#read();
        return this.#reading;
      });
    return this.#nextReading;
  }

  async #read(): Promise<void> {
    if (this.#newest === null) {
      this.#newest = await readNewest(this.#db, this.#tenantId);
      return;
    }
    let from = this.#newest;
    for (;;) {
      const page = await readAfter(this.#db, this.#tenantId, from, null);
      if (page === null) {
        this.#pages.clear();
        this.#cachedEvents = 0;
        this.#newest = await readNewest(this.#db, this.#tenantId);
        return;
      }
      if (page.count === 0 && from.partial === null) break;
      this.#cache(from, page);
      from = page.to;
      if (from.partial === null) break;
    }
    this.#newest = from;
  }

  #cache(from: Position, page: EventPage): void {
    const id = encodePosition(from);
    const replaced = this.#pages.get(id);
    if (replaced !== undefined) this.#cachedEvents -= replaced.events.length + 1;
    this.#pages.set(id, page);
    this.#cachedEvents += page.events.length + 1;
    for (const [key, oldest] of this.#pages) {
      if (this.#cachedEvents <= maxCachedEvents) break;
      this.#pages.delete(key);
      this.#cachedEvents -= oldest.events.length + 1;
    }
  }
}
