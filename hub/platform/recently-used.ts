/** A map with a bound: what was used longest ago makes room. */
export class RecentlyUsed<Value> {
  readonly #entries = new Map<string, Value>();
  readonly #max: number;

  constructor(max: number) {
    this.#max = max;
  }

  get size(): number {
    return this.#entries.size;
  }

  get(key: string): Value | undefined {
    const value = this.#entries.get(key);
    if (value !== undefined) {
      this.#entries.delete(key);
      this.#entries.set(key, value);
    }
    return value;
  }

  set(key: string, value: Value): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    if (this.#entries.size <= this.#max) return;
    for (const eldest of this.#entries.keys()) {
      this.#entries.delete(eldest);
      break;
    }
  }

  /** Removes every entry that `isOver` says so of. */
  drop(isOver: (value: Value) => boolean): void {
    for (const [key, value] of this.#entries) if (isOver(value)) this.#entries.delete(key);
  }
}
