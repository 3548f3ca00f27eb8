import { createHash } from 'node:crypto';
import { readFileSync, realpathSync } from 'node:fs';
import { basename } from 'node:path';
import type { z } from 'zod';
import type { systemRun } from '../../shared/commands/system.ts';
import type { LocalSettings, ProgramRule } from '../../shared/companion/settings.ts';
import { matchesGlob } from '../../shared/glob.ts';
import { canonicalJson } from '../../shared/json.ts';
import { findProgram } from './commands/find-program.ts';

type RunInput = z.output<typeof systemRun.input>;

/** What a command would run, as far as a word of the owner can bind it. */
export interface ProgramFacts {
  /** The resolved path. */
  program: string;
  /** Of the file's bytes, in hex: what stands at a path may be another program tomorrow. */
  sha256: string;
  /** SHA-256, in hex, of everything that a prompt shows. */
  exact: string;
}

/** What the owner's rules say of a command: `ask` where none decides. */
export type ProgramDecision = 'allow' | 'deny' | 'ask';

/** Identifies what an input would run. @throws CommandError when there is no such program. */
export function programFacts(input: RunInput, cwd: string): ProgramFacts {
  const program = realpathSync(findProgram(input.argv[0] as string));
  const sha256 = createHash('sha256').update(readFileSync(program)).digest('hex');
  const shown = { program, sha256, argv: input.argv, cwd, env: input.env ?? {}, stdin: input.stdin ?? null };
  return { program, sha256, exact: createHash('sha256').update(canonicalJson(shown)).digest('hex') };
}

/** Refusals count before permissions; without a rule the owner is asked, or, where they do not want that, their list of programs decides alone. */
export function decideProgram(
  { argv }: Pick<RunInput, 'argv'>,
  { program, exact }: ProgramFacts,
  { ask, rules }: LocalSettings['system'],
): ProgramDecision {
  const matching = rules.filter((rule) =>
    rule.exact === null ? matchesCommandLine(rule, argv, program) : rule.exact === exact,
  );
  if (matching.some(({ decision }) => decision === 'deny')) return 'deny';
  if (matching.some(({ decision }) => decision === 'allow')) return 'allow';
  return ask ? 'ask' : 'allow';
}

/** Whether the owner once allowed this very command line for other bytes of its program. */
export function wasAllowedForAnother(
  argv: readonly string[],
  { exact }: ProgramFacts,
  { rules }: LocalSettings['system'],
): boolean {
  const words = commandLine(argv);
  return rules.some(
    (rule) => rule.decision === 'allow' && rule.exact !== null && rule.exact !== exact && rule.pattern === words,
  );
}

/** The words of a command line as one text that `wordsOf` takes apart again. */
export const commandLine = (argv: readonly string[]): string =>
  argv.map((word) => (/^[^\s"'\\]+$/.test(word) ? word : JSON.stringify(word))).join(' ');

/** The words of a pattern; what stands in double quotes is one, with JSON's escapes. Null when a quote is not closed. */
export function wordsOf(pattern: string): string[] | null {
  const words: string[] = [];
  for (let rest = pattern.trim(); rest !== ''; rest = rest.trimStart()) {
    const quoted = /^"(?:[^"\\]|\\.)*"(?=\s|$)/.exec(rest)?.[0];
    const word = quoted ?? /^[^\s"]+(?=\s|$)/.exec(rest)?.[0];
    if (word === undefined) return null;
    if (quoted === undefined) words.push(word);
    else {
      try {
        words.push(JSON.parse(quoted) as string);
      } catch {
        return null;
      }
    }
    rest = rest.slice(word.length);
  }
  return words;
}

function matchesCommandLine({ pattern, decision }: ProgramRule, argv: readonly string[], program: string): boolean {
  const words = wordsOf(pattern);
  if (words === null || words.length === 0) return false;
  const [name = '', ...wanted] = words;
  // Whatever way leads to a refused program; but a name permits no program of that name that lies elsewhere.
  const names = [
    argv[0] as string,
    program,
    ...(decision === 'deny' ? [basename(program), basename(argv[0] as string)] : []),
  ];
  if (!names.some((known) => matchesGlob(name, known))) return false;
  const given = argv.slice(1);
  const isOpen = wanted.at(-1) === '**';
  if (isOpen) wanted.pop();
  return (
    (isOpen ? given.length >= wanted.length : given.length === wanted.length) &&
    wanted.every((word, index) => matchesGlob(word, given[index] as string))
  );
}
