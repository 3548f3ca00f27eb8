/** What one workspace has of the capacity of this process. */
interface Share<Item> {
  /** Items that wait to begin, with the time since when, by `performance.now()`. */
  waiting: { item: Item; since: number }[];
  /** Capacity for items that are about to be added. */
  reserved: number;
  /** Items in progress that got their response from outside, and wait for a slot to continue. */
  resuming: (() => void)[];
  /** Slots in use. */
  working: number;
  /** Items in progress, including those that wait for a response from outside. */
  inProgress: number;
  /** When it last got a slot, as the number of slots given until then. */
  servedAt: number;
}

export interface FairQueueLimits {
  /** Slots: items that execute at the same time. */
  slots: number;
  /** Items in progress, including those that wait for a response from outside. */
  maxInProgress: number;
  /** Items that wait to begin, including reservations. */
  maxWaiting: number;
}

/** Who uses a free slot next: an item that begins, or one that continues. */
export type Turn<Item> = { tenantId: string; item: Item } | { tenantId: string; resume: () => void };

/**
 * Shares the slots of a process between the workspaces that have something to do. A free slot goes to the workspace that
 * uses the fewest, and of equal ones to the one that waited longest. A workspace can have at most as many items in progress as
 * there are free ones, and at most half of the free capacity to wait, so that the next workspace always finds some.
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

  /** All that is counted. Nothing of it is left once all items have ended or were removed. */
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

  /** How often a slot became free. */
  get slotsFreed(): number {
    return this.#slotsFreed;
  }

  /** Number of further items that can be in progress, besides those that wait. */
  get room(): number {
    return this.#limits.maxInProgress - this.#inProgress - this.#waiting - this.#reserved;
  }

  /** Number of further items that a workspace can add. */
  roomFor(tenantId: string): number {
    const share = this.#shares.get(tenantId);
    const own = share === undefined ? 0 : share.waiting.length + share.reserved;
    const toWait = Math.ceil((this.#limits.maxWaiting - this.#waiting - this.#reserved - own) / 2);
    return Math.max(0, Math.min(toWait, this.#freeInProgress(share) - own));
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
    this.#forgetIfIdle(tenantId, share);
  }

  /** Adds an item, which begins when it has its turn. */
  add(tenantId: string, item: Item): void {
    this.#shareOf(tenantId).waiting.push({ item, since: performance.now() });
    this.#waiting += 1;
  }

  /** Removes the items that have waited longer than a time in milliseconds. */
  removeWaiting(longerThanMs = Number.NEGATIVE_INFINITY): Item[] {
    const before = performance.now() - longerThanMs;
    const removed: Item[] = [];
    for (const [tenantId, share] of this.#shares) {
      const old = share.waiting.filter(({ since }) => since < before);
      if (old.length === 0) continue;
      share.waiting = share.waiting.filter(({ since }) => since >= before);
      this.#waiting -= old.length;
      removed.push(...old.map(({ item }) => item));
      this.#forgetIfIdle(tenantId, share);
    }
    return removed;
  }

  /** Has an item in progress wait for a slot. */
  resume(tenantId: string, resume: () => void): void {
    this.#shareOf(tenantId).resuming.push(resume);
  }

  /** Gives a free slot to the next item. Null if no slot is free or no item waits. */
  take(): Turn<Item> | null {
    if (this.freeSlots <= 0) return null;
    let next: [string, Share<Item>] | undefined;
    for (const [tenantId, share] of this.#shares) {
      const wants = share.resuming.length > 0 || (share.waiting.length > 0 && this.#freeInProgress(share) > 0);
      if (!wants) continue;
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

  /** An item gives its slot to others. It is still in progress. */
  freeSlot(tenantId: string): void {
    this.#slotsFreed += 1;
    this.#working -= 1;
    this.#shareOf(tenantId).working -= 1;
  }

  /** An item that has no slot any more is no longer in progress. */
  end(tenantId: string): void {
    const share = this.#shareOf(tenantId);
    this.#inProgress -= 1;
    share.inProgress -= 1;
    this.#forgetIfIdle(tenantId, share);
  }

  /** Number of items that a workspace can still begin: half of what is free beyond what it has. */
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

  #forgetIfIdle(tenantId: string, share: Share<Item>): void {
    if (share.inProgress === 0 && share.waiting.length === 0 && share.reserved === 0) this.#shares.delete(tenantId);
  }
}
