import type { LeaseLost } from '../failure.ts';
import type { Hold } from '../runs/store.ts';

interface HeldEntry {
  hold: Hold;
  /** When it was added, by `performance.now()`. */
  since: number;
  lost: AbortController;
}

const keyOf = ({ runId, fence }: Hold) => `${runId} ${fence}`;

/** The runs that the engine of this process executes. */
export class HeldRuns {
  readonly #entries = new Map<string, HeldEntry>();

  /** Adds a run until disposed. `lost` aborts when this process has lost it. */
  add(hold: Hold): { lost: AbortSignal } & Disposable {
    const key = keyOf(hold);
    const entry = { hold, since: performance.now(), lost: new AbortController() };
    this.#entries.set(key, entry);
    return {
      lost: entry.lost.signal,
      [Symbol.dispose]: () => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
      },
    };
  }

  has(hold: Hold): boolean {
    return this.#entries.has(keyOf(hold));
  }

  /** The runs that were added at least this long ago, in milliseconds. */
  olderThan(ageMs: number): Hold[] {
    const latest = performance.now() - ageMs;
    return [...this.#entries.values()].filter(({ since }) => since <= latest).map(({ hold }) => hold);
  }

  /** Ends the execution of a run that another process has, or that was cancelled. */
  lose(hold: Hold, reason: LeaseLost): void {
    this.#entries.get(keyOf(hold))?.lost.abort(reason);
  }
}
