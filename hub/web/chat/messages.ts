import type { ChatMessage } from '../../../shared/contract/chat/shapes.ts';

/** Messages that are drawn together. Those of one chunk are one and the same array until one of them changes. */
export interface Chunk {
  index: number;
  messages: readonly ChatMessage[];
}

/** So many are drawn, measured and put away together. */
export const chunkSize = 50;

const chunkOf = (seq: number) => Math.floor(seq / chunkSize);

/** The messages of a conversation from some place to some later one, without a gap; what came ahead of a gap waits until it is filled. */
export class Messages {
  readonly #bySeq = new Map<number, ChatMessage>();
  readonly #ahead = new Map<number, ChatMessage>();
  #chunks: readonly Chunk[] = [];
  #first = 0;
  #last = 0;

  get chunks(): readonly Chunk[] {
    return this.#chunks;
  }

  /** Seq of the first that is here, or would be; 0 while nothing is known. */
  get first(): number {
    return this.#first;
  }

  /** Seq of the last that is here. */
  get last(): number {
    return this.#last;
  }

  /** Whether some came that have a gap before them. */
  get hasGap(): boolean {
    return this.#ahead.size > 0;
  }

  /** How many behind a message are such. */
  countAfter(seq: number, matches: (message: ChatMessage) => boolean): number {
    let count = 0;
    for (let at = this.#last; at > seq; at -= 1) {
      const message = this.#bySeq.get(at);
      if (message === undefined) break;
      if (matches(message)) count += 1;
    }
    return count;
  }

  /** Takes messages in, in any order, each once; answers those that stand in the conversation by it. */
  add(messages: readonly ChatMessage[]): ChatMessage[] {
    const sorted = messages.toSorted((left, right) => left.seq - right.seq);
    for (const message of sorted) if (!this.#bySeq.has(message.seq)) this.#ahead.set(message.seq, message);
    const lowest = sorted[0];
    if (this.#first === 0 && lowest !== undefined) {
      this.#first = lowest.seq;
      this.#last = lowest.seq - 1;
    }
    const added: ChatMessage[] = [];
    const admit = (seq: number): boolean => {
      const message = this.#ahead.get(seq);
      if (message === undefined) return false;
      this.#ahead.delete(seq);
      this.#bySeq.set(seq, message);
      added.push(message);
      return true;
    };
    while (admit(this.#last + 1)) this.#last += 1;
    while (this.#first > 1 && admit(this.#first - 1)) this.#first -= 1;
    this.#rebuildChunks(added);
    return added;
  }

  /**
   * Begins at the messages of the end, none where the conversation has none: between them and those that were here may be too much to be read. What is
   * newer than they are stays.
   */
  restart(messages: readonly ChatMessage[]): void {
    const end = messages.reduce((last, { seq }) => Math.max(last, seq), 0);
    const newer = [...this.#bySeq.values(), ...this.#ahead.values()].filter(({ seq }) => seq > end);
    this.#bySeq.clear();
    this.#ahead.clear();
    this.#chunks = [];
    this.#first = messages.length === 0 ? 1 : 0;
    this.#last = 0;
    this.add(messages);
    this.add(newer);
  }

  #rebuildChunks(added: readonly ChatMessage[]): void {
    const touched = new Set(added.map(({ seq }) => chunkOf(seq)));
    if (touched.size === 0) return;
    const rebuilt = [...touched].map((index) => {
      const messages: ChatMessage[] = [];
      for (let seq = index * chunkSize; seq < (index + 1) * chunkSize; seq += 1) {
        const message = this.#bySeq.get(seq);
        if (message !== undefined) messages.push(message);
      }
      return { index, messages };
    });
    this.#chunks = [...this.#chunks.filter(({ index }) => !touched.has(index)), ...rebuilt].toSorted(
      (left, right) => left.index - right.index,
    );
  }
}
