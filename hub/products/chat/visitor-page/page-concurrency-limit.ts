import { AppError } from '../../../../shared/errors.ts';

interface VisitorQueue {
  active: number;
  waiting: Set<() => void>;
}

const maxConcurrentPages = 4;
const maxWaiting = 60;
const maxWaitMs = 10_000;

/**
 * Limits the concurrent message pages of each visitor, from the request until the response is sent. A visitor who
 * requests many pages or reads slowly does not affect other visitors.
 */
export class PageConcurrencyLimit {
  readonly #queues = new Map<string, VisitorQueue>();

  /**
   * Resolves when the visitor may load another page.
   * @param signal releases the slot: it aborts when the response is sent or the client disconnects.
   * @throws AppError `rate_limited` if too many requests wait, or the wait takes too long.
   */
  async acquire(visitorId: string, signal: AbortSignal): Promise<void> {
    const queue = this.#queues.get(visitorId) ?? { active: 0, waiting: new Set() };
    this.#queues.set(visitorId, queue);
    if (queue.active < maxConcurrentPages) queue.active += 1;
    else await this.#wait(queue, signal);
    const end = () => this.#release(visitorId, queue);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  }

  #wait(queue: VisitorQueue, signal: AbortSignal): Promise<void> {
    if (queue.waiting.size >= maxWaiting) throw tooMany();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const until = AbortSignal.any([signal, AbortSignal.timeout(maxWaitMs)]);
    const giveUp = () => {
      if (queue.waiting.delete(begin)) reject(tooMany());
    };
    const begin = () => {
      until.removeEventListener('abort', giveUp);
      resolve();
    };
    queue.waiting.add(begin);
    until.addEventListener('abort', giveUp, { once: true });
    if (until.aborted) giveUp();
    return promise;
  }

  #release(visitorId: string, queue: VisitorQueue): void {
    const [next] = queue.waiting;
    if (next === undefined) {
      queue.active -= 1;
      if (queue.active === 0) this.#queues.delete(visitorId);
      return;
    }
    queue.waiting.delete(next);
    next();
  }
}

const tooMany = () =>
  new AppError(
    'rate_limited',
    `More than ${maxConcurrentPages} pages of messages are requested at the same time. Read the responses first, then request more.`,
    { retryAfterSeconds: 1, limit: maxConcurrentPages },
  );
