import type { HandOut } from './hand-out.ts';

/** For how long a poll is kept for a command that is being written, in milliseconds: longer than any such transaction takes that is of use. */
const keptMs = 2_000;

/** A poll that waits at this process. */
export interface ParkedPoll {
  /** Ends it with a command that was leased to it; false when it has ended. */
  take(handedOut: HandOut): boolean;
  /** Has it look for itself. */
  wake(): void;
}

/** A poll that is kept for one command. */
export interface KeptPoll {
  /** Hands the command over once it is committed; false when the poll is gone. */
  deliver(handedOut: HandOut): boolean;
}

/** The polls that wait at this process, so that a command can be leased as it is written, and handed over without a look at the database. */
export class ParkedPolls {
  readonly #byNode = new Map<string, Set<ParkedPoll>>();

  /** Lets commands be handed to a poll until it is disposed. */
  park(nodeId: string, poll: ParkedPoll): Disposable {
    const polls = this.#byNode.get(nodeId) ?? new Set();
    polls.add(poll);
    this.#byNode.set(nodeId, polls);
    return { [Symbol.dispose]: () => this.#remove(nodeId, poll) };
  }

  /** Keeps a poll of a node for one command; null when none waits here. */
  keep(nodeId: string): KeptPoll | null {
    const polls = this.#byNode.get(nodeId);
    if (polls === undefined) return null;
    const [poll] = polls;
    if (poll === undefined) return null;
    this.#remove(nodeId, poll);
    let isKept = true;
    const end = () => {
      const wasKept = isKept;
      isKept = false;
      clearTimeout(late);
      return wasKept;
    };
    // Whatever became of the command: the poll finds out by itself.
    const late = setTimeout(() => end() && poll.wake(), keptMs);
    return { deliver: (handedOut) => end() && poll.take(handedOut) };
  }

  #remove(nodeId: string, poll: ParkedPoll): void {
    const polls = this.#byNode.get(nodeId);
    polls?.delete(poll);
    if (polls?.size === 0) this.#byNode.delete(nodeId);
  }
}
