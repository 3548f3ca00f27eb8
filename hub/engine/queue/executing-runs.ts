import type { LeaseLost } from '../failure.ts';
import type { RunClaim } from '../runs/store.ts';

interface HeldEntry {
  claim: RunClaim;
  /** When it was added, by `performance.now()`. */
  since: number;
  lost: AbortController;
}

const keyOf = ({ runId, fence }: RunClaim) => `${runId} ${fence}`;

/** The runs that the engine of this process executes. */
export class ExecutingRuns {
  readonly #entries = new Map<string, HeldEntry>();

  /** Adds a run until disposed. `lost` aborts when this process has lost it. */
  add(claim: RunClaim): { lost: AbortSignal } & Disposable {
    const key = keyOf(claim);
    const entry = { claim, since: performance.now(), lost: new AbortController() };
    this.#entries.set(key, entry);
    return {
      lost: entry.lost.signal,
      [Symbol.dispose]: () => {
        if (this.#entries.get(key) === entry) this.#entries.delete(key);
      },
    };
  }

  has(claim: RunClaim): boolean {
    return this.#entries.has(keyOf(claim));
  }

  /** The runs that were added at least this long ago, in milliseconds. */
  olderThan(ageMs: number): RunClaim[] {
    const latest = performance.now() - ageMs;
    return [...this.#entries.values()].filter(({ since }) => since <= latest).map(({ claim }) => claim);
  }

  /** Ends the execution of a run that another process has, or that was cancelled. */
  lose(claim: RunClaim, reason: LeaseLost): void {
    this.#entries.get(keyOf(claim))?.lost.abort(reason);
  }
}
