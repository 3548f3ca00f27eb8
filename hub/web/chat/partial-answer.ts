import type { VisitorFrame } from '../../../shared/contract/chat/live.ts';

type Delta = Extract<VisitorFrame, { type: 'delta' }>;

/** An answer without a new delta within this time is removed. */
const idleTimeoutMs = 15_000;

/** The text so far of an answer in progress, until the complete message replaces it. */
export class PartialAnswer {
  readonly #show: (text: string) => void;
  #id = '';
  #text = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  /**
   * A delta that does not continue the text follows a lost one and is ignored; the message contains the complete text.
   */
  append({ id, at, text, dropped }: Delta): void {
    if (at > 0 && (id !== this.#id || at !== this.#text.length)) return;
    if (dropped) {
      this.clear();
      return;
    }
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.clear(), idleTimeoutMs);
    this.#id = id;
    this.#text = this.#text.slice(0, at) + text;
    this.#show(this.#text);
  }

  clear(): void {
    clearTimeout(this.#timer);
    this.#id = '';
    this.#text = '';
    this.#show('');
  }
}
