interface PlayedSentence {
  text: string;
  ms: number;
  /** Whether all of its audio is known. */
  isComplete: boolean;
}

/** About as long as a letter is spoken, where the length of its sentence is not known yet, in milliseconds. */
const msPerLetter = 60;

/** How far a person can have heard an answer: its audio is played from the moment in which it was sent, one part after the other. */
export class PlayedSpeech {
  readonly #sentences: PlayedSentence[] = [];
  /** Before the stretch that is played without a gap. */
  #playedBeforeMs = 0;
  #stretch = { from: 0, ms: 0 };

  beginSentence(text: string): void {
    this.#sentences.push({ text, ms: 0, isComplete: false });
  }

  /** Takes note of audio of the sentence that was begun last. @param now when it is sent. */
  add(ms: number, now: number): void {
    const sentence = this.#sentences.at(-1);
    if (sentence !== undefined) sentence.ms += ms;
    if (now > this.endsAt) {
      this.#playedBeforeMs += this.#stretch.ms;
      this.#stretch = { from: now, ms: 0 };
    }
    this.#stretch.ms += ms;
  }

  endSentence(): void {
    const sentence = this.#sentences.at(-1);
    if (sentence !== undefined) sentence.isComplete = true;
  }

  /** When all that was sent is played. */
  get endsAt(): number {
    return this.#stretch.from + this.#stretch.ms;
  }

  /** Nothing of it is played any more. */
  stop(now: number): void {
    this.#stretch.ms = Math.max(0, Math.min(this.#stretch.ms, now - this.#stretch.from));
  }

  playedMs(now: number): number {
    return this.#playedBeforeMs + Math.max(0, Math.min(this.#stretch.ms, now - this.#stretch.from));
  }

  /** The words that were heard by then; a sentence that broke off ends with an ellipsis. */
  textUntil(playedMs: number): string {
    let left = playedMs;
    let text = '';
    for (const sentence of this.#sentences) {
      if (left <= 0) break;
      if (sentence.isComplete && sentence.ms <= left) text += sentence.text;
      else {
        const totalMs = sentence.isComplete ? sentence.ms : Math.max(sentence.ms, sentence.text.length * msPerLetter);
        const prefix = wordPrefix(sentence.text, left / totalMs);
        return prefix === '' ? text.trim() : `${text}${prefix}…`.trim();
      }
      left -= sentence.ms;
    }
    return text.trim();
  }
}

const segmenter = new Intl.Segmenter(undefined, { granularity: 'word' });

/** Whole words, about so much of a text. */
function wordPrefix(text: string, share: number): string {
  const length = text.length * Math.min(1, share);
  let end = 0;
  for (const { index, segment, isWordLike } of segmenter.segment(text)) {
    if (index + segment.length > length) break;
    if (isWordLike === true) end = index + segment.length;
  }
  return text.slice(0, end);
}
