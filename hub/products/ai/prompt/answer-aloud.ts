/** Of an answer that is looked at together, in characters: what goes on without a space or within code beyond that is begun anew. */
const mostUnsettled = 1_000;
/** No other white space: some of it is hidden, and taken away. */
const blanks = /(?<![ \t\n])[ \t\n]+$/;
const code = /```[^]*?```|`[^`\n]+`/g;

/**
 * What may be shown of an answer, sentence by sentence. What is shown of a sentence may depend on what stands before, so both are read together, but only from the last place
 * on that nothing looks across: white space outside of code.
 */
export class AnswerAloud {
  readonly #read: (answer: string) => string;
  /** All since that place, and what was told of it. */
  #asked = '';
  #told = '';
  /** What stands between what was told before that place and what comes. */
  #gap = '';
  #withoutCode = false;

  /** @param read what may be shown of an answer. */
  constructor(read: (answer: string) => string) {
    this.#read = read;
  }

  /** What is told of the next sentence; empty for nothing. */
  push(given: string): string {
    const sentence = this.#withoutCode ? given.replaceAll('`', '') : given;
    this.#asked += sentence;
    const whole = this.#read(this.#asked);
    // What was said stays said.
    const added = whole.startsWith(this.#told) ? whole.slice(this.#told.length) : ` ${this.#read(sentence)}`;
    const told = added === '' ? '' : this.#gap + added;
    if (told !== '') this.#gap = '';
    this.#told += added;
    this.#settle();
    return told;
  }

  #settle(): void {
    const [end = ''] = blanks.exec(this.#asked) ?? [];
    const isApart = end !== '' && !this.#asked.replaceAll(code, '').includes('`');
    if (!isApart && this.#asked.length <= mostUnsettled) return;
    // The end of code that began before would be taken for its beginning.
    if (!isApart && this.#asked.includes('`')) this.#withoutCode = true;
    // Parts of an address do not meet across it.
    this.#gap ||= end || ' ';
    this.#asked = '';
    this.#told = '';
  }
}
