/** Told again so often while somebody types, in milliseconds. */
const repeatMs = 3_000;
/** Who types nothing for so long has stopped, in milliseconds. */
const idleMs = 5_000;

/** Tells that the visitor types, seldom, and that they stopped, once. */
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
    if (this.#isTyping && Date.now() - this.#notifiedAt < repeatMs) return;
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
