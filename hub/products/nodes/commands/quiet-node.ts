/** How long the result of an empty poll is valid, in milliseconds. */
const holdsMs = 3_000;

const nothing: string[] = [];

/**
 * Caches that the last poll of a node found nothing. While no change event arrives, and the device runs exactly the
 * commands that it was sent, the next poll skips the database.
 */
export class QuietNode {
  #handedOut = nothing;
  #changes = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #changesThen = -1;

  /** Records that a change event arrived, or may have been missed. */
  changed(): void {
    this.#changes += 1;
  }

  /** Disables the cache, because this object receives no more change events. */
  retire(): void {
    this.#changes = Number.NaN;
  }

  /** Number of changes so far. Read it before a poll, and pass it to `looked` after the poll. */
  get changes(): number {
    return this.#changes;
  }

  /** Records the commands of the device after a poll that found no others. */
  looked(changes: number, at: number, held: string[]): void {
    this.#changesThen = changes;
    this.#lookedAt = at;
    this.#handedOut = held.length === 0 ? nothing : held;
  }

  handedOut(commandId: string): void {
    this.#handedOut = [...this.#handedOut, commandId];
  }

  ended(commandId: string): void {
    if (this.#handedOut.includes(commandId)) this.#handedOut = this.#handedOut.filter((id) => id !== commandId);
  }

  /** Whether a poll of a device that runs exactly these commands would find nothing. */
  isQuiet(held: readonly string[]): boolean {
    return (
      performance.now() - this.#lookedAt < holdsMs &&
      this.#changes === this.#changesThen &&
      held.length === this.#handedOut.length &&
      held.every((id) => this.#handedOut.includes(id))
    );
  }
}
