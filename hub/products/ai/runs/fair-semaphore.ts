import { AppError } from '../../../../shared/errors.ts';

export interface FairSemaphoreOptions {
  /** Concurrent model calls per workspace. */
  perWorkspace: number;
  /** Further calls that may wait for a slot. */
  waiting: number;
  /** Longest wait for a slot, in milliseconds. */
  waitMs: number;
}

interface Waiter {
  resolve: () => void;
}

interface Queue {
  active: number;
  waiting: Waiter[];
}

/**
 * Limits concurrent model calls per workspace and process. Model calls take up to 30 s and share a few dozen
 * connections.
 * A call above the limit waits in arrival order. If the queue is full or the wait is too long, the caller must retry.
 */
export class FairSemaphore {
  readonly #options: FairSemaphoreOptions;
  readonly #queues = new Map<string, Queue>();

  constructor(options: FairSemaphoreOptions) {
    this.#options = options;
  }

  /**
   * Acquires a slot until the returned object is disposed.
   * @throws AppError `rate_limited` without a free slot; the reason of the signal.
   */
  async acquire(tenantId: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    const { perWorkspace, waiting, waitMs } = this.#options;
    const queue = this.#queues.get(tenantId) ?? { active: 0, waiting: [] };
    this.#queues.set(tenantId, queue);
    if (queue.active < perWorkspace) queue.active += 1;
    else if (queue.waiting.length >= waiting) throw tooMany(perWorkspace);
    else await this.#wait(queue, signal, waitMs);
    let isReleased = false;
    return {
      [Symbol.dispose]: () => {
        if (!isReleased) this.#release(tenantId, queue);
        isReleased = true;
      },
    };
  }

  async #wait(queue: Queue, signal: AbortSignal, waitMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { resolve };
    queue.waiting.push(waiter);
    const leave = (reason: unknown) => {
      queue.waiting = queue.waiting.filter((other) => other !== waiter);
      reject(reason as Error);
    };
    const onAbort = () => leave(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const timer = setTimeout(() => leave(tooMany(this.#options.perWorkspace)), waitMs);
    try {
      await promise;
    } finally {
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
    }
  }

  #release(tenantId: string, queue: Queue): void {
    const next = queue.waiting.shift();
    // The next waiter inherits the slot, so a new call cannot overtake it.
    if (next !== undefined) return next.resolve();
    queue.active -= 1;
    if (queue.active === 0) this.#queues.delete(tenantId);
  }
}

const tooMany = (perWorkspace: number) =>
  new AppError(
    'rate_limited',
    `This workspace already has ${perWorkspace} model calls in progress and more are waiting; try again shortly.`,
    { retryAfterSeconds: 2, limit: perWorkspace },
  );
