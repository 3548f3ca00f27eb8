/**
 * Regular expressions with linear matching time: all alternatives are followed concurrently, character by character,
 * instead of by backtracking. The syntax and the semantics are those of ECMAScript with the flag `u`. The native engine
 * checks the syntax, and tests whether a single character is in a set.
 *
 * The port of RE2 in JavaScript, `re2js`, has no budget: `.*a.{990}[cd]` takes 0.7 s for a text of 64 KiB. Its `.` and
 * `\s` also match other characters than those of ECMAScript.
 */

const maxPatternLength = 200;
const maxInstructions = 1_000;

/** An invalid pattern. The message continues a sentence whose subject is the pattern. */
export class PatternError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'PatternError';
  }
}

/** Remaining work. One unit is one instruction or one tested character. */
export interface WorkBudget {
  left: number;
}

/** A pattern of one character. It caches its last result, because many instructions test the same character. */
class CharacterSet {
  readonly #source: string;
  #pattern: RegExp | undefined;
  #character = '';
  #isIn = false;

  constructor(source: string) {
    this.#source = source;
  }

  has(character: string): boolean {
    if (character !== this.#character) {
      this.#pattern ??= new RegExp(`^${this.#source}$`, 'u');
      this.#character = character;
      this.#isIn = this.#pattern.test(character);
    }
    return this.#isIn;
  }
}

type Instruction =
  /** Consumes a character that is in the set. */
  | { kind: 'set'; set: CharacterSet }
  | { kind: 'start' | 'end' }
  /** Continues at each of these distances from itself. */
  | { kind: 'fork'; to: readonly number[] };

const fork = (...to: number[]): Instruction => ({ kind: 'fork', to });

function assertSize(instructions: number): void {
  if (instructions > maxInstructions)
    throw new PatternError('is too large once its repetitions are written out; bound the length by maxLength');
}

/**
 * Back references and word boundaries need more than the next character. Unicode properties take up to 1 ms per pattern
 * to compile.
 */
const unsupportedEscapes = 'kbBpP123456789';
/** A class, an escape, the start of a group, a quantifier, or any other character. */
const tokens =
  /\[(?:\\.|[^\\\]])*\]?|\\u\{[^}]*\}?|\\u[dD][89abAB]..\\u[dD][c-fC-F]..|\\(?:u....|x..|c.|.)|\(\?:?|[*+?]\??|\{[^}]*\}?\??|./gsu;
const quantifiers: Record<string, string> = { '*': '0,', '+': '1,', '?': '0,1' };

/** The bounds of a quantifier, greedy or lazy; null for another token. */
function boundsOf(token: string): [min: number, max: number] | null {
  const written = token.startsWith('{') ? token.slice(1, token.lastIndexOf('}')) : quantifiers[token[0] ?? ''];
  if (written === undefined) return null;
  const [min, max = min] = written.split(',');
  return [Number(min), max === '' ? Number.POSITIVE_INFINITY : Number(max)];
}

/** Writes out repetitions: the program has no counters. */
function repeat(item: Instruction[], min: number, max: number): Instruction[] {
  const size = item.length;
  if (size === 0) return [];
  if (max === Number.POSITIVE_INFINITY) {
    assertSize((min + 1) * size);
    return [...Array.from({ length: min }, () => item).flat(), fork(1, size + 2), ...item, fork(-size - 1)];
  }
  assertSize(max * size);
  return Array.from({ length: max }, (_, index) =>
    index < min ? item : [fork(1, (max - index) * (size + 1)), ...item],
  ).flat();
}

/** Compiles a pattern with valid syntax. */
class Compiler {
  readonly #tokens: readonly string[];
  #at = 0;

  constructor(source: string) {
    this.#tokens = source.match(tokens) ?? [];
  }

  /** Compiles alternatives, up to the end of their group. */
  compile(): Instruction[] {
    const options = [this.#sequence()];
    while (this.#take('|')) options.push(this.#sequence());
    if (options.length === 1) return options[0] as Instruction[];
    const end = options.reduce((length, option) => length + option.length + 1, 1);
    const starts: number[] = [];
    const program = [fork()];
    for (const option of options) {
      starts.push(program.length);
      program.push(...option);
      program.push(fork(end - program.length));
    }
    program[0] = fork(...starts);
    assertSize(program.length);
    return program;
  }

  #take(token: string): boolean {
    const isNext = this.#tokens[this.#at] === token;
    if (isNext) this.#at += 1;
    return isNext;
  }

  #sequence(): Instruction[] {
    const program: Instruction[] = [];
    for (;;) {
      const next = this.#tokens[this.#at];
      if (next === undefined || next === '|' || next === ')') return program;
      this.#at += 1;
      const item = this.#atom(next);
      const bounds = boundsOf(this.#tokens[this.#at] ?? '');
      if (bounds !== null) this.#at += 1;
      program.push(...(bounds === null ? item : repeat(item, ...bounds)));
      assertSize(program.length);
    }
  }

  #atom(token: string): Instruction[] {
    switch (token) {
      case '^':
        return [{ kind: 'start' }];
      case '$':
        return [{ kind: 'end' }];
      case '(?':
        throw new PatternError('has a group with (?; only (?: is supported, no lookarounds and no names');
      case '(':
      case '(?:': {
        const program = this.compile();
        this.#take(')');
        return program;
      }
      default:
        return [{ kind: 'set', set: new CharacterSet(token) }];
    }
  }
}

/** @throws PatternError. */
function compileNatively(source: string): RegExp {
  if (source.length > maxPatternLength) throw new PatternError(`has more than ${maxPatternLength} characters`);
  for (const [escape, character = ''] of source.matchAll(/\\(.)/gsu))
    if (unsupportedEscapes.includes(character)) throw new PatternError(`has ${escape}, which is not supported`);
  try {
    return new RegExp(source, 'u');
  } catch (error) {
    const { message } = error as SyntaxError;
    throw new PatternError(
      `is not a valid ECMAScript regular expression (flag u): ${message.slice(message.lastIndexOf(': ') + 2)}`,
    );
  }
}

/** A compiled pattern. */
export class LinearPattern {
  readonly #program: readonly Instruction[];

  /** @throws PatternError. */
  constructor(source: string) {
    compileNatively(source);
    this.#program = new Compiler(source).compile();
  }

  /** Whether a part of the text matches; null when the budget is used up. */
  test(text: string, budget: WorkBudget): boolean | null {
    const program = this.#program;
    const reached = new Int32Array(program.length).fill(-1);
    let current: number[] = [];
    const pending: number[] = [];

    /** Follows instructions that consume no character. Returns whether the end of the program is reached. */
    const follow = (from: number, position: number, into: number[]): boolean => {
      pending.push(from);
      for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
        budget.left -= 1;
        const instruction = program[at];
        if (instruction === undefined) return true;
        if (reached[at] === position) continue;
        reached[at] = position;
        if (instruction.kind === 'fork') for (const distance of instruction.to) pending.push(at + distance);
        else if (instruction.kind === 'set') into.push(at);
        else if (instruction.kind === 'start' ? position === 0 : position === text.length) pending.push(at + 1);
      }
      return false;
    };

    for (let position = 0; ;) {
      if (follow(0, position, current)) return true;
      if (position >= text.length) return false;
      if (budget.left < 0) return null;
      const character = String.fromCodePoint(text.codePointAt(position) as number);
      position += character.length;
      const next: number[] = [];
      for (const at of current) {
        budget.left -= 1;
        const { set } = program[at] as { set: CharacterSet };
        if (set.has(character) && follow(at + 1, position, next)) return true;
      }
      current = next;
    }
  }
}
