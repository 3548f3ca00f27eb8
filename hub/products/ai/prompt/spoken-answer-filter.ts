/** Maximum length of the text that is filtered together, in characters, when it has no safe boundary. */
const maxBufferedLength = 1_000;
/** Only visible white space: the filter removes hidden white space, so it is no boundary. */
const trailingSpace = /(?<![ \t\n])[ \t\n]+$/;
const codeSpan = /```[^]*?```|`[^`\n]+`/g;

/**
 * Filters an answer sentence by sentence. The filter result of a sentence depends on the text before it, so they are
 * filtered together, starting at the last safe boundary: white space outside of code.
 */
export class SpokenAnswerFilter {
  readonly #read: (answer: string) => string;
  /** The text since the boundary, and its filtered text. */
  #buffer = '';
  #shown = '';
  /** The white space between the filtered text before the boundary and the next one. */
  #separator = '';
  #removesBackticks = false;

  /** @param read the filter for a complete answer. */
  constructor(read: (answer: string) => string) {
    this.#read = read;
  }

  /** Returns the filtered text of the next sentence; empty if nothing may be shown. */
  push(text: string): string {
    const sentence = this.#removesBackticks ? text.replaceAll('`', '') : text;
    this.#buffer += sentence;
    const shown = this.#read(this.#buffer);
    // Text that was already returned cannot be changed.
    const added = shown.startsWith(this.#shown) ? shown.slice(this.#shown.length) : ` ${this.#read(sentence)}`;
    const output = added === '' ? '' : this.#separator + added;
    if (output !== '') this.#separator = '';
    this.#shown += added;
    this.#clearBuffer();
    return output;
  }

  #clearBuffer(): void {
    const [end = ''] = trailingSpace.exec(this.#buffer) ?? [];
    const isSafeBoundary = end !== '' && !this.#buffer.replaceAll(codeSpan, '').includes('`');
    if (!isSafeBoundary && this.#buffer.length <= maxBufferedLength) return;
    // Later backticks would be read as the start of code instead of its end.
    if (!isSafeBoundary && this.#buffer.includes('`')) this.#removesBackticks = true;
    // The separator keeps two parts of an address apart.
    this.#separator ||= end || ' ';
    this.#buffer = '';
    this.#shown = '';
  }
}
