import type { Publisher } from '../../../platform/events/events.ts';
import { publishChatChange } from '../../chat/changes/index.ts';

/** Minimum time between two events to the page. */
const minIntervalMs = 80;
/**
 * Maximum length of the text in one event, in UTF-16 units, because a PostgreSQL notification is limited to 8,000
 * bytes.
 */
const maxUnits = 1_000;

/** Publishes an unfinished answer to the visitor's page while the model writes it. */
export class DeltaPublisher {
  readonly #publish: (delta: { at: number; text: string; dropped: boolean }) => void;
  #read: () => string = () => '';
  #text = '';
  #sentLength = 0;
  #sentAt = 0;
  #hasEnded = false;
  #timer: NodeJS.Timeout | undefined;

  /** @param id The id of the future message. */
  constructor(events: Publisher, tenantId: string, conversationId: string, id: string) {
    this.#publish = (delta) => publishChatChange(events, tenantId, conversationId, { kind: 'delta', id, ...delta });
  }

  /**
   * Schedules the next event.
   * @param read Returns the whole text so far. It is called when the event is sent. The text must begin with the text
   * already sent, otherwise nothing is sent.
   */
  update(read: () => string): void {
    if (this.#hasEnded) return;
    this.#read = read;
    const waitMs = this.#sentAt + minIntervalMs - performance.now();
    if (waitMs <= 0) this.#flush();
    else this.#timer ??= setTimeout(() => this.#flush(), waitMs);
  }

  /** Stops sending, because a later event could reach the page after the message itself. */
  end(): void {
    this.#hasEnded = true;
    clearTimeout(this.#timer);
  }

  /** Stops sending and makes the page remove the unfinished answer, because no message replaces it. */
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
      // Keep surrogate pairs together.
      if (end < this.#text.length && /[\uD800-\uDBFF]/.test(this.#text[end - 1] as string)) end -= 1;
      this.#publish({ at: this.#sentLength, text: this.#text.slice(this.#sentLength, end), dropped: false });
      this.#sentLength = end;
    }
  }
}
