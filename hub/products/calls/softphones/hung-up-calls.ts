import type { SipDialog, SipServer } from '../sip/index.ts';
import type { SessionCalls } from './session-calls.ts';

/** Interval between requests to the SIP server about one call. */
const retryMs = 15_000;

/** Calls whose BYE got an error response. The SIP server is asked until it reports the end of each call. */
export class HungUpCalls implements Disposable {
  readonly #server: Pick<SipServer, 'knows'>;
  readonly #calls: SessionCalls;
  /** Timers by Call-ID. Null during a request to the server. */
  readonly #waiting = new Map<string, NodeJS.Timeout | null>();
  #isOver = false;

  constructor(server: Pick<SipServer, 'knows'>, calls: SessionCalls) {
    this.#server = server;
    this.#calls = calls;
  }

  watch(dialog: SipDialog | null): void {
    if (dialog === null || this.#isOver || this.#waiting.has(dialog.callId)) return;
    this.#waiting.set(dialog.callId, null);
    this.#check(dialog);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const timer of this.#waiting.values()) clearTimeout(timer ?? undefined);
  }

  #check(dialog: SipDialog): void {
    this.#server.knows(dialog).then(
      (lasts) => this.#checked(dialog, lasts),
      // An unreachable server gives no information about a call.
      () => this.#checked(dialog, true),
    );
  }

  #checked(dialog: SipDialog, lasts: boolean): void {
    this.#waiting.delete(dialog.callId);
    if (this.#isOver) return;
    if (!lasts) this.#calls.end(dialog.callId);
    else this.#waiting.set(dialog.callId, setTimeout(() => this.#checkAgain(dialog), retryMs).unref());
  }

  #checkAgain(dialog: SipDialog): void {
    this.#waiting.delete(dialog.callId);
    this.watch(this.#calls.lasting(dialog));
  }
}
