/** Copies of the text while it grows to twice its length. */
const maxCopies = 4_096;

/**
 * Reads the answer of a model while it is generated: a JSON object with a text field `reply`. Returns the part of
 * `reply` received so far, wherever the stream is cut. Invalid input is ignored here: the parser of the complete answer
 * reports it.
 */
export class ReplyReader {
  /** The complete fields, except `reply`. */
  readonly fields: Record<string, unknown> = {};
  /** Text that is not parsed yet. `#pending` holds the pieces received since `#text` was last extended. */
  #text = '';
  #pending = '';
  #at = 0;
  #state: 'beforeObject' | 'key' | 'colon' | 'value' | 'reply' | 'afterValue' | 'done' = 'beforeObject';
  #key = '';
  #reply = '';
  /** Scan position in an incomplete key or value, so that each character is read once, however small the pieces are. */
  #scan: { at: number; depth: number; isInString: boolean } | null = null;

  /** The part of the reply received so far. */
  get reply(): string {
    return this.#reply;
  }

  push(piece: string): void {
    this.#pending += piece;
    // Reading a concatenated string copies it, so a long text is only extended now and then.
    if (this.#pending.length * maxCopies < this.#text.length) return;
    const { length } = this.#text;
    this.#text = this.#text.slice(this.#at) + this.#pending;
    if (this.#scan !== null) this.#scan.at -= Math.min(this.#at, length);
    this.#at = 0;
    this.#pending = '';
    while (this.#step());
  }

  /** Parses one token. Returns false if more input is needed. */
  #step(): boolean {
    switch (this.#state) {
      case 'beforeObject':
        return this.#find('{', 'key');
      case 'key': {
        this.#skip(/[\s,]/y);
        if (this.#at >= this.#text.length) return false;
        if (this.#text[this.#at] !== '"') return this.#end();
        const end = this.#endOfString();
        if (end === null) return false;
        const key = parsed(this.#text.slice(this.#at, end));
        if (typeof key !== 'string') return this.#end();
        this.#key = key;
        this.#at = end;
        this.#state = 'colon';
        return true;
      }
      case 'colon':
        return this.#find(':', 'value');
      case 'value': {
        this.#skip(/\s/y);
        if (this.#at >= this.#text.length) return false;
        if (this.#key === 'reply' && this.#text[this.#at] === '"') {
          this.#at += 1;
          this.#state = 'reply';
          return true;
        }
        const end = this.#endOfValue();
        if (end === null) return false;
        this.fields[this.#key] = parsed(this.#text.slice(this.#at, end));
        this.#at = end;
        this.#state = 'afterValue';
        return true;
      }
      case 'reply':
        return this.#readReply();
      case 'afterValue': {
        this.#skip(/\s/y);
        if (this.#at >= this.#text.length) return false;
        if (this.#text[this.#at] !== ',') return this.#end();
        this.#state = 'key';
        return true;
      }
      default:
        return false;
    }
  }

  #end(): boolean {
    this.#state = 'done';
    return false;
  }

  #skip(pattern: RegExp): void {
    while (this.#at < this.#text.length) {
      pattern.lastIndex = this.#at;
      if (!pattern.test(this.#text)) return;
      this.#at += 1;
    }
  }

  #find(character: string, next: 'key' | 'value'): boolean {
    const found = this.#text.indexOf(character, this.#at);
    if (found === -1) {
      this.#at = this.#text.length;
      return false;
    }
    this.#at = found + 1;
    this.#state = next;
    return true;
  }

  /** Returns the end of the string at `#at`, or null while the string is incomplete. */
  #endOfString(): number | null {
    this.#scan ??= { at: this.#at + 1, depth: 0, isInString: true };
    if (!this.#scanString(this.#scan)) return null;
    const { at } = this.#scan;
    this.#scan = null;
    return at;
  }

  /** Returns the end of the value at `#at`, or null while the value is incomplete. */
  #endOfValue(): number | null {
    this.#scan ??= { at: this.#at, depth: 0, isInString: false };
    const scan = this.#scan;
    while (scan.at < this.#text.length) {
      if (scan.isInString) {
        if (!this.#scanString(scan)) return null;
        continue;
      }
      const character = this.#text.charAt(scan.at);
      if (scan.depth === 0 && (character === ',' || character === '}' || character === ']')) {
        this.#scan = null;
        return scan.at;
      }
      if (character === '"') scan.isInString = true;
      else if (character === '[' || character === '{') scan.depth += 1;
      else if (character === ']' || character === '}') scan.depth -= 1;
      scan.at += 1;
    }
    return null;
  }

  /** Moves the scan behind the end of the current string. Returns false while the string is incomplete. */
  #scanString(scan: { at: number; isInString: boolean }): boolean {
    for (; scan.at < this.#text.length; scan.at += 1) {
      const character = this.#text.charAt(scan.at);
      if (character === '\\') {
        // The escaped character may be missing yet.
        if (scan.at + 1 >= this.#text.length) return false;
        scan.at += 1;
      } else if (character === '"') {
        scan.isInString = false;
        scan.at += 1;
        return true;
      }
    }
    return false;
  }

  #readReply(): boolean {
    while (this.#at < this.#text.length) {
      const character = this.#text[this.#at] as string;
      if (character === '"') {
        this.#at += 1;
        this.#state = 'afterValue';
        return true;
      }
      const unit = character === '\\' ? this.#escape() : { value: character, length: 1 };
      if (unit === null) return false;
      // A high surrogate is only added together with its low surrogate.
      if (/^[\uD800-\uDBFF]$/.test(unit.value)) {
        const low = this.#lowSurrogate(this.#at + unit.length);
        if (low === null) return false;
        this.#reply += unit.value + low.value;
        this.#at += unit.length + low.length;
      } else {
        this.#reply += unit.value;
        this.#at += unit.length;
      }
    }
    return false;
  }

  /** Returns the low surrogate at a position, an empty value if there is none, or null if more input is needed. */
  #lowSurrogate(at: number): { value: string; length: number } | null {
    const character = this.#text[at];
    if (character === undefined) return null;
    const found = character === '\\' ? this.#escape(at) : { value: character, length: 1 };
    if (found === null) return null;
    return /^[\uDC00-\uDFFF]$/.test(found.value) ? found : { value: '', length: 0 };
  }

  #escape(at = this.#at): { value: string; length: number } | null {
    const length = this.#text[at + 1] === 'u' ? 6 : 2;
    if (at + length > this.#text.length) return null;
    const value = parsed(`"${this.#text.slice(at, at + length)}"`);
    // An invalid escape is left out. The parser of the complete answer rejects it.
    return { value: typeof value === 'string' ? value : '', length };
  }
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
