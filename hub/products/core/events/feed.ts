import type { Database } from '../../../platform/db/database.ts';
import type { Follower } from '../../../platform/events/live-topics.ts';
import { encodePosition } from './position.ts';
import type { Position } from './position.ts';
import { readAfter, readNewest } from './store.ts';
import type { Stretch } from './store.ts';

/** Events of a workspace that this process keeps at hand for its readers, at most; a reader that is further behind reads for itself. */
const maxKept = 1_000;

/**
 * The newest events of one workspace, read once for all its readers in this process, and only while one of them waits for more. Each
 * goes on at its own pace from its own position.
 */
export class WorkspaceFeed implements Disposable {
  readonly #db: Database;
  readonly #tenantId: string;
  readonly #follower: Follower;
  readonly #over = new AbortController();
  /** What comes after a position, by that position as an id; the oldest first. */
  readonly #stretches = new Map<string, Stretch>();
  #kept = 0;
  #newest: Position | null = null;
  #reading: Promise<void> = Promise.resolve();
  #nextReading: Promise<void> | undefined;
  #watching: Promise<void> | undefined;

  constructor(db: Database, tenantId: string, follower: Follower) {
    this.#db = db;
    this.#tenantId = tenantId;
    this.#follower = follower;
  }

  /** Where a reader that begins now begins. */
  async begin(): Promise<Position> {
    await this.#look();
    return this.#newest as Position;
  }

  /** What comes after a position, once there is something, or nothing once the signal aborts; null when it was removed already. */
  async after(position: Position, signal: AbortSignal): Promise<Stretch | null> {
    const id = encodePosition(position);
    let isBehind = false;
    while (!signal.aborted) {
      const atHand = this.#stretches.get(id);
      if (atHand !== undefined) return atHand;
      if (this.#newest !== null && id === encodePosition(this.#newest)) await this.#news(signal);
      else if (isBehind) return readAfter(this.#db, this.#tenantId, position, (this.#newest as Position).seen);
      // Whoever comes from another process may have been told there what this one has not read yet.
      else await this.#look();
      isBehind = true;
    }
    return { events: [], to: position, count: 0 };
  }

  [Symbol.dispose](): void {
    this.#over.abort();
    this.#follower[Symbol.dispose]();
  }

  /** Waits until it is told, or time, that there may be more, and reads that. */
  async #news(signal: AbortSignal): Promise<void> {
    this.#watching ??= this.#follower
      .next(this.#over.signal)
      .then(() => (this.#over.signal.aborted ? undefined : this.#look()))
      .finally(() => {
        this.#watching = undefined;
      });
    const aborted = Promise.withResolvers<void>();
    const onAbort = () => aborted.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    await Promise.race([this.#watching, aborted.promise]).finally(() => signal.removeEventListener('abort', onAbort));
  }

  /** Reads to what is the newest once this is called: by a look that begins later than that. */
  #look(): Promise<void> {
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
      const stretch = await readAfter(this.#db, this.#tenantId, from, null);
      if (stretch === null) {
        this.#stretches.clear();
        this.#kept = 0;
        this.#newest = await readNewest(this.#db, this.#tenantId);
        return;
      }
      if (stretch.count === 0 && from.partial === null) break;
      this.#keep(from, stretch);
      from = stretch.to;
      if (from.partial === null) break;
    }
    this.#newest = from;
  }

  #keep(from: Position, stretch: Stretch): void {
    const id = encodePosition(from);
    const replaced = this.#stretches.get(id);
    if (replaced !== undefined) this.#kept -= replaced.events.length + 1;
    this.#stretches.set(id, stretch);
    this.#kept += stretch.events.length + 1;
    for (const [key, oldest] of this.#stretches) {
      if (this.#kept <= maxKept) break;
      this.#stretches.delete(key);
      this.#kept -= oldest.events.length + 1;
    }
  }
}
