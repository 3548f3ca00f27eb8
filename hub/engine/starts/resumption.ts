import type { Transaction } from '../../platform/db/database.ts';
import { wakeRun } from '../queue/wake-runs.ts';
import { claimWaitingRun } from '../runs/store.ts';
import type { ClaimedRun } from '../runs/store.ts';
import type { Reservation } from './start-batch.ts';

/**
 * Resumes one waiting run in the transaction that writes what the run waits for. If the worker of this process has capacity, the process claims
 * the run in that transaction, without a wake-up. Otherwise the run becomes due and workers are woken.
 * Create the object before the transaction and dispose it afterwards.
 */
export class Resumption implements Disposable {
  readonly #reservation: Reservation | null;
  #claimed: ClaimedRun | null = null;

  constructor(reservation: Reservation | null) {
    this.#reservation = reservation;
  }

  /**
   * Claims the run or makes it due. The statement is sent synchronously, so that the caller can pipeline further statements.
   * @param run is locked by the transaction. `waits` is the value of `waitsText`, read under that lock.
   */
  async resume(tx: Transaction, run: { id: string; waits: boolean }): Promise<void> {
    this.#claimed = null;
    if (this.#reservation !== null && run.waits)
      this.#claimed = await claimWaitingRun(tx, run.id, this.#reservation.holderId);
    else await wakeRun(tx, run.id);
  }

  /** Begins the run if this process holds it. Call it after the commit. */
  begin(): void {
    if (this.#claimed !== null) this.#reservation?.begin({ ...this.#claimed, held_since: performance.now() });
  }

  [Symbol.dispose](): void {
    this.#reservation?.[Symbol.dispose]();
  }
}
