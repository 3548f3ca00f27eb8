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
  /** Does its work; whatever transaction that opens in turn needs no turn of its own, which this one may keep from it. */
  run<Result>(work: () => Promise<Result>): Promise<Result>;
  /** To be called once, when its connection is free. */
  end(): void;
}

type Begin = () => void;

/** For what code runs within a transaction: whether that is under way still, since what it leaves behind goes on in the same context. */
const within = new AsyncLocalStorage<{ isOpen: boolean }>();

const nested: Turn = { run: (work) => work(), end: () => undefined };

/**
 * Shares connections among workspaces: they take turns, and none has all of them, so that what waits for each other in one of them, such
 * as for the lock of a row, keeps nobody else waiting. What belongs to no workspace takes turns, too, and has no such bound.
 */
export class ConnectionShares {
  readonly #mostOfWorkspace: number;
  readonly #patienceMs: number;
  readonly #maxWaiting: number;
  readonly #held = new Map<string, number>();
  /** Who waits, by workspace; the one whose turn is next comes first, of those that may have one more. */
  readonly #lines = new Map<string, Set<Begin>>();
  #free: number;
  #waiting = 0;

  constructor({ connections, patienceMs = 10_000, maxWaiting = 2_000 }: ConnectionSharesOptions) {
    this.#free = connections;
    this.#mostOfWorkspace = Math.max(1, connections - Math.max(1, Math.floor(connections / 4)));
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
    if (this.#free > 0 && this.#mayHaveMore(key)) this.#take(key);
    else await this.#wait(key);
    const context = { isOpen: true };
    return {
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
    return key === '' || (this.#held.get(key) ?? 0) < this.#mostOfWorkspace;
  }

  #take(key: string): void {
    this.#free -= 1;
    this.#held.set(key, (this.#held.get(key) ?? 0) + 1);
  }

  #wait(key: string): Promise<void> {
    const line = this.#lines.get(key) ?? new Set();
    if (line.size >= this.#maxWaiting) throw new DatabaseOutage(tooBusy, undefined);
    this.#lines.set(key, line);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const timer = setTimeout(() => {
      this.#leave(key, line, begin);
      reject(new DatabaseOutage(tooBusy, undefined));
    }, this.#patienceMs);
    const begin = () => {
      clearTimeout(timer);
      resolve();
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
    const left = (this.#held.get(key) ?? 0) - 1;
    if (left > 0) this.#held.set(key, left);
    else this.#held.delete(key);
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
      this.#take(next);
      begin();
    }
  }
}

const tooBusy = 'The database is too busy now; try again shortly.';
