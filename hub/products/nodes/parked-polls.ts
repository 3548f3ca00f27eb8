import type { HandOut } from './hand-out.ts';
import type { DeviceIdentity } from './store.ts';

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

/** Nobody keeps a poll of another workspace by naming its node. */
const keyOf = ({ tenantId, nodeId }: DeviceIdentity) => `${tenantId} ${nodeId}`;

/** The polls that wait at this process, so that a command can be leased as it is written, and handed over without a look at the database. */
export class ParkedPolls {
  readonly #byNode = new Map<string, Set<ParkedPoll>>();

  /** Lets commands be handed to a poll until it is disposed. */
  park(device: DeviceIdentity, poll: ParkedPoll): Disposable {
    const key = keyOf(device);
    const polls = this.#byNode.get(key) ?? new Set();
    polls.add(poll);
    this.#byNode.set(key, polls);
    return { [Symbol.dispose]: () => this.#remove(key, poll) };
  }

  /** Keeps a poll of a node for one command; null when none waits here. */
  keep(device: DeviceIdentity): KeptPoll | null {
    const key = keyOf(device);
    const polls = this.#byNode.get(key);
    if (polls === undefined) return null;
    const [poll] = polls;
    if (poll === undefined) return null;
    this.#remove(key, poll);
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

  #remove(key: string, poll: ParkedPoll): void {
    const polls = this.#byNode.get(key);
    polls?.delete(poll);
    if (polls?.size === 0) this.#byNode.delete(key);
  }
}
