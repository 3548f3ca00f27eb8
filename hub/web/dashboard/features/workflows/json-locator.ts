/** A part of a text, by its first character and the one after its last. */
interface Place {
  from: number;
  to: number;
}

/** The steps of a path such as `body.stepsJson[2].input`, without the first ones that name the request. */
export function partsOf(path: string): (string | number)[] {
  return [...path.matchAll(/\[(\d+)\]|([^.[\]]+)/g)]
    .map(([, index, name]) => (index === undefined ? (name as string) : Number(index)))
    .filter((part, index) => index > 0 || part !== 'body');
}

const spaces = /[\t\n\r ]*/y;
const text = /"(?:[^"\\]|\\.)*"/y;
const scalar = /[^\t\n\r ,\]}]+/y;

/** Walks through a valid JSON text without building its value. */
class Walk {
  readonly #json: string;
  at = 0;

  constructor(json: string) {
    this.#json = json;
  }

  #match(pattern: RegExp): string {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.#json)?.[0] ?? '';
    this.at += found.length;
    return found;
  }

  peek(): string {
    this.#match(spaces);
    return this.#json[this.at] ?? '';
  }

  /** Skips one value. */
  skip(): void {
    const first = this.peek();
    if (first === '"') this.#match(text);
    else if (first === '{' || first === '[') this.children(() => false);
    else this.#match(scalar);
  }

  /** Visits the children of an object or a list until `enter` returns true for one; then `at` is before its value. */
  children(enter: (name: string | number) => boolean): boolean {
    const isObject = this.peek() === '{';
    if (!isObject && this.peek() !== '[') return false;
    this.at += 1;
    for (let index = 0; this.at < this.#json.length; index += 1) {
      const next = this.peek();
      if (next === '}' || next === ']') break;
      const name = isObject ? (JSON.parse(this.#match(text)) as string) : index;
      if (isObject && this.peek() === ':') this.at += 1;
      this.peek();
      if (enter(name)) return true;
      this.skip();
      if (this.peek() === ',') this.at += 1;
    }
    this.at += 1;
    return false;
  }
}

/** Where a path is in a valid JSON text. A path that the text does not have leads to its nearest ancestor. */
export function locate(json: string, path: string): Place {
  const walk = new Walk(json);
  walk.peek();
  let from = walk.at;
  for (const part of partsOf(path)) {
    if (!walk.children((name) => name === part)) break;
    from = walk.at;
  }
  const value = new Walk(json);
  value.at = from;
  value.skip();
  return { from, to: value.at };
}

/** Line of a position, from 1. */
export const lineAt = (json: string, at: number) => json.slice(0, at).split('\n').length;

const validString = /"(?:[ !#-[\]-\u{10FFFF}]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/uy;
const validScalar = /(?:true|false|null|-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?)(?![\w.+-])/y;

/** Position at which a text stops being valid JSON. Browsers name it in different ways, or not at all. */
export function jsonErrorAt(json: string): number {
  let at = 0;
  const accept = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(json)?.[0];
    at += found?.length ?? 0;
    return found !== undefined;
  };
  const acceptSign = (sign: string): boolean => {
    accept(spaces);
    if (json[at] !== sign) return false;
    at += 1;
    return true;
  };
  const acceptMember = (): boolean => {
    accept(spaces);
    return accept(validString) && acceptSign(':') && acceptValue();
  };
  const acceptList = (end: string, acceptItem: () => boolean): boolean => {
    if (acceptSign(end)) return true;
    do if (!acceptItem()) return false;
    while (acceptSign(','));
    return acceptSign(end);
  };
  const acceptValue = (): boolean => {
    if (acceptSign('{')) return acceptList('}', acceptMember);
    if (acceptSign('[')) return acceptList(']', acceptValue);
    return accept(validString) || accept(validScalar);
  };
  acceptValue();
  accept(spaces);
  // The end of the text is on its last line with content.
  return Math.min(at, json.trimEnd().length);
}
