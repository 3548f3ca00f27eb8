import type { ChatMessage } from '../../../shared/contract/chat/shapes.ts';

/**
 * Messages that are rendered together. The array of a chunk stays the same object until one of its messages changes.
 */
export interface Chunk {
  index: number;
  messages: readonly ChatMessage[];
}

/** Messages per chunk. */
export const chunkSize = 50;

const chunkOf = (seq: number) => Math.floor(seq / chunkSize);

/** A range of a conversation's messages without a gap. Messages beyond a gap wait until the gap is filled. */
export class Messages {
  readonly #bySeq = new Map<number, ChatMessage>();
  readonly #beyondGap = new Map<number, ChatMessage>();
  #chunks: readonly Chunk[] = [];
  #first = 0;
  #last = 0;

  get chunks(): readonly Chunk[] {
    return this.#chunks;
  }

  /** Sequence number at which the range starts; 0 while it is unknown. */
  get first(): number {
    return this.#first;
  }

  /** Sequence number of the last message of the range. */
  get last(): number {
    return this.#last;
  }

  /** Whether messages wait beyond a gap. */
  get hasGap(): boolean {
    return this.#beyondGap.size > 0;
  }

  /** Counts the matching messages after a sequence number. */
  countAfter(seq: number, matches: (message: ChatMessage) => boolean): number {
    let count = 0;
    for (let at = this.#last; at > seq; at -= 1) {
      const message = this.#bySeq.get(at);
      if (message === undefined) break;
      if (matches(message)) count += 1;
    }
    return count;
  }

  /** Adds messages in any order; duplicates are ignored. Returns the messages that joined the range. */
  add(messages: readonly ChatMessage[]): ChatMessage[] {
    const sorted = messages.toSorted((left, right) => left.seq - right.seq);
    for (const message of sorted) if (!this.#bySeq.has(message.seq)) this.#beyondGap.set(message.seq, message);
    const lowest = sorted[0];
    if (this.#first === 0 && lowest !== undefined) {
      this.#first = lowest.seq;
      this.#last = lowest.seq - 1;
    }
    const added: ChatMessage[] = [];
    const admit = (seq: number): boolean => {
      const message = this.#beyondGap.get(seq);
      if (message === undefined) return false;
      this.#beyondGap.delete(seq);
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
   * Restarts the range with the newest messages, or empty. The gap to the earlier messages may be too large to fill.
   * Known messages that are newer stay.
   */
  restart(messages: readonly ChatMessage[]): void {
    const end = messages.reduce((last, { seq }) => Math.max(last, seq), 0);
    const newerMessages = [...this.#bySeq.values(), ...this.#beyondGap.values()].filter(({ seq }) => seq > end);
    this.#bySeq.clear();
    this.#beyondGap.clear();
    this.#chunks = [];
    this.#first = messages.length === 0 ? 1 : 0;
    this.#last = 0;
    this.add(messages);
    this.add(newerMessages);
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
