import type { Logger } from '../../platform/observability/logger.ts';
import type { Slot } from '../runs/run-context.ts';
import { setAsideInput } from '../runs/run-outputs.ts';
import type { ClaimedRun } from '../runs/store.ts';
import type { Reservation } from '../starts/start-batch.ts';
import { FairQueue } from './fair-queue.ts';

export interface WorkerPoolOptions {
  /** Runs that execute at the same time. */
  concurrency: number;
  /** Runs in progress, including those that wait for an external response. */
  maxRuns: number;
  /** Executes a run until it ends or waits. */
  execute: (run: ClaimedRun, slot: Slot) => Promise<void>;
  /** Releases a run, so that another process can claim it. Never rejects. */
  releaseRun: (run: ClaimedRun) => Promise<void>;
  /** The process that holds the runs. */
  holderId: string;
  logger: Logger;
}

/**
 * Maximum time that a claimed run waits for a slot before it is released, in milliseconds. Another process can have a free slot,
 * and the limits and the policy that were read with the claim can change.
 */
export const maxWaitMs = 1_000;

/**
 * Executes the runs that this process holds. Workspaces share the slots (`FairQueue`). A run has a slot, except while it waits for
 * an external response.
 */
export class WorkerPool {
  readonly #options: WorkerPoolOptions;
  readonly #queue: FairQueue<ClaimedRun>;
  readonly #maxWaiting: number;
  /** Executions and releases that have not ended. */
  readonly #pending = new Set<Promise<void>>();
  readonly #timer: NodeJS.Timeout;
  /** Resolves when the pool is draining and has no reservations. */
  readonly #noReservations = Promise.withResolvers<void>();
  #onCapacity: () => void = () => undefined;
  #isBeginScheduled = false;
  #draining = false;

  constructor(options: WorkerPoolOptions) {
    this.#options = options;
    const { concurrency, maxRuns } = options;
    this.#maxWaiting = Math.max(128, concurrency * 16);
    this.#queue = new FairQueue({ slots: concurrency, maxInProgress: maxRuns, maxWaiting: this.#maxWaiting });
    this.#timer = setInterval(() => this.#releaseWaiting(maxWaitMs), maxWaitMs / 2);
  }

  get counts(): FairQueue<ClaimedRun>['counts'] {
    return this.#queue.counts;
  }

  get freeSlots(): number {
    return this.#queue.freeSlots;
  }

  /** Number of times that a slot became free since the start of the process. */
  get slotsFreed(): number {
    return this.#queue.slotsFreed;
  }

  /** Maximum number of runs that wait for a slot. */
  get maxWaiting(): number {
    return this.#maxWaiting;
  }

  /** Number of runs that can still be added. */
  get capacity(): number {
    return this.#draining ? 0 : this.#queue.capacity;
  }

  /** Number of runs of a workspace that can still be added. */
  capacityFor(tenantId: string): number {
    return this.#draining ? 0 : this.#queue.capacityFor(tenantId);
  }

  /** Sets the listener that is called when the pool can have capacity again: a run has begun, waits outside its slot, or has ended. */
  onCapacity(listener: () => void): void {
    this.#onCapacity = listener;
  }

  /** Reserves capacity for a run of a workspace that is about to be accepted. Null if there is none. */
  reserve(tenantId: string): Reservation | null {
    if (this.capacityFor(tenantId) === 0) return null;
    this.#queue.reserve(tenantId);
    let isOpen = true;
    const release = (): boolean => {
      if (!isOpen) return false;
      isOpen = false;
      this.#queue.releaseReservation(tenantId);
      if (this.#draining && this.#queue.counts.reserved === 0) this.#noReservations.resolve();
      return true;
    };
    return {
      holderId: this.#options.holderId,
      begin: (run) => {
        if (!isOpen) return;
        setAsideInput(run);
        // The run is added before the reservation is released, because a drain waits for one of the two.
        if (this.#draining) this.#releaseRun(run);
        else this.#queue.add(tenantId, run);
        release();
        // The run begins in a later tick, so that the caller that started it receives its response first.
        this.#scheduleBegin();
      },
      [Symbol.dispose]: () => {
        if (release()) this.#onCapacity();
      },
    };
  }

  /** Adds a run that this process holds. It begins once it gets a slot. */
  add(run: ClaimedRun): void {
    if (this.#draining) this.#releaseRun(run);
    else this.#queue.add(run.tenant_id, run);
  }

  /** Begins or continues runs while there are free slots. */
  begin(): void {
    for (let turn = this.#queue.acquire(); turn !== null; turn = this.#queue.acquire()) {
      if ('resume' in turn) turn.resume();
      else this.#execute(turn.tenantId, turn.item);
    }
    this.#onCapacity();
  }

  /**
   * Releases the waiting runs, and waits for the runs in progress until the deadline, in milliseconds from now.
   * @param claimed resolves when no more runs are added. Runs that are added until then are released.
   */
  async drain(deadlineMs: number, claimed: Promise<void> = Promise.resolve()): Promise<void> {
    this.#draining = true;
    clearInterval(this.#timer);
    this.#releaseWaiting();
    if (this.#queue.counts.reserved === 0) this.#noReservations.resolve();
    const deadline = Promise.withResolvers<void>();
    const timer = setTimeout(deadline.resolve, deadlineMs);
    await Promise.race([this.#settled(claimed), deadline.promise]);
    clearTimeout(timer);
  }

  /** Resolves once all runs have ended or were released, including runs that were being claimed or accepted. */
  async #settled(claimed: Promise<void>): Promise<void> {
    await Promise.all([claimed, this.#noReservations.promise]);
    while (this.#pending.size > 0) await Promise.allSettled(this.#pending);
  }

  #scheduleBegin(): void {
    if (this.#isBeginScheduled) return;
    this.#isBeginScheduled = true;
    setImmediate(() => {
      this.#isBeginScheduled = false;
      this.begin();
    });
  }

  #releaseWaiting(longerThanMs?: number): void {
    for (const run of this.#queue.removeWaiting(longerThanMs)) this.#releaseRun(run);
  }

  #releaseRun(run: ClaimedRun): void {
    const released = this.#options.releaseRun(run).finally(() => this.#pending.delete(released));
    this.#pending.add(released);
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
