import type { Events } from '../../platform/events/events.ts';
import { nodeTopic } from './commands.ts';

/** For how long a look at the database holds, in milliseconds. */
const holdsMs = 3_000;

/**
 * What a device's channel knows of the node since the last look at the database: as long as nobody told of a change, and the device holds just
 * what was handed to it, the next poll would find nothing, and need not look.
 */
export class QuietNode implements Disposable {
  readonly #owned: Disposable[];
  readonly #handedOut = new Set<string>();
  #changes = 0;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #changesThen = -1;

  constructor(events: Events, nodeId: string) {
    const changed = () => void (this.#changes += 1);
    this.#owned = [events.subscribe(nodeTopic(nodeId), changed), events.onReconnect(changed)];
  }

  /** Says that a look begins; call what it answers with what the device holds after it, if there was nothing else for it. */
  looks(): (held: readonly string[]) => void {
    const changes = this.#changes;
    const now = performance.now();
    return (held) => {
      [this.#lookedAt, this.#changesThen] = [now, changes];
      this.#handedOut.clear();
      for (const id of held) this.#handedOut.add(id);
    };
  }

  handedOut(commandId: string): void {
    this.#handedOut.add(commandId);
  }

  ended(commandId: string): void {
    this.#handedOut.delete(commandId);
  }

  /** Whether a poll of a device that holds these, and nothing else, would find nothing. */
  isQuiet(held: readonly string[]): boolean {
    return (
      performance.now() - this.#lookedAt < holdsMs &&
      this.#changes === this.#changesThen &&
      held.length === this.#handedOut.size &&
      held.every((id) => this.#handedOut.has(id))
    );
  }

  [Symbol.dispose](): void {
    for (const owned of this.#owned) owned[Symbol.dispose]();
  }
}
