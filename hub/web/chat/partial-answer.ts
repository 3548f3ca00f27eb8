import type { VisitorFrame } from '../../../shared/contract/chat/live.ts';

type Delta = Extract<VisitorFrame, { type: 'delta' }>;

/** An answer that is being written goes on or ends within so long, in milliseconds. */
const idleTimeoutMs = 15_000;

/** An answer that is being written, as far as it is, until its message takes its place. */
export class PartialAnswer {
  readonly #show: (text: string) => void;
  #id = '';
  #text = '';
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(show: (text: string) => void) {
    this.#show = show;
  }

  /** What does not fit behind what is there came after a part that was lost: the message brings it all. */
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
