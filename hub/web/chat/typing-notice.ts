/** Told again so often while somebody types, in milliseconds. */
const repeatMs = 3_000;
/** Who types nothing for so long has stopped, in milliseconds. */
const idleMs = 5_000;

/** Tells that the visitor types, seldom, and that they stopped, once. */
export class TypingNotice {
  readonly #tell: (typing: boolean) => void;
  #toldAt = 0;
  #isTyping = false;
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(tell: (typing: boolean) => void) {
    this.#tell = tell;
  }

  typed(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.stop(), idleMs);
    if (this.#isTyping && Date.now() - this.#toldAt < repeatMs) return;
    this.#isTyping = true;
    this.#toldAt = Date.now();
    this.#tell(true);
  }

  stop(): void {
    this.end();
    if (!this.#isTyping) return;
    this.#isTyping = false;
    this.#tell(false);
  }

  end(): void {
    clearTimeout(this.#timer);
  }
}
