import type { DeviceIdentity } from '../store.ts';
import type { PollResult } from './lease-commands.ts';
import type { WaitingPoll } from './waiting-poll.ts';

/** Maximum time that a poll is reserved for a command that is being written, in milliseconds. */
const reservationMs = 2_000;

/** A poll that is reserved for one command. */
export interface ReservedPoll {
  /** Delivers the committed command. Returns false when the poll has ended. */
  deliver(result: PollResult): boolean;
}

/** Completes and wakes waiting polls. */
export interface PollController {
  /** Ends a poll with a command that is leased to it. Returns false when the poll no longer waits. */
  complete(poll: WaitingPoll, result: PollResult): boolean;
  /** Makes a poll query the database. */
  wake(poll: WaitingPoll): void;
}

const noPolls: readonly WaitingPoll[] = [];

/** The polls of devices in this process. A new command is leased to a waiting poll in the statement that writes it. */
export class WaitingPolls {
  /** Oldest first. Lists are replaced, never changed, so that polls can end while a caller iterates over a list. */
  readonly #byNode = new Map<string, WaitingPoll[]>();
  controller: PollController | undefined;

  of(nodeId: string): readonly WaitingPoll[] {
    return this.#byNode.get(nodeId) ?? noPolls;
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

  /** Reserves a poll of a node for one command. Returns null when the node of this workspace has no free poll here. */
  reserve({ tenantId, nodeId }: DeviceIdentity): ReservedPoll | null {
    const { controller } = this;
    const poll = this.of(nodeId).find(
      ({ isWaiting, isReserved, request }) =>
        isWaiting && !isReserved && request.max > 0 && request.device.tenantId === tenantId,
    );
    if (poll === undefined || controller === undefined) return null;
    poll.isReserved = true;
    let isReserved = true;
    const release = () => {
      const wasReserved = isReserved;
      isReserved = false;
      clearTimeout(timeout);
      return wasReserved;
    };
    // If the transaction takes too long or fails, the poll queries the database.
    const timeout = setTimeout(() => release() && controller.wake(poll), reservationMs);
    return { deliver: (result) => release() && controller.complete(poll, result) };
  }
}
