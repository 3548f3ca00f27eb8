import type { Clock } from '../../../platform/clock.ts';
import type { SipResponse } from './message.ts';

/** Timers of RFC 3261, section 17, in milliseconds. */
export const sipTimers = { t1Ms: 500, t2Ms: 4_000, t4Ms: 5_000 } as const;
export const transactionTimeoutMs = 64 * sipTimers.t1Ms;

/** No final response arrived within 32 s, despite retransmissions. */
export class SipTimeout extends Error {
  constructor() {
    super(`no final response arrived within ${transactionTimeoutMs / 1000} s`);
    this.name = 'SipTimeout';
  }
}

/**
 * Client transaction for every method except INVITE (RFC 3261, 17.1.2, timers E and F).
 * Over UDP it retransmits after 0.5 s and doubles the interval up to 4 s. After a provisional response it retransmits
 * every 4 s. Responses after the final response are ignored.
 */
export class ClientTransaction {
  readonly answer: Promise<SipResponse>;
  readonly #deferred = Promise.withResolvers<SipResponse>();
  readonly #timeout: Disposable;
  readonly #clock: Clock;
  readonly #resend: () => void;
  #retry: Disposable | null = null;
  #retryMs: number = sipTimers.t1Ms;
  #isOver = false;

  /** @param send sends the request. The constructor calls it once. */
  constructor({ clock, isReliable, send }: { clock: Clock; isReliable: boolean; send: () => void }) {
    this.answer = this.#deferred.promise;
    this.#clock = clock;
    this.#resend = send;
    this.#timeout = clock.after(transactionTimeoutMs, () => this.fail(new SipTimeout()));
    if (!isReliable) this.#schedule();
    send();
  }

  receive(response: SipResponse): void {
    if (this.#isOver) return;
    if (response.status < 200) {
      this.#retryMs = sipTimers.t2Ms;
      return;
    }
    this.#end();
    this.#deferred.resolve(response);
  }

  fail(reason: unknown): void {
    if (this.#isOver) return;
    this.#end();
    this.#deferred.reject(reason);
  }

  #schedule(): void {
    this.#retry = this.#clock.after(this.#retryMs, () => {
      if (this.#isOver) return;
      this.#retryMs = Math.min(2 * this.#retryMs, sipTimers.t2Ms);
      this.#schedule();
      this.#resend();
    });
  }

  #end(): void {
    this.#isOver = true;
    this.#timeout[Symbol.dispose]();
    this.#retry?.[Symbol.dispose]();
  }
}
