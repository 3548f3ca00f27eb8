/** For how long a look at the database holds, in milliseconds. */
const holdsMs = 3_000;

const nothing: string[] = [];

/**
 * What a device's channel knows of the node since the last look at the database: as long as nobody told of a change, and the device holds just
 * what was handed to it, the next poll would find nothing, and need not look.
 */
export class QuietNode {
  #handedOut = nothing;
  #changes = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #changesThen = -1;

  /** Somebody told of a change, or may have. */
  changed(): void {
    this.#changes += 1;
  }

  /** Nobody tells of changes any more. */
  retire(): void {
    this.#changes = Number.NaN;
  }

  /** How often it has changed so far; a look is `looked` with that of its beginning. */
  get changes(): number {
    return this.#changes;
  }

  /** Notes what the device holds after a look that found nothing else for it. */
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

  /** Whether a poll of a device that holds these, and nothing else, would find nothing. */
  isQuiet(held: readonly string[]): boolean {
    return (
      performance.now() - this.#lookedAt < holdsMs &&
      this.#changes === this.#changesThen &&
      held.length === this.#handedOut.length &&
      held.every((id) => this.#handedOut.includes(id))
    );
  }
}
