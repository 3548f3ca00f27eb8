import { setImmediate as nextTurn } from 'node:timers/promises';

/**
 * Joins concurrent reads of the same key into one. A read begins after all calls that share its result, so it contains
 * every change that a caller has been notified of.
 */
export class SharedReads<Result> {
  readonly #pending = new Map<string, Promise<Result>>();

  read(key: string, read: () => Promise<Result>): Promise<Result> {
    const pending = this.#pending.get(key);
    if (pending !== undefined) return pending;
    const result = nextTurn().then(() => {
      this.#pending.delete(key);
      return read();
    });
    this.#pending.set(key, result);
    return result;
  }
}
