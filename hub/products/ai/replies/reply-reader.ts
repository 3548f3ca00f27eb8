/** How often a text is copied at most while it grows to twice its length. */
const maxCopies = 4_096;

/**
 * Reads the answer of a model while it comes: a JSON object whose field `reply` is a text. It answers what is there of that text so far, whatever the
 * places at which the stream is cut; what is no such object it leaves to whoever parses the whole.
 */
export class ReplyReader {
  /** The fields that are complete, but for `reply`. */
  readonly fields: Record<string, unknown> = {};
  /** What is not read yet, and what came since. */
  #text = '';
  #pending = '';
  #at = 0;
  #state: 'beforeObject' | 'key' | 'colon' | 'value' | 'reply' | 'afterValue' | 'done' = 'beforeObject';
  #key = '';
  #reply = '';
  /** How far a key or a value was looked at that is not complete yet: each sign is looked at once, however small the pieces are. */
  #scan: { at: number; depth: number; isInString: boolean } | null = null;

  /** What is there of the reply. */
  get reply(): string {
    return this.#reply;
  }

  push(piece: string): void {
    this.#pending += piece;
    // To look into a text that grew is to copy it: a long one is looked into now and then.
    if (this.#pending.length * maxCopies < this.#text.length) return;
    const { length } = this.#text;
    this.#text = this.#text.slice(this.#at) + this.#pending;
    if (this.#scan !== null) this.#scan.at -= Math.min(this.#at, length);
    this.#at = 0;
    this.#pending = '';
    while (this.#step());
  }

  /** Goes one step on; false where that needs more. */
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

  /** Where the string ends at which it stands; null while it does not. */
  #endOfString(): number | null {
    this.#scan ??= { at: this.#at + 1, depth: 0, isInString: true };
    if (!this.#scanString(this.#scan)) return null;
    const { at } = this.#scan;
    this.#scan = null;
    return at;
  }

  /** Where the value ends at which it stands; null while it does not. */
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

  /** Goes behind the end of the string that it is in; false while that is not there. */
  #scanString(scan: { at: number; isInString: boolean }): boolean {
    for (; scan.at < this.#text.length; scan.at += 1) {
      const character = this.#text.charAt(scan.at);
      if (character === '\\') {
        // What is escaped may not be there yet.
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
      // Half of a character waits for the other half.
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

  /** What stands for a second half at a place; empty where none does, null where more is needed to tell. */
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
    // What is none is left out here; the whole does not parse either.
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
