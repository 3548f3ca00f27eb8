/** A transcribed short aside that waits for the utterances after it. */
interface PendingAside {
  position: number;
  /** Answers the aside, because no speech follows it. */
  answer: () => void;
  /** Drops the aside, because later speech is answered instead. */
  dismiss: () => void;
}

/**
 * The order of utterances on one connection. Whether an utterance contains speech is only known after transcription: it
 * may have been a cough.
 */
export class UtteranceOrder {
  #lastPosition = 0;
  #lastSpeech = 0;
  /** Positions of turns that are not transcribed yet. */
  readonly #undecided = new Map<string, number>();
  #deferred: PendingAside[] = [];

  /** Returns the position after all others. */
  nextPosition(): number {
    return (this.#lastPosition += 1);
  }

  /** Registers a turn that is not transcribed yet. `settle` ends this state. */
  open(turnId: string, position = this.nextPosition()): void {
    this.#undecided.set(turnId, position);
  }

  /** Records that the utterance at a position contains speech. */
  markSpeech(position: number): void {
    this.#lastSpeech = Math.max(this.#lastSpeech, position);
    this.#decide();
  }

  /** Records whether a registered turn contains speech. */
  settle(turnId: string, hasWords: boolean): void {
    const position = this.#undecided.get(turnId);
    if (position === undefined) return;
    this.#undecided.delete(turnId);
    if (hasWords) this.markSpeech(position);
    else this.#decide();
  }

  /** Answers or drops an aside, as soon as it is known whether speech follows it. */
  defer(aside: PendingAside): void {
    this.#deferred.push(aside);
    this.#decide();
  }

  /** Drops all waiting asides, because the user interrupted the conversation. */
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
    // Answering an aside marks it as speech, so of several asides only the last is answered.
    const last = decided.at(-1);
    for (const aside of decided)
      if (aside === last && aside.position >= this.#lastSpeech) aside.answer();
      else aside.dismiss();
  }
}
