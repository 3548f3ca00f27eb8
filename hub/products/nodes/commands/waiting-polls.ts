import type { DeviceIdentity } from '../store.ts';
import type { HandOut } from './lease-commands.ts';
import type { WaitingPoll } from './waiting-poll.ts';

/** Maximum time that a poll is reserved for a command that is being written, in milliseconds. */
const keptMs = 2_000;

/** A poll that is reserved for one command. */
export interface KeptPoll {
  /** Delivers the committed command. Returns false when the poll has ended. */
  deliver(handedOut: HandOut): boolean;
}

/** Ends and wakes the polls. */
export interface PollMover {
  /** Ends a poll with a command that is leased to it. Returns false when the poll does not wait any more. */
  take(poll: WaitingPoll, handedOut: HandOut): boolean;
  /** Makes a poll query the database. */
  wake(poll: WaitingPoll): void;
}

const none: readonly WaitingPoll[] = [];

/** The polls of devices in this process. A new command is leased to a waiting poll in the statement that writes it. */
export class WaitingPolls {
  /** Oldest first. Lists are replaced, never changed, so that polls can end while a caller iterates over a list. */
  readonly #byNode = new Map<string, WaitingPoll[]>();
  mover: PollMover | undefined;

  of(nodeId: string): readonly WaitingPoll[] {
    return this.#byNode.get(nodeId) ?? none;
  }

  add(poll: WaitingPoll): void {
    const { nodeId } = poll.request.device;
    this.#byNode.set(nodeId, [...this.of(nodeId), poll]);
  }

  remove(poll: WaitingPoll): void {
    const { nodeId } = poll.request.device;
    const polls = this.#byNode.get(nodeId);
    const index = polls?.indexOf(poll) ?? -1;
    if (polls === undefined || index === -1) return;
    if (polls.length === 1) this.#byNode.delete(nodeId);
    else this.#byNode.set(nodeId, polls.toSpliced(index, 1));
  }

  /** Reserves a poll of a node for one command. Returns null when none waits here, or the workspace does not match. */
  keep({ tenantId, nodeId }: DeviceIdentity): KeptPoll | null {
    const { mover } = this;
    const poll = this.of(nodeId).find(
      ({ isParked, isKept, request }) => isParked && !isKept && request.max > 0 && request.device.tenantId === tenantId,
    );
    if (poll === undefined || mover === undefined) return null;
    poll.isKept = true;
    let isKept = true;
    const end = () => {
      const wasKept = isKept;
      isKept = false;
      clearTimeout(late);
      return wasKept;
    };
    // If the transaction takes too long or fails, the poll queries the database.
    const late = setTimeout(() => end() && mover.wake(poll), keptMs);
    return { deliver: (handedOut) => end() && mover.take(poll, handedOut) };
  }
}
