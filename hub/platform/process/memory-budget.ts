import { getHeapStatistics } from 'node:v8';
import type { JsonValue } from '../../../shared/json.ts';

/** Default size that needs no reservation, in bytes. */
export const freeBytes = 256 * 1024;

/** Heap bytes per byte of JSON text after parsing: 1 for long strings, 4 for numbers, up to 20 for empty objects. */
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
  /** Time by `performance.now()`. */
  waitingSince: number;
  grant: () => void;
}

interface WorkspaceUsage {
  used: number;
  waiting: WaitingRequest[];
}

/**
 * Waiting time in milliseconds after which freed memory is kept for a request. Before that, smaller requests can
 * overtake it.
 */
const starvationMs = 1_000;

/** The memory was not available within the wait time. */
export class OutOfMemory extends Error {
  constructor() {
    super('no memory was available in time');
  }
}

export interface MemoryBudgetOptions {
  /** Total memory that can be reserved, in bytes. */
  limitBytes: number;
  /** How long a reservation waits for memory, in milliseconds. */
  waitMs: number;
  /** The most that one reservation counts, as a share of the limit; 1/4 by default. */
  largestPart?: number;
  /** A reservation of up to this many bytes counts as 0. */
  freeBytes?: number;
  /**
   * The most that one workspace can reserve, as a share of the memory that is free; 1 by default. With 1/4, a workspace
   * that reserves as much as possible gets a fifth of the memory and leaves four fifths to others.
   */
  maxShareOfFree?: number;
}

/** A share of the V8 heap limit, in bytes. */
export const partOfHeap = (part: number): number => getHeapStatistics().heap_size_limit * part;

/**
 * A memory budget of this process for large values of one kind. A caller that needs more than `freeBytes` reserves
 * memory before it reads a value, and keeps nothing large while it waits. A workspace can reserve at most as much as
 * remains free for others. Workspaces take turns, and freed memory is kept for a request that has waited long. A
 * reservation counts at most as a share of the limit, so a larger value runs with fewer others.
 */
export class MemoryBudget {
  readonly #limit: number;
  readonly #usages = new Map<string, WorkspaceUsage>();
  readonly #waitMs: number;
  readonly #maxReservation: number;
  /** A reservation of up to this many bytes counts as 0. */
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

  /** Reserved bytes, and the number of workspaces that hold or wait for a reservation. */
  get counts(): { used: number; workspaces: number } {
    return { used: this.#used, workspaces: this.#usages.size };
  }

  /** Opens an empty reservation of a workspace. */
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

  /**
   * The request that has waited longest, if it has waited long. Requests that only their own workspace delays do not
   * count.
   */
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
    const reservedForStarving = starving === undefined || starving === request ? 0 : starving.bytes;
    return usage.used + bytes <= this.#maxShareOfFree * (this.#limit - this.#used - reservedForStarving);
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
    const cancel = (reason: unknown) => {
      const at = usage.waiting.indexOf(request);
      // The request can be granted in the same turn.
      if (at === -1) return;
      usage.waiting.splice(at, 1);
      this.#grantWaiting();
      this.#deleteIfIdle(tenantId, usage);
      reject(reason);
    };
    const onAbort = () => cancel(signal.reason);
    const timer = setTimeout(() => cancel(new OutOfMemory()), this.#waitMs);
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      await promise;
    } finally {
      clearTimeout(timer);
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

  /** Grants waiting requests that fit: one per workspace in turn, in order within a workspace. */
  #grantWaiting(): void {
    for (let granted = true; granted;) {
      granted = false;
      const usages = Array.from(this.#usages);
      for (const [tenantId, usage] of usages) {
        const [next] = usage.waiting;
        if (next === undefined || !this.#fits(usage, next.bytes, next)) continue;
        usage.waiting.shift();
        this.#grant(usage, next.bytes);
        // Moves the workspace to the end of the order.
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

/** The reservation of one run or response. After disposal it reserves nothing, even when a wait is granted later. */
export class MemoryReservation implements Disposable {
  readonly #source: ReservationSource;
  #bytes = 0;
  #isDisposed = false;

  constructor(source: ReservationSource) {
    this.#source = source;
  }

  /** Reserved bytes. */
  get bytes(): number {
    return this.#bytes;
  }

  /** Whether another request has waited long, so that the caller should release this reservation and make it again. */
  get isWanted(): boolean {
    return this.#bytes > 0 && this.#source.hasStarvingRequest();
  }

  /** Changes the reservation without waiting. Returns false, without a change, when the memory is not available. */
  tryResize(wanted: number): boolean {
    const bytes = this.#isDisposed ? 0 : this.#countOf(wanted);
    const more = bytes - this.#bytes;
    if (more > 0 && !this.#source.tryReserve(more)) return false;
    this.#bytes = bytes;
    if (more < 0) this.#source.free(-more);
    return true;
  }

  /**
   * Changes the reservation and waits for memory. It reserves nothing while it waits, so the caller must not keep large
   * values.
   * @throws the reason of the signal; OutOfMemory when the memory is not available within the wait time.
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
   * Enlarges the reservation, for a value that arrives in pieces. While it waits it keeps its memory, and the caller
   * may keep the received data.
   * @throws the reason of the signal; OutOfMemory when the memory is not available within the wait time.
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
