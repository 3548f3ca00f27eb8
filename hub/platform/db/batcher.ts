import { AsyncResource } from 'node:async_hooks';
import type { TransactionOptions } from './database.ts';
import { DatabaseBusy, DatabaseOutage } from './errors.ts';

type FlushOptions = Pick<TransactionOptions, 'lockTimeoutMs'>;

export interface BatchesOptions<Item, Result> {
  /**
   * Does many things of one kind at once, in one transaction: all of them, or none. Answers for each, in their order.
   * Its commit is what the promises of its items wait for.
   * @param options of its transaction: how long it waits for a lock, since one item keeps the others waiting.
   */
  flush: (key: string, items: readonly Item[], options: FlushOptions) => Promise<readonly Result[]>;
  /** What an item takes up on its way, in bytes. */
  bytesOf: (item: Item) => number;
  maxItems?: number;
  /** For so long more are gathered, in milliseconds; 0 for what this turn of the loop brings. */
  gatherMs?: number;
  maxBytes?: number;
  /** Flushes under way at once of one key, and of all. */
  maxFlushesOfKey?: number;
  maxFlushes?: number;
  /**
   * Items that wait, of all keys, and what they take up; beyond, they are refused, except those of keys that have less than their share: up to
   * twice as much, so that nobody's many items keep out another's few.
   */
  maxWaiting?: number;
  maxWaitingBytes?: number;
}

interface Entry<Item, Result> {
  item: Item;
  bytes: number;
  resolve: (result: Result) => void;
  reject: (error: unknown) => void;
}

interface Line<Item, Result> {
  entries: Entry<Item, Result>[];
  bytes: number;
  flushing: number;
}

type OnBusy<Item, Result> = (entries: readonly Entry<Item, Result>[], error: DatabaseBusy) => void;

/** What a batch waits for a lock, and its parts once it did so in vain, in milliseconds. */
const lockTimeoutMs = 1_000;
const partLockTimeoutMs = 100;
/** For so long those of a batch that can be done are looked for among those that have to wait, in milliseconds. */
const patienceMs = 2_000;

/**
 * Gathers what is wanted of the database within one tick, and while the flushes before it are under way, and does it in one transaction for
 * each key, such as a workspace: then a hundred callers share one statement, one commit and one wait for the disk. Keys take turns, so
 * that nobody's many items stand before another's few. What fails a batch is done again in halves, down to what fails it, which fails alone.
 * Where a lock keeps a batch, whoever need not wait for it is found by halves, too, in a bounded time; the others then wait together as long
 * as any transaction does, so that a database that is busy as a whole is not waited for once for each.
 */
export class Batcher<Item, Result> {
  readonly #options: Required<BatchesOptions<Item, Result>>;
  /** Of the keys that have items waiting or flushes under way; the one that waits longest for its turn comes first. */
  readonly #lines = new Map<string, Line<Item, Result>>();
  /** What goes on for many callers is done in the context of none. */
  readonly #context = new AsyncResource('Batcher');
  #waiting = 0;
  #waitingBytes = 0;
  #flushing = 0;
  #isScheduled = false;

  constructor(options: BatchesOptions<Item, Result>) {
    this.#options = {
      maxItems: 64,
      gatherMs: 0,
      maxBytes: 1024 * 1024,
      maxFlushesOfKey: 2,
      maxFlushes: 4,
      maxWaiting: 4_096,
      maxWaitingBytes: 64 * 1024 * 1024,
      ...options,
    };
  }

  /**
   * Resolves once the transaction that did it is committed.
   * @throws DatabaseOutage when the database is out of reach, or too many wait already; whatever `flush` throws for this item alone.
   */
  add(key: string, item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>();
    const bytes = this.#options.bytesOf(item);
    if (!this.#hasRoom(key)) {
      reject(new DatabaseOutage('Too much waits for the database; try again shortly.', undefined));
      return promise;
    }
    let line = this.#lines.get(key);
    if (line === undefined) {
      line = { entries: [], bytes: 0, flushing: 0 };
      this.#lines.set(key, line);
    }
    line.entries.push({ item, bytes, resolve, reject });
    line.bytes += bytes;
    this.#waiting += 1;
    this.#waitingBytes += bytes;
    if (!this.#isScheduled) {
      this.#isScheduled = true;
      const start = () => this.#context.runInAsyncScope(() => this.#start());
      // After what this turn of the loop still brings.
      if (this.#options.gatherMs === 0) setImmediate(start);
      else setTimeout(start, this.#options.gatherMs);
    }
    return promise;
  }

  #hasRoom(key: string): boolean {
    const { maxWaiting, maxWaitingBytes } = this.#options;
    const part = (items: number, bytes: number) => Math.max(items / maxWaiting, bytes / maxWaitingBytes);
    const fullness = part(this.#waiting, this.#waitingBytes);
    if (fullness < 1) return true;
    const line = this.#lines.get(key);
    return fullness < 2 && part(line?.entries.length ?? 0, line?.bytes ?? 0) < 1 / (this.#lines.size + 1);
  }

  #start(): void {
    this.#isScheduled = false;
    const { maxFlushes, maxFlushesOfKey } = this.#options;
    for (const [key, line] of this.#lines) {
      while (line.entries.length > 0 && line.flushing < maxFlushesOfKey && this.#flushing < maxFlushes) {
        // Whoever has had a turn comes after the others.
        this.#lines.delete(key);
        this.#lines.set(key, line);
        line.flushing += 1;
        this.#flushing += 1;
        const onEnd = () => {
          line.flushing -= 1;
          this.#flushing -= 1;
          if (line.flushing === 0 && line.entries.length === 0) this.#lines.delete(key);
          this.#start();
        };
        this.#flush(key, this.#takeFrom(line)).then(onEnd, onEnd);
      }
      if (this.#flushing >= maxFlushes) return;
    }
  }

  /** The first ones, as many as one statement may carry; one at least. */
  #takeFrom(line: Line<Item, Result>): Entry<Item, Result>[] {
    const { maxItems, maxBytes } = this.#options;
    let count = 0;
    for (let bytes = 0; count < line.entries.length && count < maxItems; count += 1) {
      bytes += line.entries[count]?.bytes ?? 0;
      if (count > 0 && bytes > maxBytes) break;
    }
    const taken = line.entries.splice(0, count);
    this.#waiting -= count;
    for (const { bytes } of taken) {
      line.bytes -= bytes;
      this.#waitingBytes -= bytes;
    }
    return taken;
  }

  /** Never rejects: its entries do. */
  async #flush(key: string, entries: readonly Entry<Item, Result>[]): Promise<void> {
    const rejectAll: OnBusy<Item, Result> = (busy, error) => {
      for (const { reject } of busy) reject(error);
    };
    if (entries.length === 1) {
      await this.#try(key, entries, {}, rejectAll);
      return;
    }
    const parts: (readonly Entry<Item, Result>[])[] = [];
    const waiting: Entry<Item, Result>[] = [];
    const divide: OnBusy<Item, Result> = (busy) => {
      if (busy.length === 1) waiting.push(...busy);
      else parts.push(...halves(busy));
    };
    const until = performance.now() + lockTimeoutMs + patienceMs;
    await this.#try(key, entries, { lockTimeoutMs }, (busy, error) => {
      // Where not a lock but the database itself takes that long, its parts would each wait as long again.
      if (performance.now() > until) rejectAll(busy, error);
      else divide(busy, error);
    });
    for (const part of parts) {
      if (performance.now() > until) waiting.push(...part);
      else await this.#try(key, part, { lockTimeoutMs: partLockTimeoutMs }, divide);
    }
    if (waiting.length > 0) await this.#try(key, waiting, {}, rejectAll);
  }

  /** Does some together; by halves where something is wrong with one of them. */
  async #try(
    key: string,
    entries: readonly Entry<Item, Result>[],
    options: FlushOptions,
    onBusy: OnBusy<Item, Result>,
  ): Promise<void> {
    try {
      const results = await this.#options.flush(
        key,
        entries.map(({ item }) => item),
        options,
      );
      for (const [index, { resolve }] of entries.entries()) resolve(results[index] as Result);
    } catch (error) {
      if (error instanceof DatabaseBusy) onBusy(entries, error);
      else if (entries.length === 1 || error instanceof DatabaseOutage) for (const { reject } of entries) reject(error);
      else for (const half of halves(entries)) await this.#try(key, half, options, onBusy);
    }
  }
}

function halves<Some>(of: readonly Some[]): [Some[], Some[]] {
  const half = Math.ceil(of.length / 2);
  return [of.slice(0, half), of.slice(half)];
}
