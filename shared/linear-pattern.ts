import { PatternError, parsePattern } from './pattern-syntax.ts';
import type { CharacterSet, PatternNode } from './pattern-syntax.ts';

/**
 * Regular expressions with linear matching time. All alternatives are followed concurrently, character by character,
 * instead of by backtracking. The semantics are those of ECMAScript with the flag `u`. Back references and lookarounds,
 * which need backtracking, and redundant syntax are refused.
 */

const maxInstructions = 1_000;

/** Remaining work. One unit is one instruction or one compared range of characters. */
export interface WorkBudget {
  left: number;
}

type Instruction =
  | { kind: 'set'; set: CharacterSet }
  | { kind: 'start' | 'end' | 'match' }
  /** Continues at each of these instructions. */
  | { kind: 'fork'; to: number[] };

class Compiler {
  readonly program: Instruction[] = [];
  #work = 0;

  compile(node: PatternNode): Instruction[] {
    this.#emit(node);
    this.#push({ kind: 'match' });
    return this.program;
  }

  #push<Kind extends Instruction>(instruction: Kind): Kind {
    if (this.program.length >= maxInstructions)
      throw new PatternError('is too large once its repetitions are written out; bound the length by maxLength');
    this.program.push(instruction);
    return instruction;
  }

  #fork(...to: number[]): { kind: 'fork'; to: number[] } {
    return this.#push({ kind: 'fork', to });
  }

  #emit(node: PatternNode): void {
    // Nodes without instructions also take time.
    this.#work += 1;
    if (this.#work > 4 * maxInstructions)
      throw new PatternError('is too large once its repetitions are written out; bound the length by maxLength');
    switch (node.kind) {
      case 'sequence':
        node.items.forEach((item) => this.#emit(item));
        return;
      case 'choice':
        this.#choice(node.items);
        return;
      case 'repeat':
        this.#repeat(node.item, node.min, node.max);
        return;
      default:
        this.#push(node);
    }
  }

  #choice(items: PatternNode[]): void {
    const fork = this.#fork();
    const ends = items.map((item) => {
      fork.to.push(this.program.length);
      this.#emit(item);
      return this.#fork();
    });
    for (const end of ends) end.to.push(this.program.length);
  }

  #repeat(item: PatternNode, min: number, max: number): void {
    for (let count = 0; count < min; count += 1) this.#emit(item);
    if (max === Number.POSITIVE_INFINITY) {
      const at = this.program.length;
      const fork = this.#fork(at + 1);
      this.#emit(item);
      this.#fork(at);
      fork.to.push(this.program.length);
      return;
    }
    const forks: { to: number[] }[] = [];
    for (let count = min; count < max; count += 1) {
      forks.push(this.#fork(this.program.length + 1));
      this.#emit(item);
    }
    for (const fork of forks) fork.to.push(this.program.length);
  }
}

/** A compiled pattern. */
export class LinearPattern {
  readonly #program: Instruction[];

  /** @throws PatternError. */
  constructor(source: string) {
    this.#program = new Compiler().compile(parsePattern(source));
  }

  /** Whether a part of the text matches; null when the budget is used up. */
  test(text: string, budget: WorkBudget): boolean | null {
    const program = this.#program;
    const reached = new Int32Array(program.length).fill(-1);
    let current: number[] = [];
    const pending: number[] = [];

    /** Follows instructions that consume no character. Returns whether a match is reached. */
    const follow = (from: number, position: number, into: number[]): boolean => {
      pending.push(from);
      for (let at = pending.pop(); at !== undefined; at = pending.pop()) {
        if (reached[at] === position) continue;
        reached[at] = position;
        budget.left -= 1;
        const instruction = program[at] as Instruction;
        if (instruction.kind === 'match') {
          pending.length = 0;
          return true;
        }
        if (instruction.kind === 'fork') pending.push(...instruction.to);
        else if (instruction.kind === 'set') into.push(at);
        else if (instruction.kind === 'start' ? position === 0 : position === text.length) pending.push(at + 1);
      }
      return false;
    };

    for (let position = 0; ;) {
      if (follow(0, position, current)) return true;
      if (position >= text.length) return false;
      if (budget.left < 0) return null;
      const code = text.codePointAt(position) as number;
      position += code > 0xffff ? 2 : 1;
      const next: number[] = [];
      for (const at of current) {
        const { set } = program[at] as { set: CharacterSet };
        budget.left -= 1 + set.ranges.length;
        const isIn = set.ranges.some(([from, to]) => code >= from && code <= to);
        if (isIn !== set.negated && follow(at + 1, position, next)) return true;
      }
      current = next;
    }
  }
}
