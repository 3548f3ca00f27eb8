import { getHeapStatistics } from 'node:v8';
import type { JsonValue } from '../../../shared/json.ts';

/** What may be used without a reservation where a budget names nothing else, in bytes. */
export const freeBytes = 256 * 1024;

/** Heap that JSON uses once it is parsed, by its length as text: 1 for long strings, 4 for numbers, up to 20 for empty objects. */
const heapPerByte = 8;

/** Estimates the heap that JSON of this length uses, in bytes. */
export const heapOfText = (bytes: number): number => bytes * heapPerByte;

/** Estimates the heap that a value uses, in bytes. */
export function heapOf(value: JsonValue): number {
  let bytes = 0;
  const open: JsonValue[] = [value];
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (typeof next === 'string') bytes += 24 + next.length * 2;
    else if (typeof next !== 'object' || next === null) bytes += 8;
    else if (Array.isArray(next)) {
      bytes += 40 + next.length * 8;
      for (const inner of next) open.push(inner);
    } else {
      bytes += 56;
      for (const key in next) {
        bytes += 16 + key.length;
        open.push(next[key] as JsonValue);
      }
    }
  }
  return bytes;
}

interface Request {
  bytes: number;
  /** By the clock of `performance`. */
  since: number;
  grant: () => void;
}

interface Share {
  used: number;
  waiting: Request[];
}

/** How long a request waits before freed memory is kept for it, in milliseconds: until then smaller requests may pass it. */
const agedMs = 1_000;

/** A reservation was not granted in time. */
export class OutOfMemory extends Error {
  constructor() {
    super('no memory was free in time');
  }
}

export interface MemoryBudgetOptions {
  /** What may be reserved in all, in bytes. */
  limitBytes: number;
  /** How long a reservation waits for room, in milliseconds. */
  waitMs: number;
  /** The largest part of the limit as which one reservation counts; a quarter when left out. */
  largestPart?: number;
  /** A reservation of up to so many bytes counts as none. */
  freeBytes?: number;
  /**
   * What a workspace may have at most, as a part of what is left: all of it when left out. With a quarter, each workspace
   * that takes what it can leaves four fifths of that to the others.
   */
  partOfFree?: number;
}

/** A part of the heap that V8 may use, in bytes. */
export const partOfHeap = (part: number): number => getHeapStatistics().heap_size_limit * part;

/**
 * Memory of this process for large values of one kind. A caller that needs more than the free bytes reserves it before it reads, and keeps nothing
 * large while it waits. A workspace that has some gets at most as much more as is left free; workspaces take turns, and freed memory is kept
 * for a request that has waited long. One reservation counts at most as a part of the limit: a larger one runs with fewer others.
 */
export class MemoryBudget {
  readonly #limit: number;
  readonly #shares = new Map<string, Share>();
  readonly #waitMs: number;
  readonly #most: number;
  /** A reservation of up to so many bytes counts as none. */
  readonly freeBytes: number;
  readonly #partOfFree: number;
  #used = 0;

  constructor({
    limitBytes,
    waitMs,
    largestPart = 1 / 4,
    freeBytes: free = freeBytes,
    partOfFree = 1,
  }: MemoryBudgetOptions) {
    this.#limit = limitBytes;
    this.#waitMs = waitMs;
    this.#most = limitBytes * largestPart;
    this.freeBytes = free;
    this.#partOfFree = partOfFree;
  }

  /** Bytes that are reserved, and workspaces that reserve or wait. */
  get counts(): { used: number; workspaces: number } {
    return { used: this.#used, workspaces: this.#shares.size };
  }

  /** A reservation of nothing yet, which counts for a workspace. */
  open(tenantId: string): MemoryReservation {
    return new MemoryReservation({
      most: this.#most,
      freeBytes: this.freeBytes,
      isScarce: () => this.#aged() !== undefined,
      take: (bytes) => this.#take(tenantId, bytes),
      wait: (bytes, signal) => this.#wait(tenantId, bytes, signal),
      free: (bytes) => this.#release(tenantId, bytes),
    });
  }

  #shareOf(tenantId: string): Share {
    let share = this.#shares.get(tenantId);
    if (share === undefined) {
      share = { used: 0, waiting: [] };
      this.#shares.set(tenantId, share);
    }
    return share;
  }

  /** The request that has waited longest, once it has waited long. One that only its own workspace holds up does not count. */
  #aged(): Request | undefined {
    let oldest: Request | undefined;
    for (const { used, waiting } of this.#shares.values()) {
      const [next] = waiting;
      if (next === undefined || used + next.bytes > this.#partOfFree * (this.#limit - used)) continue;
      if (next.since < (oldest?.since ?? Infinity)) oldest = next;
    }
    return oldest !== undefined && performance.now() - oldest.since > agedMs ? oldest : undefined;
  }

  #fits(share: Share, bytes: number, request?: Request): boolean {
    const aged = this.#aged();
    const kept = aged === undefined || aged === request ? 0 : aged.bytes;
    return share.used + bytes <= this.#partOfFree * (this.#limit - this.#used - kept);
  }

  #take(tenantId: string, bytes: number): boolean {
    const share = this.#shareOf(tenantId);
    const fits = share.waiting.length === 0 && this.#fits(share, bytes);
    if (fits) this.#grant(share, bytes);
    else this.#forgetIfIdle(tenantId, share);
    return fits;
  }

  #grant(share: Share, bytes: number): void {
    share.used += bytes;
    this.#used += bytes;
  }

  async #wait(tenantId: string, bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#take(tenantId, bytes)) return;
    const share = this.#shareOf(tenantId);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const request: Request = { bytes, since: performance.now(), grant: resolve };
    share.waiting.push(request);
    const leave = (reason: unknown) => {
      const at = share.waiting.indexOf(request);
      // It may have been granted in this very turn.
      if (at === -1) return;
      share.waiting.splice(at, 1);
      this.#grantWaiting();
      this.#forgetIfIdle(tenantId, share);
      reject(reason);
    };
    const onAbort = () => leave(signal.reason);
    const late = setTimeout(() => leave(new OutOfMemory()), this.#waitMs);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(late);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #release(tenantId: string, bytes: number): void {
    const share = this.#shareOf(tenantId);
    share.used -= bytes;
    this.#used -= bytes;
    this.#forgetIfIdle(tenantId, share);
    this.#grantWaiting();
  }

  /** Grants what fits: one request of each workspace in turn, and of a workspace in their order. */
  #grantWaiting(): void {
    for (let granted = true; granted;) {
      granted = false;
      const shares = Array.from(this.#shares);
      for (const [tenantId, share] of shares) {
        const [next] = share.waiting;
        if (next === undefined || !this.#fits(share, next.bytes, next)) continue;
        share.waiting.shift();
        this.#grant(share, next.bytes);
        // The other workspaces come first next time.
        this.#shares.delete(tenantId);
        this.#shares.set(tenantId, share);
        next.grant();
        granted = true;
      }
    }
  }

  #forgetIfIdle(tenantId: string, share: Share): void {
    if (share.used === 0 && share.waiting.length === 0) this.#shares.delete(tenantId);
  }
}

interface Source {
  /** The most that one reservation counts. */
  most: number;
  freeBytes: number;
  isScarce: () => boolean;
  take: (bytes: number) => boolean;
  wait: (bytes: number, signal: AbortSignal) => Promise<void>;
  free: (bytes: number) => void;
}

/** What one run, or one answer, has reserved. Once disposed it reserves nothing more, also where it waits at that moment. */
export class MemoryReservation implements Disposable {
  readonly #source: Source;
  #bytes = 0;
  #isDisposed = false;

  constructor(source: Source) {
    this.#source = source;
  }

  /** What it counts now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether another request has waited long, so that this reservation should be given back and made again. */
  get isWanted(): boolean {
    return this.#bytes > 0 && this.#source.isScarce();
  }

  /** Changes the reservation without a wait; false, and nothing changed, when there is no room. */
  tryResize(wanted: number): boolean {
    const bytes = this.#isDisposed ? 0 : this.#countOf(wanted);
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#source.take(more)) return false;
    this.#bytes = bytes;
    if (more < 0) this.#source.free(-more);
    return true;
  }

  /**
   * Changes the reservation, and waits for room. While it waits it has none, so the caller must not keep anything large.
   * @throws the reason of the signal; OutOfMemory when there was no room for too long.
   */
  async resize(wanted: number, signal: AbortSignal): Promise<void> {
    if (this.tryResize(wanted)) return;
    this.tryResize(0);
    const bytes = this.#countOf(wanted);
    await this.#source.wait(bytes, signal);
    this.#bytes = bytes;
    if (this.#isDisposed) this.tryResize(0);
  }

  /**
   * Makes the reservation larger, and waits for room with what it has: for a value that arrives in pieces. The caller may keep what it has received.
   * @throws the reason of the signal; OutOfMemory when there was no room for too long.
   */
  async grow(wanted: number, signal: AbortSignal): Promise<void> {
    const more = this.#countOf(wanted) - this.#bytes;
    if (more <= 0 || this.tryResize(wanted)) return;
    await this.#source.wait(more, signal);
    this.#bytes += more;
    if (this.#isDisposed) this.tryResize(0);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.tryResize(0);
  }

  #countOf(bytes: number): number {
    return bytes <= this.#source.freeBytes ? 0 : Math.min(bytes, this.#source.most);
  }
}
