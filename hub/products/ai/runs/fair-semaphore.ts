import { AppError } from '../../../../shared/errors.ts';

export interface FairPlacesOptions {
  /** Calls of one workspace that are under way at once. */
  perWorkspace: number;
  /** Further ones that wait for a place. */
  waiting: number;
  /** How long each of them does, at most. */
  waitMs: number;
}

interface Waiter {
  resolve: () => void;
}

interface Line {
  underWay: number;
  waiting: Waiter[];
}

/**
 * Places for calls of models, so many for each workspace and process: models take half a minute at worst, and a hub has a few dozen connections to each. What finds no
 * place waits a moment in the order in which it came; whoever comes when the line is full, or waited for too long, is told to come back.
 */
export class FairSemaphore {
  readonly #options: FairPlacesOptions;
  readonly #lines = new Map<string, Line>();

  constructor(options: FairPlacesOptions) {
    this.#options = options;
  }

  /**
   * A place until it is disposed.
   * @throws AppError `rate_limited` where there is none; the signal's reason when it aborts.
   */
  async take(tenantId: string, signal: AbortSignal): Promise<Disposable> {
    signal.throwIfAborted();
    const { perWorkspace, waiting, waitMs } = this.#options;
    const line = this.#lines.get(tenantId) ?? { underWay: 0, waiting: [] };
    this.#lines.set(tenantId, line);
    if (line.underWay < perWorkspace) line.underWay += 1;
    else if (line.waiting.length >= waiting) throw tooMany(perWorkspace);
    else await this.#wait(line, signal, waitMs);
    let isHeld = true;
    return {
      [Symbol.dispose]: () => {
        if (isHeld) this.#giveBack(tenantId, line);
        isHeld = false;
      },
    };
  }

  async #wait(line: Line, signal: AbortSignal, waitMs: number): Promise<void> {
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const waiter = { resolve };
    line.waiting.push(waiter);
    const leave = (reason: unknown) => {
      line.waiting = line.waiting.filter((other) => other !== waiter);
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

  #giveBack(tenantId: string, line: Line): void {
    const next = line.waiting.shift();
    // It gets the place as it is: nobody who comes now is before it.
    if (next !== undefined) return next.resolve();
    line.underWay -= 1;
    if (line.underWay === 0) this.#lines.delete(tenantId);
  }
}

const tooMany = (perWorkspace: number) =>
  new AppError(
    'rate_limited',
    `This workspace has ${perWorkspace} calls of models under way, and others wait for them; try again shortly.`,
    { retryAfterSeconds: 2, limit: perWorkspace },
  );
