/**
 * Reads the answer of a model while it comes: a JSON object whose field `reply` is a text. It answers what is there of that text so far, whatever the
 * places at which the stream is cut; what is no such object it leaves to whoever parses the whole.
 */
export class ReplyReader {
  /** The fields that are complete, but for `reply`. */
  readonly fields: Record<string, unknown> = {};
  #text = '';
  #at = 0;
  #state: 'before' | 'key' | 'colon' | 'value' | 'reply' | 'behind' | 'over' = 'before';
  #key = '';
  #reply = '';

  /** What is there of the reply. */
  get reply(): string {
    return this.#reply;
  }

  /** All that came. */
  get text(): string {
    return this.#text;
  }

  push(piece: string): void {
    this.#text += piece;
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
        const end = this.#endOfString(this.#at);
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
    if (found === -1) return false;
    this.#at = found + 1;
    this.#state = next;
    return true;
  }

  /** Where a string ends that begins at a place; null while it does not. */
  #endOfString(from: number): number | null {
    for (let at = from + 1; at < this.#text.length; at += 1) {
      if (this.#text[at] === '\\') at += 1;
      else if (this.#text[at] === '"') return at + 1;
    }
    return null;
  }

  /** Where the value ends at which it stands; null while it does not. */
  #endOfValue(): number | null {
    let depth = 0;
    for (let at = this.#at; at < this.#text.length; at += 1) {
      const sign = this.#text[at] as string;
      if (sign === '"') {
        const end = this.#endOfString(at);
        if (end === null) return null;
        at = end - 1;
      } else if (sign === '[' || sign === '{') depth += 1;
      else if (depth === 0 && (sign === ',' || sign === '}' || sign === ']')) return at;
      else if (sign === ']' || sign === '}') depth -= 1;
    }
    return null;
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
