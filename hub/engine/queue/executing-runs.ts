import type { LeaseLost } from '../failure.ts';
import type { RunClaim } from '../runs/store.ts';

interface Execution {
  claim: RunClaim;
  /** Start time, by `performance.now()`. */
  since: number;
  lost: AbortController;
}

const keyOf = ({ runId, fence }: RunClaim) => `${runId} ${fence}`;

/** The runs that the engine of this process executes. */
export class ExecutingRuns {
  readonly #executions = new Map<string, Execution>();

  /** Adds a run until disposed. `lost` aborts when this process has lost the run. */
  add(claim: RunClaim): { lost: AbortSignal } & Disposable {
    const key = keyOf(claim);
    const execution = { claim, since: performance.now(), lost: new AbortController() };
    this.#executions.set(key, execution);
    return {
      lost: execution.lost.signal,
      [Symbol.dispose]: () => {
        if (this.#executions.get(key) === execution) this.#executions.delete(key);
      },
    };
  }

  has(claim: RunClaim): boolean {
    return this.#executions.has(keyOf(claim));
  }

  /** Returns the runs that were added at least `ageMs` ago. */
  olderThan(ageMs: number): RunClaim[] {
    const latest = performance.now() - ageMs;
    return [...this.#executions.values()].filter(({ since }) => since <= latest).map(({ claim }) => claim);
  }

  /** Ends the execution of a run that this process no longer holds. */
  lose(claim: RunClaim, reason: LeaseLost): void {
    this.#executions.get(keyOf(claim))?.lost.abort(reason);
  }
}
