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

interface WaitingRequest {
  bytes: number;
  /** By the clock of `performance`. */
  waitingSince: number;
  grant: () => void;
}

interface WorkspaceUsage {
  used: number;
  waiting: WaitingRequest[];
}

/** How long a request waits before freed memory is kept for it, in milliseconds: until then smaller requests may pass it. */
const starvationMs = 1_000;

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
  maxShareOfFree?: number;
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
  readonly #usages = new Map<string, WorkspaceUsage>();
  readonly #waitMs: number;
  readonly #maxReservation: number;
  /** A reservation of up to so many bytes counts as none. */
  readonly freeBytes: number;
  readonly #maxShareOfFree: number;
  #used = 0;

  constructor({
    limitBytes,
    waitMs,
    largestPart = 1 / 4,
    freeBytes: free = freeBytes,
    maxShareOfFree = 1,
  }: MemoryBudgetOptions) {
    this.#limit = limitBytes;
    this.#waitMs = waitMs;
    this.#maxReservation = limitBytes * largestPart;
    this.freeBytes = free;
    this.#maxShareOfFree = maxShareOfFree;
  }

  /** Bytes that are reserved, and workspaces that reserve or wait. */
  get counts(): { used: number; workspaces: number } {
    return { used: this.#used, workspaces: this.#usages.size };
  }

  /** A reservation of nothing yet, which counts for a workspace. */
  open(tenantId: string): MemoryReservation {
    return new MemoryReservation({
      maxBytes: this.#maxReservation,
      freeBytes: this.freeBytes,
      hasStarvingRequest: () => this.#starvingRequest() !== undefined,
      tryReserve: (bytes) => this.#tryReserve(tenantId, bytes),
      wait: (bytes, signal) => this.#wait(tenantId, bytes, signal),
      free: (bytes) => this.#release(tenantId, bytes),
    });
  }

  #usageOf(tenantId: string): WorkspaceUsage {
    let usage = this.#usages.get(tenantId);
    if (usage === undefined) {
      usage = { used: 0, waiting: [] };
      this.#usages.set(tenantId, usage);
    }
    return usage;
  }

  /** The request that has waited longest, once it has waited long. One that only its own workspace holds up does not count. */
  #starvingRequest(): WaitingRequest | undefined {
    let oldest: WaitingRequest | undefined;
    for (const { used, waiting } of this.#usages.values()) {
      const [next] = waiting;
      if (next === undefined || used + next.bytes > this.#maxShareOfFree * (this.#limit - used)) continue;
      if (next.waitingSince < (oldest?.waitingSince ?? Infinity)) oldest = next;
    }
    return oldest !== undefined && performance.now() - oldest.waitingSince > starvationMs ? oldest : undefined;
  }

  #fits(usage: WorkspaceUsage, bytes: number, request?: WaitingRequest): boolean {
    const starving = this.#starvingRequest();
    const kept = starving === undefined || starving === request ? 0 : starving.bytes;
    return usage.used + bytes <= this.#maxShareOfFree * (this.#limit - this.#used - kept);
  }

  #tryReserve(tenantId: string, bytes: number): boolean {
    const usage = this.#usageOf(tenantId);
    const fits = usage.waiting.length === 0 && this.#fits(usage, bytes);
    if (fits) this.#grant(usage, bytes);
    else this.#deleteIfIdle(tenantId, usage);
    return fits;
  }

  #grant(usage: WorkspaceUsage, bytes: number): void {
    usage.used += bytes;
    this.#used += bytes;
  }

  async #wait(tenantId: string, bytes: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#tryReserve(tenantId, bytes)) return;
    const usage = this.#usageOf(tenantId);
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const request: WaitingRequest = { bytes, waitingSince: performance.now(), grant: resolve };
    usage.waiting.push(request);
    const leave = (reason: unknown) => {
      const at = usage.waiting.indexOf(request);
      // It may have been granted in this very turn.
      if (at === -1) return;
      usage.waiting.splice(at, 1);
      this.#grantWaiting();
      this.#deleteIfIdle(tenantId, usage);
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
    const usage = this.#usageOf(tenantId);
    usage.used -= bytes;
    this.#used -= bytes;
    this.#deleteIfIdle(tenantId, usage);
    this.#grantWaiting();
  }

  /** Grants what fits: one request of each workspace in turn, and of a workspace in their order. */
  #grantWaiting(): void {
    for (let granted = true; granted;) {
      granted = false;
      const usages = Array.from(this.#usages);
      for (const [tenantId, usage] of usages) {
        const [next] = usage.waiting;
        if (next === undefined || !this.#fits(usage, next.bytes, next)) continue;
        usage.waiting.shift();
        this.#grant(usage, next.bytes);
        // The other workspaces come first next time.
        this.#usages.delete(tenantId);
        this.#usages.set(tenantId, usage);
        next.grant();
        granted = true;
      }
    }
  }

  #deleteIfIdle(tenantId: string, usage: WorkspaceUsage): void {
    if (usage.used === 0 && usage.waiting.length === 0) this.#usages.delete(tenantId);
  }
}

interface ReservationSource {
  /** The most that one reservation counts. */
  maxBytes: number;
  freeBytes: number;
  hasStarvingRequest: () => boolean;
  tryReserve: (bytes: number) => boolean;
  wait: (bytes: number, signal: AbortSignal) => Promise<void>;
  free: (bytes: number) => void;
}

/** What one run, or one answer, has reserved. Once disposed it reserves nothing more, also where it waits at that moment. */
export class MemoryReservation implements Disposable {
  readonly #source: ReservationSource;
  #bytes = 0;
  #isDisposed = false;

  constructor(source: ReservationSource) {
    this.#source = source;
  }

  /** What it counts now. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether another request has waited long, so that this reservation should be given back and made again. */
  get isWanted(): boolean {
    return this.#bytes > 0 && this.#source.hasStarvingRequest();
  }

  /** Changes the reservation without a wait; false, and nothing changed, when there is no room. */
  tryResize(wanted: number): boolean {
    const bytes = this.#isDisposed ? 0 : this.#countOf(wanted);
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#source.tryReserve(more)) return false;
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
    return bytes <= this.#source.freeBytes ? 0 : Math.min(bytes, this.#source.maxBytes);
  }
}
