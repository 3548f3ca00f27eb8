interface PlayedSentence {
  text: string;
  ms: number;
  /** Whether all audio of the sentence was added. */
  isComplete: boolean;
}

/** Estimated duration of a letter, for sentences whose total duration is not known yet. */
const msPerLetter = 60;

/**
 * Estimates how much of an answer the user has heard. It assumes that the page plays each part as soon as it was sent
 * and the part before has ended.
 */
export class PlayedSpeech {
  readonly #sentences: PlayedSentence[] = [];
  /** Duration played before `#stretch`, which is the current stretch of audio without a gap. */
  #playedBeforeMs = 0;
  #stretch = { from: 0, ms: 0 };

  beginSentence(text: string): void {
    this.#sentences.push({ text, ms: 0, isComplete: false });
  }

  /** Adds audio to the current sentence. @param now The time at which the audio is sent. */
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

  /** The time at which playback of all sent audio ends. */
  get endsAt(): number {
    return this.#stretch.from + this.#stretch.ms;
  }

  /** Records that playback stops now. */
  stop(now: number): void {
    this.#stretch.ms = Math.max(0, Math.min(this.#stretch.ms, now - this.#stretch.from));
  }

  playedMs(now: number): number {
    return this.#playedBeforeMs + Math.max(0, Math.min(this.#stretch.ms, now - this.#stretch.from));
  }

  /** Returns the words heard within the played time. An interrupted sentence ends with an ellipsis. */
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

/** Returns the whole words within the given share of a text. */
function wordPrefix(text: string, share: number): string {
  const length = text.length * Math.min(1, share);
  let end = 0;
  for (const { index, segment, isWordLike } of segmenter.segment(text)) {
    if (index + segment.length > length) break;
    if (isWordLike === true) end = index + segment.length;
  }
  return text.slice(0, end);
}
