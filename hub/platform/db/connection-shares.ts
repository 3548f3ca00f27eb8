import { AsyncLocalStorage } from 'node:async_hooks';
import { DatabaseOutage } from './errors.ts';

export interface ConnectionSharesOptions {
  /** Transactions that may be under way at once. */
  connections: number;
  /** What is waited for one of them at most, in milliseconds. */
  patienceMs?: number;
  /** Transactions of one workspace that wait; beyond, they are refused. */
  maxWaiting?: number;
}

/** The turn of one transaction. */
export interface Turn {
  /** Whether it uses one of the last free connections, so that it must not wait long for locks. */
  isReserve: boolean;
  /** Does its work; whatever transaction that opens in turn needs no turn of its own, which this one may keep from it. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** To be called once, when its connection is free. */
  end(): void;
}

type Begin = (isReserve: boolean) => void;

/** For what code runs within a transaction: whether that is under way still, since what it leaves behind goes on in the same context. */
const within = new AsyncLocalStorage<{ isOpen: boolean }>();

const nested: Turn = { isReserve: false, run: (work) => work(), end: () => undefined };

/** A workspace uses at most so many times the connections that stay free behind it. */
const shareOfFree = 3;

/**
 * Shares connections among workspaces, which take turns. A workspace that has connections gets another one only while enough
 * stay free: alone it uses about three quarters of them, and every further busy workspace uses less. One stays free for a
 * workspace that has none. Transactions that belong to no workspace share one turn and have the same limit.
 *
 * The last quarter of the connections is a reserve. Transactions that use it wait only briefly for locks, so that blocked
 * transactions of several workspaces cannot occupy all connections for long.
 */
export class ConnectionShares {
  readonly #reserve: number;
  readonly #patienceMs: number;
  readonly #maxWaiting: number;
  readonly #counts = new Map<string, number>();
  /** Who waits, by workspace; the one whose turn is next comes first, of those that may have one more. */
  readonly #lines = new Map<string, Set<Begin>>();
  #free: number;
  #waiting = 0;

  constructor({ connections, patienceMs = 10_000, maxWaiting = 2_000 }: ConnectionSharesOptions) {
    this.#free = connections;
    this.#reserve = Math.floor(connections / 4);
    this.#patienceMs = patienceMs;
    this.#maxWaiting = maxWaiting;
  }

  /** Transactions that wait. */
  get waiting(): number {
    return this.#waiting;
  }

  /**
   * Begins a transaction, at once where it may.
   * @param tenantId null for what belongs to no workspace.
   * @throws DatabaseOutage when too many of the workspace wait, or it took too long.
   */
  async begin(tenantId: string | null): Promise<Turn> {
    if (within.getStore()?.isOpen === true) return nested;
    const key = tenantId ?? '';
    // Whoever else waits while one is free has as many as they may.
    const isReserve = this.#free > 0 && this.#mayHaveMore(key) ? this.#take(key) : await this.#wait(key);
    const context = { isOpen: true };
    return {
      isReserve,
      async run(work) {
        try {
          return await within.run(context, work);
        } finally {
          context.isOpen = false;
        }
      },
      end: () => this.#end(key),
    };
  }

  #mayHaveMore(key: string): boolean {
    const count = this.#counts.get(key) ?? 0;
    return count === 0 || count < shareOfFree * (this.#free - 1);
  }

  /** Returns whether the connection belongs to the reserve. */
  #take(key: string): boolean {
    this.#free -= 1;
    this.#counts.set(key, (this.#counts.get(key) ?? 0) + 1);
    return this.#free < this.#reserve;
  }

  #wait(key: string): Promise<boolean> {
    const line = this.#lines.get(key) ?? new Set();
    if (line.size >= this.#maxWaiting) throw new DatabaseOutage(tooBusy, undefined);
    this.#lines.set(key, line);
    const { promise, resolve, reject } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => {
      this.#leave(key, line, begin);
      reject(new DatabaseOutage(tooBusy, undefined));
    }, this.#patienceMs);
    const begin = (isReserve: boolean) => {
      clearTimeout(timer);
      resolve(isReserve);
    };
    line.add(begin);
    this.#waiting += 1;
    return promise;
  }

  #leave(key: string, line: Set<Begin>, begin: Begin): void {
    line.delete(begin);
    this.#waiting -= 1;
    if (line.size === 0) this.#lines.delete(key);
  }

  #end(key: string): void {
    const left = (this.#counts.get(key) ?? 0) - 1;
    if (left > 0) this.#counts.set(key, left);
    else this.#counts.delete(key);
    this.#free += 1;
    for (const [next, line] of this.#lines) {
      if (this.#free === 0) return;
      if (!this.#mayHaveMore(next)) continue;
      // Whoever has had a turn comes after the others.
      this.#lines.delete(next);
      this.#lines.set(next, line);
      const [begin] = line as Iterable<Begin>;
      if (begin === undefined) continue;
      this.#leave(next, line, begin);
      begin(this.#take(next));
    }
  }
}

const tooBusy = 'The database is too busy now; try again shortly.';
