import type { Logger } from '../../platform/observability/logger.ts';
import { background } from '../../platform/process/background.ts';
import type { AskedWorkspace, ClaimedOfWorkspace, DueWorkspaces } from './claim-runs.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface DuePollerOptions {
  /** Claims due runs of workspaces. */
  claim: (asked: readonly AskedWorkspace[]) => Promise<ClaimedOfWorkspace[]>;
  /** Lists the workspaces that have due runs, or soon will. */
  listWorkspaces: (after: string | null) => Promise<DueWorkspaces>;
  pool: Pick<WorkerPool, 'freeSlots' | 'slotsFreed' | 'counts' | 'maxWaiting' | 'room' | 'roomFor' | 'add' | 'begin'>;
  /** Receives workspaces with due runs that this process has no room for. */
  onFull: (tenantIds: readonly string[]) => void;
  /**
   * Whether other processes accept most runs. Then a workspace that had due runs is asked again a little later, so that not each of
   * its runs needs a wake-up from another process.
   */
  asksAgain: boolean;
  logger: Logger;
}

/** Workspaces that one claim asks for. */
const maxAsked = 256;
/** Runs are claimed in advance for this time, at the rate at which slots become free, in milliseconds. */
const prefetchMs = 100;
/** Pause before a workspace with locked runs is asked again, in milliseconds. It doubles each time. */
const [firstPauseMs, lastPauseMs] = [5, 320];
const outagePauseMs = 250;
/** Pause before a workspace that had due runs is asked again (`asksAgain`), in milliseconds. */
const askAgainMs = 25;
/**
 * Pause between two lists of all workspaces, and its maximum, in milliseconds. With very many workspaces the pause is longer, so that
 * the lists use at most a tenth of the time.
 */
const [pollMs, maxPollMs] = [1_000, 10_000];

/**
 * Claims due runs for the pool of this process. Wake-ups name the workspaces that have some. In addition, all workspaces are
 * listed at an interval, which finds the runs of lost wake-ups, and those that become due at a time.
 */
export class DuePoller implements AsyncDisposable {
  readonly #options: DuePollerOptions;
  /**
   * Workspaces that may have due runs, in the order in which they are asked: whether all of their due runs are looked at, or
   * those that became due recently.
   */
  readonly #due = new Map<string, 'all' | 'recent'>();
  /** Workspaces that are asked at a time. */
  readonly #later = new Map<string, NodeJS.Timeout>();
  #claiming: Promise<void> | null = null;
  #listing: Promise<void> | null = null;
  #poll: NodeJS.Timeout | null = null;
  /** Pause before the next claim of workspaces with locked runs. */
  readonly #pauses = new Map<string, number>();
  /** The time window in which free slots are counted, and the count of the window before. */
  #window = { since: performance.now(), freedBefore: 0, last: 0 };
  /** Set while claims pause after a failure. */
  #outage: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: DuePollerOptions) {
    this.#options = options;
    this.#pollAfter(0);
  }

  /**
   * Claims runs of workspaces, now or as soon as a slot is free.
   * @returns false if that may take long, so that another process should claim them.
   */
  wake(tenantIds: Iterable<string>): boolean {
    if (this.#stopped) return false;
    const { pool } = this.#options;
    let hasRoom = pool.freeSlots > 0 || this.#recentlyFreed() > 0;
    for (const tenantId of tenantIds) {
      this.#addDue(tenantId, 'recent');
      if (pool.roomFor(tenantId) === 0) hasRoom = false;
    }
    this.claim();
    return hasRoom;
  }

  /** Claims runs of the workspaces that may have some, if there is room. */
  claim(): void {
    if (this.#stopped || this.#claiming !== null || this.#outage !== null || this.#due.size === 0) return;
    const asked = this.#next();
    if (asked.length === 0) return;
    this.#claiming = this.#claim(asked).finally(() => {
      this.#claiming = null;
      this.claim();
    });
  }

  /** Lists all workspaces now. */
  async list(): Promise<void> {
    if (this.#poll !== null) clearTimeout(this.#poll);
    this.#listing ??= this.#list().finally(() => {
      this.#listing = null;
    });
    await this.#listing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stopped = true;
    if (this.#poll !== null) clearTimeout(this.#poll);
    if (this.#outage !== null) clearTimeout(this.#outage);
    for (const timer of this.#later.values()) clearTimeout(timer);
    await Promise.all([this.#claiming, this.#listing]);
  }

  /** The workspaces of the next claim, with the number of runs of each. */
  #next(): AskedWorkspace[] {
    const { pool } = this.#options;
    const prefetch = Math.min(this.#recentlyFreed(), pool.maxWaiting >> 2);
    const { waiting } = pool.counts;
    const wanted = Math.min(pool.freeSlots + prefetch - waiting, pool.room);
    // A claim costs the same for one run as for many.
    if (wanted < 1 || (waiting > 0 && wanted * 2 < prefetch)) return [];
    const tenantIds: string[] = [];
    for (const tenantId of this.#due.keys()) {
      if (tenantIds.length === Math.min(wanted, maxAsked)) break;
      if (pool.roomFor(tenantId) > 0) tenantIds.push(tenantId);
    }
    const most = Math.max(1, Math.floor(wanted / tenantIds.length));
    return tenantIds.map((tenantId) => ({
      tenantId,
      most: Math.min(most, pool.roomFor(tenantId)),
      onlyRecent: this.#due.get(tenantId) === 'recent',
    }));
  }

  #addDue(tenantId: string, which: 'all' | 'recent'): void {
    if (which === 'all' || !this.#due.has(tenantId)) this.#due.set(tenantId, which);
  }

  /** How often a slot became free within `prefetchMs`. */
  #recentlyFreed(): number {
    const now = performance.now();
    const { slotsFreed: freed } = this.#options.pool;
    const { since, freedBefore } = this.#window;
    if (now - since >= prefetchMs) {
      const last = now - since < 2 * prefetchMs ? freed - freedBefore : 0;
      this.#window = { since: now, freedBefore: freed, last };
    }
    return Math.max(this.#window.last, freed - this.#window.freedBefore);
  }

  async #claim(asked: readonly AskedWorkspace[]): Promise<void> {
    const { pool, onFull, asksAgain, logger } = this.#options;
    for (const { tenantId } of asked) this.#due.delete(tenantId);
    try {
      const full: string[] = [];
      const claims = await this.#options.claim(asked);
      for (const [index, { tenantId, runs, hasMore, isLocked, nextInMs }] of claims.entries()) {
        for (const run of runs) pool.add(run);
        if (!isLocked) this.#pauses.delete(tenantId);
        if (hasMore) {
          this.#addDue(tenantId, asked[index]?.onlyRecent === true ? 'recent' : 'all');
          full.push(tenantId);
        } else if (isLocked) {
          this.#wakeAfterLock(tenantId);
        } else if (asksAgain && runs.length > 0) {
          this.#wakeLater(tenantId, Math.min(askAgainMs, nextInMs ?? askAgainMs));
        } else if (nextInMs !== null && nextInMs <= maxPollMs) {
          this.#wakeLater(tenantId, nextInMs);
        }
      }
      pool.begin();
      if (full.length > 0 && pool.freeSlots <= 0) onFull(full);
    } catch (error) {
      logger.warn({ err: error }, 'due runs could not be claimed; it is tried again');
      for (const { tenantId, onlyRecent } of asked) this.#addDue(tenantId, onlyRecent ? 'recent' : 'all');
      if (this.#stopped) return;
      this.#outage = setTimeout(() => {
        this.#outage = null;
        this.claim();
      }, outagePauseMs);
    }
  }

  /** Asks a workspace with locked runs again a few times. Later the list of all workspaces finds them. */
  #wakeAfterLock(tenantId: string): void {
    const pauseMs = this.#pauses.get(tenantId) ?? firstPauseMs;
    if (pauseMs > lastPauseMs) {
      this.#pauses.delete(tenantId);
      return;
    }
    this.#pauses.set(tenantId, pauseMs * 2);
    this.#wakeLater(tenantId, pauseMs);
  }

  #wakeLater(tenantId: string, pauseMs: number): void {
    if (this.#stopped) return;
    clearTimeout(this.#later.get(tenantId));
    const timer = setTimeout(() => {
      this.#later.delete(tenantId);
      this.wake([tenantId]);
    }, pauseMs);
    this.#later.set(tenantId, timer);
  }

  #pollAfter(ms: number): void {
    if (this.#stopped) return;
    this.#poll = setTimeout(() => background(this.list(), this.#options.logger, 'list of due runs'), ms);
  }

  async #list(): Promise<void> {
    const began = performance.now();
    let pauseMs = pollMs;
    try {
      let after: string | null = null;
      do {
        const { workspaces, upTo } = await this.#options.listWorkspaces(after);
        for (const { tenantId, inMs } of workspaces) {
          if (inMs <= 0) this.#addDue(tenantId, 'all');
          else if (inMs <= maxPollMs) this.#wakeLater(tenantId, inMs);
        }
        this.claim();
        after = upTo;
      } while (after !== null && !this.#stopped);
      pauseMs = Math.min(Math.max(pauseMs, (performance.now() - began) * 9), maxPollMs);
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'workspaces with due runs could not be listed; it is tried again');
    }
    this.#pollAfter(pauseMs);
  }
}
