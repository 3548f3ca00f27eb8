/** How long the result of an empty poll is valid, in milliseconds. */
const validMs = 3_000;

const noCommands: string[] = [];

/**
 * Caches that the last poll of a node found no new command. The next poll skips the database while no change event
 * arrives and the device runs exactly the commands that are leased to it.
 */
export class NodeIdleState {
  #commandIds = noCommands;
  #changes = 0;
  #polledAt = Number.NEGATIVE_INFINITY;
  #changesAtPoll = -1;

  /** Records that a change event arrived, or may have been missed. */
  changed(): void {
    this.#changes += 1;
  }

  /** Disables the cache, because this object receives no more change events. */
  disable(): void {
    this.#changes = Number.NaN;
  }

  /** Number of change events so far. Read it before a poll, and pass it to `recordPoll` after the poll. */
  get changes(): number {
    return this.#changes;
  }

  /** Records that a poll found no commands other than `commandIds`. */
  recordPoll(changes: number, at: number, commandIds: string[]): void {
    this.#changesAtPoll = changes;
    this.#polledAt = at;
    this.#commandIds = commandIds.length === 0 ? noCommands : commandIds;
  }

  leased(commandId: string): void {
    this.#commandIds = [...this.#commandIds, commandId];
  }

  ended(commandId: string): void {
    if (this.#commandIds.includes(commandId)) this.#commandIds = this.#commandIds.filter((id) => id !== commandId);
  }

  /** Whether a poll of a device that runs exactly these commands would find no change. */
  isIdle(commandIds: readonly string[]): boolean {
    return (
      performance.now() - this.#polledAt < validMs &&
      this.#changes === this.#changesAtPoll &&
      commandIds.length === this.#commandIds.length &&
      commandIds.every((id) => this.#commandIds.includes(id))
    );
  }
}
