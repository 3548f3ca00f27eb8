/** Interval of the notices while the visitor types. */
const noticeIntervalMs = 3_000;
/** Typing has stopped after this time without input. */
const idleMs = 5_000;

/** Sends a typing notice at most every 3 seconds while the visitor types, and one when typing stops. */
export class TypingNotice {
  readonly #notify: (typing: boolean) => void;
  #notifiedAt = 0;
  #isTyping = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(notify: (typing: boolean) => void) {
    this.#notify = notify;
  }

  onInput(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.stop(), idleMs);
    if (this.#isTyping && Date.now() - this.#notifiedAt < noticeIntervalMs) return;
    this.#isTyping = true;
    this.#notifiedAt = Date.now();
    this.#notify(true);
  }

  stop(): void {
    this.end();
    if (!this.#isTyping) return;
    this.#isTyping = false;
    this.#notify(false);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
