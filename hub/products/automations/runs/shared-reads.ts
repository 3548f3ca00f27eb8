import { setImmediate as nextTurn } from 'node:timers/promises';

/** The result of a read that several callers share. Each caller disposes it when it no longer uses the value. */
export interface Shared<Result> extends Disposable {
  value: Result;
}

interface PendingRead<Result> {
  result: Promise<Result>;
  users: number;
}

/**
 * Joins concurrent reads of the same key: one read is in progress, and one that follows it serves all further callers. A
 * read begins after all calls that share its result, so it contains every change that a caller has been notified of.
 */
export class SharedReads<Result> {
  /** Reads that have not begun. */
  readonly #pending = new Map<string, PendingRead<Result>>();
  /** Resolves when the read in progress has ended. */
  readonly #running = new Map<string, Promise<void>>();
  readonly #release: (result: Result) => void;

  /** @param release is called when all callers have disposed a result. */
  constructor(release: (result: Result) => void = () => undefined) {
    this.#release = release;
  }

  async read(key: string, read: () => Promise<Result>): Promise<Shared<Result>> {
    const pending = this.#pending.get(key) ?? this.#begin(key, read);
    pending.users += 1;
    const value = await pending.result;
    return {
      value,
      [Symbol.dispose]: () => {
        pending.users -= 1;
        if (pending.users === 0) this.#release(value);
      },
    };
  }

  #begin(key: string, read: () => Promise<Result>): PendingRead<Result> {
    const run = async () => {
      await (this.#running.get(key) ?? nextTurn());
      this.#pending.delete(key);
      const ended = Promise.withResolvers<void>();
      this.#running.set(key, ended.promise);
      try {
        return await read();
      } finally {
        if (this.#running.get(key) === ended.promise) this.#running.delete(key);
        ended.resolve();
      }
    };
    const pending = { result: run(), users: 0 };
    this.#pending.set(key, pending);
    return pending;
  }
}

/** Bytes that callers send in one turn of the event loop. */
const maxBytesPerTurn = 256 * 1024;

/** Lets callers that send the same bytes continue one after the other, over several turns of the event loop. */
export class SendTurns {
  #last = Promise.resolve();
  #sent = 0;

  next(bytes: number): Promise<void> {
    this.#last = this.#last.then(async () => {
      if (this.#sent + bytes > maxBytesPerTurn) {
        await nextTurn();
        this.#sent = 0;
      }
      this.#sent += bytes;
    });
    return this.#last;
  }
}
