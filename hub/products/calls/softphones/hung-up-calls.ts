import type { SipDialog, SipServer } from '../sip/index.ts';
import type { SessionCalls } from './session-calls.ts';

/** After what time the SIP server is asked again whether a call lasts. */
const askAgainMs = 15_000;

/** Calls at which a softphone hung up, and was told something else than that they are over: the SIP server says when they are. */
export class HungUpCalls implements Disposable {
  readonly #server: Pick<SipServer, 'knows'>;
  readonly #calls: SessionCalls;
  /** By Call-ID; null while the server is asked. */
  readonly #waiting = new Map<string, NodeJS.Timeout | null>();
  #isOver = false;

  constructor(server: Pick<SipServer, 'knows'>, calls: SessionCalls) {
    this.#server = server;
    this.#calls = calls;
  }

  ask(dialog: SipDialog | null): void {
    if (dialog === null || this.#isOver || this.#waiting.has(dialog.callId)) return;
    this.#waiting.set(dialog.callId, null);
    void this.#ask(dialog);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    for (const timer of this.#waiting.values()) clearTimeout(timer ?? undefined);
  }

  async #ask(dialog: SipDialog): Promise<void> {
    // A server that is away says nothing about a call.
    const lasts = await this.#server.knows(dialog).catch(() => true);
    this.#waiting.delete(dialog.callId);
    if (this.#isOver) return;
    if (!lasts) this.#calls.end(dialog.callId);
    else this.#waiting.set(dialog.callId, setTimeout(() => this.#askAgain(dialog), askAgainMs).unref());
  }

  #askAgain(dialog: SipDialog): void {
    this.#waiting.delete(dialog.callId);
    this.ask(this.#calls.lasting(dialog));
  }
}
