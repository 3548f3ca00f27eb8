/** A short word that was understood, and waits for what was said after it. */
interface PendingAside {
  position: number;
  /** Has it answered: nothing was said after it. */
  answer: () => void;
  /** More was said after it, and that is answered. */
  dismiss: () => void;
}

/** The order of what is said on one connection. What was said is known only once it is understood: it may have been a cough. */
export class UtteranceOrder {
  #lastPosition = 0;
  #lastSpeech = 0;
  /** Turns of which it is not known yet whether they say anything, with their places. */
  readonly #undecided = new Map<string, number>();
  #deferred: PendingAside[] = [];

  /** A place behind all others. */
  nextPosition(): number {
    return (this.#lastPosition += 1);
  }

  /** Begins a turn of which it is not known whether it says anything, until it is settled. */
  open(turnId: string, position = this.nextPosition()): void {
    this.#undecided.set(turnId, position);
  }

  /** Words were understood at a place. */
  markSpeech(position: number): void {
    this.#lastSpeech = Math.max(this.#lastSpeech, position);
    this.#decide();
  }

  /** What came of a turn that was begun: whether it said anything. */
  settle(turnId: string, hasWords: boolean): void {
    const position = this.#undecided.get(turnId);
    if (position === undefined) return;
    this.#undecided.delete(turnId);
    if (hasWords) this.markSpeech(position);
    else this.#decide();
  }

  /** Has a short word answered where nothing was said after it, as soon as that is known. */
  defer(aside: PendingAside): void {
    this.#deferred.push(aside);
    this.#decide();
  }

  /** Passes over the words that wait: nobody wants an answer any more. */
  dismiss(): void {
    for (const aside of this.#deferred.splice(0)) aside.dismiss();
  }

  #decide(): void {
    const lastUndecided = Math.max(0, ...this.#undecided.values());
    const deferred = this.#deferred;
    this.#deferred = deferred.filter(({ position }) => position >= this.#lastSpeech && position < lastUndecided);
    const decided = deferred
      .filter((aside) => !this.#deferred.includes(aside))
      .toSorted((first, second) => first.position - second.position);
    // To be answered is to be understood: of two, that has the first passed over.
    const last = decided.at(-1);
    for (const aside of decided)
      if (aside === last && aside.position >= this.#lastSpeech) aside.answer();
      else aside.dismiss();
  }
}
