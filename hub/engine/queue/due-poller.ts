import type { Logger } from '../../platform/observability/logger.ts';
import { background } from '../../platform/process/background.ts';
import type { ClaimRequest, ClaimedOfWorkspace, DueWorkspaces } from './claim-runs.ts';
import type { WorkerPool } from './worker-pool.ts';

export interface DuePollerOptions {
  /** Claims due runs of workspaces. */
  claim: (requests: readonly ClaimRequest[]) => Promise<ClaimedOfWorkspace[]>;
  /** Lists the workspaces that have due runs, now or later, in batches. `after` is the last workspace of the previous batch. */
  listWorkspaces: (after: string | null) => Promise<DueWorkspaces>;
  pool: Pick<
    WorkerPool,
    'freeSlots' | 'slotsFreed' | 'counts' | 'maxWaiting' | 'capacity' | 'capacityFor' | 'add' | 'begin'
  >;
  /** Receives workspaces that can have more due runs when this process has no free slot. */
  onFull: (tenantIds: readonly string[]) => void;
  /**
   * Whether to claim again shortly after a claim that returned runs. Set it where other processes accept most runs, so that not every run
   * needs a wake-up from another process.
   */
  repeatsClaims: boolean;
  logger: Logger;
}

/** Maximum number of workspaces per claim. */
const maxWorkspacesPerClaim = 256;
/** Runs are claimed in advance for this time, in milliseconds, at the current rate at which slots become free. */
const prefetchMs = 100;
/** First and last pause before the claim of a workspace with locked runs is repeated, in milliseconds. The pause doubles each time. */
const [firstLockPauseMs, lastLockPauseMs] = [5, 320];
/** Pause after a failed claim, in milliseconds. */
const outagePauseMs = 250;
/** Pause before a claim that returned runs is repeated (`repeatsClaims`), in milliseconds. */
const repeatPauseMs = 25;
/**
 * Minimum and maximum pause between two lists of all workspaces, in milliseconds. With very many workspaces the pause is longer, so
 * that listing takes at most a tenth of the time, unless the maximum is reached.
 */
const [pollMs, maxPollMs] = [1_000, 10_000];

/**
 * Claims due runs for the worker pool of this process. Wake-ups name the workspaces with due runs. In addition, all workspaces
 * are listed at an interval. This finds runs whose wake-up was lost, and runs that become due at a later time.
 */
export class DuePoller implements AsyncDisposable {
  readonly #options: DuePollerOptions;
  /** Workspaces that can have due runs, in claim order, with the runs to claim: all due runs, or those that became due recently. */
  readonly #due = new Map<string, 'all' | 'recent'>();
  /** Timers of workspaces to claim from at a later time. */
  readonly #timers = new Map<string, NodeJS.Timeout>();
  #claiming: Promise<void> | null = null;
  #listing: Promise<void> | null = null;
  #poll: NodeJS.Timeout | null = null;
  /** Next pause of each workspace with locked runs, in milliseconds. */
  readonly #lockPauses = new Map<string, number>();
  /** The current window of `prefetchMs`, and the number of slots that became free in the previous one. */
  #window = { since: performance.now(), freedBefore: 0, last: 0 };
  /** Timer that ends the pause of claims after a failure. */
  #outageTimer: NodeJS.Timeout | null = null;
  #stopped = false;

  constructor(options: DuePollerOptions) {
    this.#options = options;
    this.#pollAfter(0);
  }

  /**
   * Claims due runs of workspaces, immediately or as soon as there is capacity.
   * @returns false if this process has no capacity soon, so that another process should claim the runs.
   */
  wake(tenantIds: Iterable<string>): boolean {
    if (this.#stopped) return false;
    const { pool } = this.#options;
    let hasCapacity = pool.freeSlots > 0 || this.#countRecentlyFreed() > 0;
    for (const tenantId of tenantIds) {
      this.#addDue(tenantId, 'recent');
      if (pool.capacityFor(tenantId) === 0) hasCapacity = false;
    }
    this.claim();
    return hasCapacity;
  }

  /** Claims due runs if there is capacity and no other claim is in progress. */
  claim(): void {
    if (this.#stopped || this.#claiming !== null || this.#outageTimer !== null || this.#due.size === 0) return;
    const requests = this.#nextRequests();
    if (requests.length === 0) return;
    this.#claiming = this.#claim(requests).finally(() => {
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
    if (this.#outageTimer !== null) clearTimeout(this.#outageTimer);
    for (const timer of this.#timers.values()) clearTimeout(timer);
    await Promise.all([this.#claiming, this.#listing]);
  }

  /** Chooses the workspaces of the next claim, and the number of runs for each. */
  #nextRequests(): ClaimRequest[] {
    const { pool } = this.#options;
    const prefetch = Math.min(this.#countRecentlyFreed(), pool.maxWaiting >> 2);
    const { waiting } = pool.counts;
    const wanted = Math.min(pool.freeSlots + prefetch - waiting, pool.capacity);
    // A claim costs the same for one run as for many, so small claims in advance are delayed.
    if (wanted < 1 || (waiting > 0 && wanted * 2 < prefetch)) return [];
    const tenantIds: string[] = [];
    for (const tenantId of this.#due.keys()) {
      if (tenantIds.length === Math.min(wanted, maxWorkspacesPerClaim)) break;
      if (pool.capacityFor(tenantId) > 0) tenantIds.push(tenantId);
    }
    const most = Math.max(1, Math.floor(wanted / tenantIds.length));
    return tenantIds.map((tenantId) => ({
      tenantId,
      most: Math.min(most, pool.capacityFor(tenantId)),
      onlyRecent: this.#due.get(tenantId) === 'recent',
    }));
  }

  #addDue(tenantId: string, which: 'all' | 'recent'): void {
    if (which === 'all' || !this.#due.has(tenantId)) this.#due.set(tenantId, which);
  }

  /** Counts the slots that became free within about `prefetchMs`. */
  #countRecentlyFreed(): number {
    const now = performance.now();
    const { slotsFreed: freed } = this.#options.pool;
    const { since, freedBefore } = this.#window;
    if (now - since >= prefetchMs) {
      const last = now - since < 2 * prefetchMs ? freed - freedBefore : 0;
      this.#window = { since: now, freedBefore: freed, last };
    }
    return Math.max(this.#window.last, freed - this.#window.freedBefore);
  }

  async #claim(requests: readonly ClaimRequest[]): Promise<void> {
    const { pool, onFull, repeatsClaims, logger } = this.#options;
    for (const { tenantId } of requests) this.#due.delete(tenantId);
    try {
      const full: string[] = [];
      const claims = await this.#options.claim(requests);
      for (const [index, { tenantId, runs, hasMore, isLocked, nextInMs }] of claims.entries()) {
        for (const run of runs) pool.add(run);
        if (!isLocked) this.#lockPauses.delete(tenantId);
        if (hasMore) {
          this.#addDue(tenantId, requests[index]?.onlyRecent === true ? 'recent' : 'all');
          full.push(tenantId);
        } else if (isLocked) {
          this.#repeatAfterLock(tenantId);
        } else if (repeatsClaims && runs.length > 0) {
          this.#wakeLater(tenantId, Math.min(repeatPauseMs, nextInMs ?? repeatPauseMs));
        } else if (nextInMs !== null && nextInMs <= maxPollMs) {
          this.#wakeLater(tenantId, nextInMs);
        }
      }
      pool.begin();
      if (full.length > 0 && pool.freeSlots <= 0) onFull(full);
    } catch (error) {
      logger.warn({ err: error }, 'due runs could not be claimed; the claim is retried');
      for (const { tenantId, onlyRecent } of requests) this.#addDue(tenantId, onlyRecent ? 'recent' : 'all');
      if (this.#stopped) return;
      this.#outageTimer = setTimeout(() => {
        this.#outageTimer = null;
        this.claim();
      }, outagePauseMs);
    }
  }

  /** Repeats the claim of a workspace with locked runs a few times. After that, the list of all workspaces finds these runs. */
  #repeatAfterLock(tenantId: string): void {
    const pauseMs = this.#lockPauses.get(tenantId) ?? firstLockPauseMs;
    if (pauseMs > lastLockPauseMs) {
      this.#lockPauses.delete(tenantId);
      return;
    }
    this.#lockPauses.set(tenantId, pauseMs * 2);
    this.#wakeLater(tenantId, pauseMs);
  }

  #wakeLater(tenantId: string, pauseMs: number): void {
    if (this.#stopped) return;
    clearTimeout(this.#timers.get(tenantId));
    const timer = setTimeout(() => {
      this.#timers.delete(tenantId);
      this.wake([tenantId]);
    }, pauseMs);
    this.#timers.set(tenantId, timer);
  }

  #pollAfter(ms: number): void {
    if (this.#stopped) return;
    this.#poll = setTimeout(() => background(this.list(), this.#options.logger, 'list of due runs'), ms);
  }

  async #list(): Promise<void> {
    const startedAt = performance.now();
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
      pauseMs = Math.min(Math.max(pauseMs, (performance.now() - startedAt) * 9), maxPollMs);
    } catch (error) {
      this.#options.logger.warn({ err: error }, 'workspaces with due runs could not be listed; the list is retried');
    }
    this.#pollAfter(pauseMs);
  }
}
