import type { DeviceIdentity } from '../store.ts';
import type { HandOut } from './lease-commands.ts';
import type { WaitingPoll } from './waiting-poll.ts';

/** For how long a poll is kept for a command that is being written, in milliseconds: longer than any such transaction takes that is of use. */
const keptMs = 2_000;

/** A poll that is kept for one command. */
export interface KeptPoll {
  /** Hands the command over once it is committed; false when the poll is gone. */
  deliver(handedOut: HandOut): boolean;
}

/** Who moves polls on. */
export interface PollMover {
  /** Ends a poll with a command that was leased to it; false when it has ended, or looks for itself. */
  take(poll: WaitingPoll, handedOut: HandOut): boolean;
  /** Has it look for itself. */
  wake(poll: WaitingPoll): void;
}

const none: readonly WaitingPoll[] = [];

/** The polls of devices at this process, so that a command can be leased as it is written, and handed over without a look at the database. */
export class WaitingPolls {
  /** The oldest first; lists are replaced and not changed, so that whoever goes through one may end its polls. */
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

  /** Keeps a poll of a node for one command; null when none waits here. Nobody keeps a poll of another workspace by naming its node. */
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
    // Whatever became of the command: the poll finds out by itself.
    const late = setTimeout(() => end() && mover.wake(poll), keptMs);
    return { deliver: (handedOut) => end() && mover.take(poll, handedOut) };
  }
}
