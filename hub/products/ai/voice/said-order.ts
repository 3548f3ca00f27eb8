/** A short word that was understood, and waits for what was said after it. */
interface HeldWord {
  place: number;
  /** Has it answered: nothing was said after it. */
  answer: () => void;
  /** More was said after it, and that is answered. */
  pass: () => void;
}

/** The order of what is said on one connection. What was said is known only once it is understood: it may have been a cough. */
export class SaidOrder {
  #lastPlace = 0;
  #lastUnderstood = 0;
  /** Turns of which it is not known yet whether they say anything, with their places. */
  readonly #open = new Map<string, number>();
  #held: HeldWord[] = [];

  /** A place behind all others. */
  next(): number {
    return (this.#lastPlace += 1);
  }

  /** Begins a turn of which it is not known whether it says anything, until it is settled. */
  begin(turnId: string, place = this.next()): void {
    this.#open.set(turnId, place);
  }

  /** Words were understood at a place. */
  understand(place: number): void {
    this.#lastUnderstood = Math.max(this.#lastUnderstood, place);
    this.#decide();
  }

  /** What came of a turn that was begun: whether it said anything. */
  settle(turnId: string, hasWords: boolean): void {
    const place = this.#open.get(turnId);
    if (place === undefined) return;
    this.#open.delete(turnId);
    if (hasWords) this.understand(place);
    else this.#decide();
  }

  /** Has a short word answered where nothing was said after it, as soon as that is known. */
  hold(word: HeldWord): void {
    this.#held.push(word);
    this.#decide();
  }

  /** Passes over the words that wait: nobody wants an answer any more. */
  pass(): void {
    for (const word of this.#held.splice(0)) word.pass();
  }

  #decide(): void {
    const lastOpen = Math.max(0, ...this.#open.values());
    const held = this.#held;
    this.#held = held.filter(({ place }) => place >= this.#lastUnderstood && place < lastOpen);
    const decided = held.filter((word) => !this.#held.includes(word)).toSorted((one, other) => one.place - other.place);
    // To be answered is to be understood: of two, that has the first passed over.
    const last = decided.at(-1);
    for (const word of decided)
      if (word === last && word.place >= this.#lastUnderstood) word.answer();
      else word.pass();
  }
}
