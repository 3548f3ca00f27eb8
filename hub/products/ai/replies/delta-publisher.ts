import type { ChatChanges } from '../../chat/changes/index.ts';

/** The page is told this often at most, in milliseconds. */
const minIntervalMs = 80;
/** What one event carries at most, in UTF-16 units: the events of the database are small. */
const maxUnits = 1_000;

/** Tells the visitor's page what there is of an answer while it is written. */
export class DeltaPublisher {
  readonly #publish: (delta: { at: number; text: string; dropped: boolean }) => void;
  #read: () => string = () => '';
  #text = '';
  #sentLength = 0;
  #sentAt = 0;
  #hasEnded = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param id that the message will have. */
  constructor(changes: ChatChanges, tenantId: string, conversationId: string, id: string) {
    this.#publish = (delta) => changes.publish(tenantId, conversationId, { kind: 'delta', id, ...delta });
  }

  /** @param read answers all that there is so far, when that is to be told; what was told of it stays as it is, or nothing more is told. */
  update(read: () => string): void {
    if (this.#hasEnded) return;
    this.#read = read;
    const waitMs = this.#sentAt + minIntervalMs - performance.now();
    if (waitMs <= 0) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), waitMs);
  }

  /** Nothing more is told: what would come now could come behind the message. */
  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  /** No message takes its place: the page takes it away. */
  drop(): void {
    this.end();
    if (this.#sentLength > 0) this.#publish({ at: this.#sentLength, text: '', dropped: true });
    this.#sentLength = 0;
  }

  #flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#sentAt = performance.now();
    const text = this.#read();
    if (!text.startsWith(this.#text)) return;
    this.#text = text;
    while (this.#sentLength < this.#text.length) {
      let end = Math.min(this.#text.length, this.#sentLength + maxUnits);
      // No character is cut in two.
      if (end < this.#text.length && /[\uD800-\uDBFF]/.test(this.#text[end - 1] as string)) end -= 1;
      this.#publish({ at: this.#sentLength, text: this.#text.slice(this.#sentLength, end), dropped: false });
      this.#sentLength = end;
    }
  }
}
