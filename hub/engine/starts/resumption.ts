import type { Transaction } from '../../platform/db/database.ts';
import { wakeRun } from '../queue/wake-runs.ts';
import { claimWaitingRun } from '../runs/store.ts';
import type { ClaimedRun } from '../runs/store.ts';
import type { Reservation } from './locked-starts.ts';

/**
 * Has one run go on, in the transaction that writes what it waited for: held by this process at once where a worker of it has room, so
 * that nobody has to be told of it or to take it; by a wake-up otherwise. Made before that transaction, and disposed after it.
 */
export class Resumption implements Disposable {
  readonly #room: Reservation | null;
  #claimed: ClaimedRun | null = null;

  constructor(room: Reservation | null) {
    this.#room = room;
  }

  /**
   * Writes that a run goes on; what is sent for it is sent before this waits for anything.
   * @param run locked by the transaction; `waits` is what `waitsText` says of it under that lock.
   */
  async within(tx: Transaction, run: { id: string; waits: boolean }): Promise<void> {
    this.#claimed = null;
    if (this.#room !== null && run.waits) this.#claimed = await claimWaitingRun(tx, run.id, this.#room.holderId);
    else await wakeRun(tx, run.id);
  }

  /** Starts the run if this process holds it. Call it after the commit. */
  begin(): void {
    if (this.#claimed !== null) this.#room?.begin({ ...this.#claimed, held_since: performance.now() });
  }

  [Symbol.dispose](): void {
    this.#room?.[Symbol.dispose]();
  }
}
