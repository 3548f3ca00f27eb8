/** What one workspace uses of the capacity of this process. */
interface Share<Item> {
  /** Items that wait to begin. `since` is the time when they were added, by `performance.now()`. */
  waiting: { item: Item; since: number }[];
  /** Capacity for items that are about to be added. */
  reserved: number;
  /** Items in progress that have received an external response and wait for a slot to continue. */
  resuming: (() => void)[];
  /** Slots in use. */
  working: number;
  /** Items in progress, including those that wait for an external response. */
  inProgress: number;
  /** Sequence number of the last slot that the workspace received. */
  servedAt: number;
}

export interface FairQueueLimits {
  /** Items that execute at the same time. */
  slots: number;
  /** Items in progress, including those that wait for an external response. */
  maxInProgress: number;
  /** Items that wait to begin, including reservations. */
  maxWaiting: number;
}

/** The next use of a free slot: an item begins, or an item in progress continues. */
export type Turn<Item> = { tenantId: string; item: Item } | { tenantId: string; resume: () => void };

/**
 * Shares the slots of a process fairly between workspaces. A free slot goes to the workspace that uses the fewest slots, and among
 * equal ones to the workspace that was served least recently. A workspace can use at most half of the capacity that other workspaces
 * leave, for items in progress and for waiting items. So the next workspace always finds capacity.
 */
export class FairQueue<Item> {
  readonly #limits: FairQueueLimits;
  readonly #shares = new Map<string, Share<Item>>();
  #working = 0;
  #inProgress = 0;
  #waiting = 0;
  #reserved = 0;
  #served = 0;
  #slotsFreed = 0;

  constructor(limits: FairQueueLimits) {
    this.#limits = { ...limits, maxInProgress: Math.max(limits.maxInProgress, limits.slots) };
  }

  /** Current counts. All are 0 once all items have ended or were removed. */
  get counts(): Record<'workspaces' | 'working' | 'inProgress' | 'waiting' | 'reserved', number> {
    return {
      workspaces: this.#shares.size,
      working: this.#working,
      inProgress: this.#inProgress,
      waiting: this.#waiting,
      reserved: this.#reserved,
    };
  }

  get freeSlots(): number {
    return this.#limits.slots - this.#working;
  }

  /** Number of times that a slot became free. */
  get slotsFreed(): number {
    return this.#slotsFreed;
  }

  /** Number of items that can still be added, over all workspaces, without exceeding the maximum in progress. */
  get capacity(): number {
    return this.#limits.maxInProgress - this.#inProgress - this.#waiting - this.#reserved;
  }

  /** Number of items that a workspace can still add. */
  capacityFor(tenantId: string): number {
    const share = this.#shares.get(tenantId);
    const own = share === undefined ? 0 : share.waiting.length + share.reserved;
    const canWait = Math.ceil((this.#limits.maxWaiting - this.#waiting - this.#reserved - own) / 2);
    return Math.max(0, Math.min(canWait, this.#freeInProgress(share) - own));
  }

  /** Reserves capacity for an item that is about to be added. Release the reservation when the item is added. */
  reserve(tenantId: string): void {
    this.#shareOf(tenantId).reserved += 1;
    this.#reserved += 1;
  }

  releaseReservation(tenantId: string): void {
    const share = this.#shareOf(tenantId);
    share.reserved -= 1;
    this.#reserved -= 1;
    this.#removeIfIdle(tenantId, share);
  }

  /** Adds an item. It begins when `acquire` returns it. */
  add(tenantId: string, item: Item): void {
    this.#shareOf(tenantId).waiting.push({ item, since: performance.now() });
    this.#waiting += 1;
  }

  /** Removes and returns the items that have waited longer than `longerThanMs`; all waiting items when omitted. */
  removeWaiting(longerThanMs = Number.NEGATIVE_INFINITY): Item[] {
    const before = performance.now() - longerThanMs;
    const removed: Item[] = [];
    for (const [tenantId, share] of this.#shares) {
      const old = share.waiting.filter(({ since }) => since < before);
      if (old.length === 0) continue;
      share.waiting = share.waiting.filter(({ since }) => since >= before);
      this.#waiting -= old.length;
      removed.push(...old.map(({ item }) => item));
      this.#removeIfIdle(tenantId, share);
    }
    return removed;
  }

  /** Lets an item in progress wait for a slot. `acquire` returns `resume`. */
  resume(tenantId: string, resume: () => void): void {
    this.#shareOf(tenantId).resuming.push(resume);
  }

  /** Acquires a free slot for the next item. Null if no slot is free or no item can use one. */
  acquire(): Turn<Item> | null {
    if (this.freeSlots <= 0) return null;
    let next: [string, Share<Item>] | undefined;
    for (const [tenantId, share] of this.#shares) {
      const canUse = share.resuming.length > 0 || (share.waiting.length > 0 && this.#freeInProgress(share) > 0);
      if (!canUse) continue;
      if (
        next === undefined ||
        share.working < next[1].working ||
        (share.working === next[1].working && share.servedAt < next[1].servedAt)
      )
        next = [tenantId, share];
    }
    if (next === undefined) return null;
    const [tenantId, share] = next;
    this.#served += 1;
    share.servedAt = this.#served;
    this.#working += 1;
    share.working += 1;
    const resume = share.resuming.shift();
    if (resume !== undefined) return { tenantId, resume };
    const [first] = share.waiting.splice(0, 1) as [(typeof share.waiting)[number]];
    this.#waiting -= 1;
    this.#inProgress += 1;
    share.inProgress += 1;
    return { tenantId, item: first.item };
  }

  /** Releases the slot of an item. The item is still in progress. */
  freeSlot(tenantId: string): void {
    this.#slotsFreed += 1;
    this.#working -= 1;
    this.#shareOf(tenantId).working -= 1;
  }

  /** Ends an item that has released its slot. */
  end(tenantId: string): void {
    const share = this.#shareOf(tenantId);
    this.#inProgress -= 1;
    share.inProgress -= 1;
    this.#removeIfIdle(tenantId, share);
  }

  /** Number of items that a workspace can still begin: half of the free capacity, after subtracting its own items in progress. */
  #freeInProgress(share: Share<Item> | undefined): number {
    return Math.ceil((this.#limits.maxInProgress - this.#inProgress - (share?.inProgress ?? 0)) / 2);
  }

  #shareOf(tenantId: string): Share<Item> {
    const known = this.#shares.get(tenantId);
    if (known !== undefined) return known;
    const share: Share<Item> = {
      waiting: [],
      reserved: 0,
      resuming: [],
      working: 0,
      inProgress: 0,
      servedAt: this.#served,
    };
    this.#shares.set(tenantId, share);
    return share;
  }

  #removeIfIdle(tenantId: string, share: Share<Item>): void {
    if (share.inProgress === 0 && share.waiting.length === 0 && share.reserved === 0) this.#shares.delete(tenantId);
  }
}
