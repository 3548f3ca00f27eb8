/** How often a text is copied at most while it grows to twice its length. */
const mostCopies = 4_096;

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
  #state: 'before' | 'key' | 'colon' | 'value' | 'reply' | 'behind' | 'over' = 'before';
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
    if (this.#pending.length * mostCopies < this.#text.length) return;
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
      case 'before':
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
        this.#state = 'behind';
        return true;
      }
      case 'reply':
        return this.#readReply();
      case 'behind': {
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
    this.#state = 'over';
    return false;
  }

  #skip(pattern: RegExp): void {
    while (this.#at < this.#text.length) {
      pattern.lastIndex = this.#at;
      if (!pattern.test(this.#text)) return;
      this.#at += 1;
    }
  }

  #find(sign: string, next: 'key' | 'value'): boolean {
    const found = this.#text.indexOf(sign, this.#at);
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
      const sign = this.#text.charAt(scan.at);
      if (scan.depth === 0 && (sign === ',' || sign === '}' || sign === ']')) {
        this.#scan = null;
        return scan.at;
      }
      if (sign === '"') scan.isInString = true;
      else if (sign === '[' || sign === '{') scan.depth += 1;
      else if (sign === ']' || sign === '}') scan.depth -= 1;
      scan.at += 1;
    }
    return null;
  }

  /** Goes behind the end of the string that it is in; false while that is not there. */
  #scanString(scan: { at: number; isInString: boolean }): boolean {
    for (; scan.at < this.#text.length; scan.at += 1) {
      const sign = this.#text.charAt(scan.at);
      if (sign === '\\') {
        // What is escaped may not be there yet.
        if (scan.at + 1 >= this.#text.length) return false;
        scan.at += 1;
      } else if (sign === '"') {
        scan.isInString = false;
        scan.at += 1;
        return true;
      }
    }
    return false;
  }

  #readReply(): boolean {
    while (this.#at < this.#text.length) {
      const sign = this.#text[this.#at] as string;
      if (sign === '"') {
        this.#at += 1;
        this.#state = 'behind';
        return true;
      }
      const taken = sign === '\\' ? this.#escape() : { value: sign, length: 1 };
      if (taken === null) return false;
      // Half of a character waits for the other half.
      if (/^[\uD800-\uDBFF]$/.test(taken.value)) {
        const second = this.#second(this.#at + taken.length);
        if (second === null) return false;
        this.#reply += taken.value + second.value;
        this.#at += taken.length + second.length;
      } else {
        this.#reply += taken.value;
        this.#at += taken.length;
      }
    }
    return false;
  }

  /** What stands for a second half at a place; empty where none does, null where more is needed to tell. */
  #second(at: number): { value: string; length: number } | null {
    const sign = this.#text[at];
    if (sign === undefined) return null;
    const found = sign === '\\' ? this.#escape(at) : { value: sign, length: 1 };
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
