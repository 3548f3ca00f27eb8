import type { HandOut } from './hand-out.ts';
import type { ParkedPoll } from './parked-polls.ts';

/** A wait that a wake-up ends, also one that came before the wait began, and that a command may end. */
export class Wake implements Disposable, ParkedPoll {
  #woken = false;
  #resolve: (() => void) | undefined;
  #later: NodeJS.Timeout | undefined;
  /** Whether its device waits in no other. */
  readonly isOnlyOne: boolean;
  /** Whether nobody waits here any more. */
  isEnded = false;
  /** The command that ended it. */
  handedOver: HandOut | null = null;

  constructor(isOnlyOne: boolean) {
    this.isOnlyOne = isOnlyOne;
  }

  end(): void {
    this.isEnded = true;
    this.wake();
  }

  get isWoken(): boolean {
    return this.#woken;
  }

  take(handedOut: HandOut): boolean {
    if (this.isEnded || this.handedOver !== null || this.#resolve === undefined) return false;
    this.handedOver = handedOut;
    this.wake();
    return true;
  }

  /** Wakes at some time within so many milliseconds. */
  wakeWithin(milliseconds: number): void {
    this.#later ??= setTimeout(() => {
      this.#later = undefined;
      this.wake();
    }, Math.random() * milliseconds);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#later);
  }

  wake(): void {
    this.#woken = true;
    this.#resolve?.();
  }

  /** Answers whether it was woken. */
  async wait(milliseconds: number, signal: AbortSignal): Promise<boolean> {
    if (!this.#woken && !signal.aborted) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#resolve = resolve;
      const timer = setTimeout(resolve, milliseconds);
      const onAbort = () => resolve();
      signal.addEventListener('abort', onAbort, { once: true });
      await promise;
      clearTimeout(timer);
      signal.removeEventListener('abort', onAbort);
      this.#resolve = undefined;
    }
    const wasWoken = this.#woken;
    this.#woken = false;
    return wasWoken;
  }
}
