import type { Logger } from '../../platform/observability/logger.ts';
import type { Slot } from '../runs/run-context.ts';
import { setAsideInput } from '../runs/run-outputs.ts';
import type { ClaimedRun } from '../runs/store.ts';
import type { Reservation } from '../starts/locked-starts.ts';
import { FairQueue } from './fair-queue.ts';

export interface WorkerPoolOptions {
  /** Runs that execute at the same time. */
  concurrency: number;
  /** Runs in progress, including those that wait for a response from outside. */
  maxRuns: number;
  /** Executes a run until it ends or waits. */
  execute: (run: ClaimedRun, slot: Slot) => Promise<void>;
  /** Releases a run, for another process. Never rejects. */
  giveBack: (run: ClaimedRun) => Promise<void>;
  /** The process that holds the runs. */
  holderId: string;
  logger: Logger;
}

/**
 * How long a claimed run waits for a slot before it is released, in milliseconds. Another process can have a free slot, and
 * the limits and the policy that were read with the claim can change.
 */
export const maxWaitMs = 1_000;

/**
 * Executes the runs that this process holds. The slots are shared between the workspaces (`FairQueue`). A run
 * holds a slot except while it waits for a response from outside.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #queue: FairQueue<ClaimedRun>;
  readonly #maxWaiting: number;
  /** Executions and releases that have not ended. */
  readonly #pending = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  readonly #noneReserved = Promise.withResolvers<void>();
  #onRoom: () => void = () => undefined;
  #beginsSoon = false;
  #draining = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const { concurrency, maxRuns } = options;
    this.#maxWaiting = Math.max(128, concurrency * 16);
    this.#queue = new FairQueue({ slots: concurrency, maxInProgress: maxRuns, maxWaiting: this.#maxWaiting });
    this.#timer = setInterval(() => this.#giveBackWaiting(maxWaitMs), maxWaitMs / 2);
  }

  get counts(): FairQueue<ClaimedRun>['counts'] {
    return this.#queue.counts;
  }

  get freeSlots(): number {
    return this.#queue.freeSlots;
  }

  /** How often a slot became free since the start of the process. */
  get slotsFreed(): number {
    return this.#queue.slotsFreed;
  }

  /** Number of runs that the pool lets wait for a slot. */
  get maxWaiting(): number {
    return this.#maxWaiting;
  }

  /** Number of further runs that the pool has room for. */
  get room(): number {
    return this.#draining ? 0 : this.#queue.room;
  }

  /** Number of further runs of a workspace that the pool has room for. */
  roomFor(tenantId: string): number {
    return this.#draining ? 0 : this.#queue.roomFor(tenantId);
  }

  /** Sets what is called when a run has begun, waits outside or has ended, so that there may be room for others. */
  onRoom(listener: () => void): void {
    this.#onRoom = listener;
  }

  /** Reserves capacity for a run of a workspace that is about to be accepted. Null if there is none. */
  reserve(tenantId: string): Reservation | null {
    if (this.roomFor(tenantId) === 0) return null;
    this.#queue.reserve(tenantId);
    let isOpen = true;
    const release = (): boolean => {
      if (!isOpen) return false;
      isOpen = false;
      this.#queue.releaseReservation(tenantId);
      if (this.#draining && this.#queue.counts.reserved === 0) this.#noneReserved.resolve();
      return true;
    };
    return {
      holderId: this.#options.holderId,
      begin: (run) => {
        if (!isOpen) return;
        setAsideInput(run);
        // Added before the reservation is released: a drain waits for one of the two.
        if (this.#draining) this.#giveBack(run);
        else this.#queue.add(tenantId, run);
        release();
        // The caller that started the run gets its response first.
        this.#beginSoon();
      },
      [Symbol.dispose]: () => {
        if (release()) this.#onRoom();
      },
    };
  }

  /** Adds a run that this process holds. It begins when it has its turn. */
  add(run: ClaimedRun): void {
    if (this.#draining) this.#giveBack(run);
    else this.#queue.add(run.tenant_id, run);
  }

  /** Begins the runs whose turn it is. */
  begin(): void {
    for (let turn = this.#queue.take(); turn !== null; turn = this.#queue.take()) {
      if ('resume' in turn) turn.resume();
      else this.#execute(turn.tenantId, turn.item);
    }
    this.#onRoom();
  }

  /**
   * Releases the waiting runs, and waits for the runs in progress until the deadline.
   * @param claimed resolves when no more runs are added. Runs that are added before are released.
   */
  async drain(deadlineMs: number, claimed: Promise<void> = Promise.resolve()): Promise<void> {
    this.#draining = true;
    clearInterval(this.#timer);
    this.#giveBackWaiting();
    if (this.#queue.counts.reserved === 0) this.#noneReserved.resolve();
    const late = Promise.withResolvers<void>();
    const timer = setTimeout(late.resolve, deadlineMs);
    await Promise.race([this.#settled(claimed), late.promise]);
    clearTimeout(timer);
  }

  /** Resolves once nothing is in progress, including what was still being accepted. */
  async #settled(claimed: Promise<void>): Promise<void> {
    await Promise.all([claimed, this.#noneReserved.promise]);
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
  }

  #beginSoon(): void {
    if (this.#beginsSoon) return;
    this.#beginsSoon = true;
    setImmediate(() => {
      this.#beginsSoon = false;
      this.begin();
    });
  }

  #giveBackWaiting(longerThanMs?: number): void {
    for (const run of this.#queue.removeWaiting(longerThanMs)) this.#giveBack(run);
  }

  #giveBack(run: ClaimedRun): void {
    const givenBack = this.#options.giveBack(run).finally(() => this.#pending.delete(givenBack));
    this.#pending.add(givenBack);
  }

  #execute(tenantId: string, run: ClaimedRun): void {
    let hasSlot = true;
    let hasEnded = false;
    const release = () => {
      if (!hasSlot) return;
      hasSlot = false;
      this.#queue.freeSlot(tenantId);
    };
    const slot: Slot = {
      release: () => {
        hasEnded = true;
        release();
        this.begin();
      },
      outside: async (work) => {
        release();
        this.begin();
        try {
          return await work();
        } finally {
          // A run that has ended needs no slot.
          if (!hasEnded)
            await new Promise<void>((resume) => {
              this.#queue.resume(tenantId, resume);
              this.begin();
            });
          hasSlot = !hasEnded;
        }
      },
    };
    const executed: Promise<void> = this.#options
      .execute(run, slot)
      .catch((error: unknown) =>
        this.#options.logger.error(
          { err: error, runId: run.id },
          'the execution of a run failed; a worker continues the run within a minute',
        ),
      )
      .finally(() => {
        hasEnded = true;
        release();
        this.#queue.end(tenantId);
        this.#pending.delete(executed);
        this.begin();
      });
    this.#pending.add(executed);
  }
}
