/**
 * Syntax tree of a pattern: the subset of ECMAScript regular expressions with the flag `u` that needs no backtracking.
 */

/** An invalid pattern. The message continues a sentence whose subject is the pattern. */
export class PatternError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PatternError';
  }
}

const maxPatternLength = 200;
const maxRepetitions = 1_000;
const maxGroupDepth = 20;

type Range = readonly [from: number, to: number];

export interface CharacterSet {
  ranges: readonly Range[];
  negated: boolean;
}

export type PatternNode =
  | { kind: 'set'; set: CharacterSet }
  | { kind: 'start' | 'end' }
  | { kind: 'sequence' | 'choice'; items: PatternNode[] }
  | { kind: 'repeat'; item: PatternNode; min: number; max: number };

const codeOf = (character: string) => character.codePointAt(0) as number;
const range = (from: string, to = from): Range => [codeOf(from), codeOf(to)];
const digits = [range('0', '9')];
const wordCharacters = [range('0', '9'), range('A', 'Z'), range('_'), range('a', 'z')];
const lineEnds = [range('\n'), range('\r'), range('\u2028', '\u2029')];
const spaces = [
  range('\t', '\r'),
  range(' '),
  range('\u00A0'),
  range('\u1680'),
  range('\u2000', '\u200A'),
  range('\u2028', '\u2029'),
  range('\u202F'),
  range('\u205F'),
  range('\u3000'),
  range('\uFEFF'),
];
const namedSets: Record<string, CharacterSet> = {
  d: { ranges: digits, negated: false },
  D: { ranges: digits, negated: true },
  w: { ranges: wordCharacters, negated: false },
  W: { ranges: wordCharacters, negated: true },
  s: { ranges: spaces, negated: false },
  S: { ranges: spaces, negated: true },
};
const controls: Record<string, string> = { n: '\n', r: '\r', t: '\t', f: '\f', v: '\v' };
const syntax = '^$\\.*+?()[]{}|/';
const lastCode = 0x10_ffff;

/** The complement of a set, as ranges. */
function complement(ranges: readonly Range[]): Range[] {
  const left: Range[] = [];
  let next = 0;
  for (const [from, to] of ranges.toSorted((one, other) => one[0] - other[0])) {
    if (from > next) left.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  return next <= lastCode ? [...left, [next, lastCode]] : left;
}

class Parser {
  readonly #characters: string[];
  #at = 0;
  #depth = 0;

  constructor(source: string) {
    this.#characters = [...source];
  }

  parse(): PatternNode {
    const node = this.#choice();
    if (this.#at < this.#characters.length) throw new PatternError('closes a group that it does not open');
    return node;
  }

  #peek(): string | undefined {
    return this.#characters[this.#at];
  }

  #take(expected?: string): boolean {
    if (this.#at >= this.#characters.length || (expected !== undefined && this.#peek() !== expected)) return false;
    this.#at += 1;
    return true;
  }

  #choice(): PatternNode {
    const items = [this.#sequence()];
    while (this.#take('|')) items.push(this.#sequence());
    return items.length === 1 ? (items[0] as PatternNode) : { kind: 'choice', items };
  }

  #sequence(): PatternNode {
    const items: PatternNode[] = [];
    for (let next = this.#peek(); next !== undefined && next !== '|' && next !== ')'; next = this.#peek())
      items.push(this.#quantified());
    return { kind: 'sequence', items };
  }

  #quantified(): PatternNode {
    const item = this.#atom();
    const bounds = this.#quantifier();
    if (bounds === null) return item;
    if (item.kind === 'start' || item.kind === 'end') throw new PatternError('repeats ^ or $');
    // Greedy and lazy quantifiers match the same texts.
    this.#take('?');
    if (['*', '+', '?', '{'].includes(this.#peek() ?? '')) throw new PatternError('repeats a repetition');
    const [min, max] = bounds;
    return { kind: 'repeat', item, min, max };
  }

  #quantifier(): [min: number, max: number] | null {
    if (this.#take('*')) return [0, Number.POSITIVE_INFINITY];
    if (this.#take('+')) return [1, Number.POSITIVE_INFINITY];
    if (this.#take('?')) return [0, 1];
    if (!this.#take('{')) return null;
    const min = this.#count();
    if (min === null) throw new PatternError('has { without a count; write \\{ for the brace');
    const max = this.#take(',') ? (this.#count() ?? Number.POSITIVE_INFINITY) : min;
    if (!this.#take('}')) throw new PatternError('does not close {');
    if (max < min) throw new PatternError('repeats from more to fewer times');
    return [min, max];
  }

  #count(): number | null {
    let text = '';
    for (let next = this.#peek(); next !== undefined && next >= '0' && next <= '9'; next = this.#peek()) {
      text += next;
      this.#at += 1;
    }
    if (text === '') return null;
    if (text.length > 4 || Number(text) > maxRepetitions)
      throw new PatternError(`repeats more than ${maxRepetitions} times; bound the length by maxLength`);
    return Number(text);
  }

  #atom(): PatternNode {
    const next = this.#peek() as string;
    this.#at += 1;
    switch (next) {
      case '^':
        return { kind: 'start' };
      case '$':
        return { kind: 'end' };
      case '.':
        return { kind: 'set', set: { ranges: lineEnds, negated: true } };
      case '(':
        return this.#group();
      case '[':
        return { kind: 'set', set: this.#class() };
      case '\\': {
        const escaped = this.#escape('');
        return {
          kind: 'set',
          set: typeof escaped === 'string' ? { ranges: [range(escaped)], negated: false } : escaped,
        };
      }
      case '*':
      case '+':
      case '?':
        throw new PatternError(`repeats nothing with ${next}; write \\${next} for the character`);
      case '{':
      case '}':
      case ']':
        throw new PatternError(`has ${next} by itself; write \\${next} for the character`);
      default:
        return { kind: 'set', set: { ranges: [range(next)], negated: false } };
    }
  }

  #group(): PatternNode {
    if (this.#take('?') && !this.#take(':'))
      throw new PatternError('has a group with (?; only (?: is supported, no lookarounds and no names');
    this.#depth += 1;
    if (this.#depth > maxGroupDepth) throw new PatternError(`nests more than ${maxGroupDepth} groups`);
    const node = this.#choice();
    if (!this.#take(')')) throw new PatternError('does not close a group');
    this.#depth -= 1;
    return node;
  }

  /** Parses the character or set after a backslash. */
  #escape(alsoLiteral: string): string | CharacterSet {
    const next = this.#peek();
    if (next === undefined) throw new PatternError('ends with \\');
    this.#at += 1;
    const set = namedSets[next];
    if (set !== undefined) return set;
    const control = controls[next];
    if (control !== undefined) return control;
    if (syntax.includes(next) || alsoLiteral.includes(next)) return next;
    if (next === 'x') return this.#hexadecimal(2);
    if (next === 'u') return this.#hexadecimal(4);
    throw new PatternError(`has \\${next}, which is not supported`);
  }

  #hexadecimal(length: number): string {
    const text = this.#characters.slice(this.#at, this.#at + length).join('');
    if (!/^[0-9A-Fa-f]+$/.test(text) || text.length !== length)
      throw new PatternError(`has an escape without its ${length} hexadecimal digits`);
    const code = Number.parseInt(text, 16);
    if (code >= 0xd800 && code <= 0xdfff) throw new PatternError('has an unpaired surrogate');
    this.#at += length;
    return String.fromCodePoint(code);
  }

  #class(): CharacterSet {
    const negated = this.#take('^');
    const ranges: Range[] = [];
    for (;;) {
      const from = this.#classMember();
      if (from === null) return { ranges, negated };
      if (typeof from !== 'string') {
        ranges.push(...(from.negated ? complement(from.ranges) : from.ranges));
        if (this.#peek() === '-' && this.#characters[this.#at + 1] !== ']')
          throw new PatternError('has a range from a set of characters');
        continue;
      }
      if (this.#peek() !== '-' || this.#characters[this.#at + 1] === ']') {
        ranges.push(range(from));
        continue;
      }
      this.#at += 1;
      const to = this.#classMember();
      if (typeof to !== 'string') throw new PatternError('has a range to a set of characters');
      if (codeOf(to) < codeOf(from)) throw new PatternError('has a range that ends before it begins');
      ranges.push(range(from, to));
    }
  }

  /** The next member of a class; null at its end. */
  #classMember(): string | CharacterSet | null {
    const next = this.#peek();
    if (next === undefined) throw new PatternError('does not close [');
    this.#at += 1;
    if (next === ']') return null;
    return next === '\\' ? this.#escape('-') : next;
  }
}

/** Parses a pattern. @throws PatternError. */
export function parsePattern(source: string): PatternNode {
  if (source.length > maxPatternLength) throw new PatternError(`has more than ${maxPatternLength} characters`);
  return new Parser(source).parse();
}
