import { AppError } from '../../../../shared/errors.ts';

interface Line {
  underWay: number;
  waiting: Set<() => void>;
}

const pagesAtOnce = 4;
const maxWaiting = 60;
const patienceMs = 10_000;

/**
 * Pages of messages on their way to visitors: few of one visitor at once, each from its question until its answer was
 * taken. Whoever asks
 * for many, or takes none of them, is in nobody's way but their own.
 */
export class PageTurns {
  readonly #lines = new Map<string, Line>();

  /**
   * Resolves when it is the turn of a page.
   * @param signal ends the turn: aborts when the answer was taken or nobody waits for it any more.
   * @throws AppError `rate_limited` where too many wait, or it took too long.
   */
  async take(visitorId: string, signal: AbortSignal): Promise<void> {
    const line = this.#lines.get(visitorId) ?? { underWay: 0, waiting: new Set() };
    this.#lines.set(visitorId, line);
    if (line.underWay < pagesAtOnce) line.underWay += 1;
    else await this.#wait(line, signal);
    const end = () => this.#end(visitorId, line);
    if (signal.aborted) end();
    else signal.addEventListener('abort', end, { once: true });
  }

  #wait(line: Line, signal: AbortSignal): Promise<void> {
    if (line.waiting.size >= maxWaiting) throw tooMany();
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const until = AbortSignal.any([signal, AbortSignal.timeout(patienceMs)]);
    const giveUp = () => {
      if (line.waiting.delete(begin)) reject(tooMany());
    };
    const begin = () => {
      until.removeEventListener('abort', giveUp);
      resolve();
    };
    line.waiting.add(begin);
    until.addEventListener('abort', giveUp, { once: true });
    if (until.aborted) giveUp();
    return promise;
  }

  #end(visitorId: string, line: Line): void {
    const [next] = line.waiting;
    if (next === undefined) {
      line.underWay -= 1;
      if (line.underWay === 0) this.#lines.delete(visitorId);
      return;
    }
    line.waiting.delete(next);
    next();
  }
}

const tooMany = () =>
  new AppError(
    'rate_limited',
    `More than ${pagesAtOnce} pages of messages are asked for at once; take their answers first.`,
    { retryAfterSeconds: 1, limit: pagesAtOnce },
  );
