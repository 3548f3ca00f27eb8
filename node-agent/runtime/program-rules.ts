import { createHash } from 'node:crypto';
import { createReadStream, realpathSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, resolve } from 'node:path';
import type { z } from 'zod';
import { commandLine } from '../../shared/command-line.ts';
import type { systemRun } from '../../shared/commands/system.ts';
import type { LocalSettings, ProgramRule } from '../../shared/companion/settings.ts';
import { matchesGlob } from '../../shared/glob.ts';
import { canonicalJson } from '../../shared/json.ts';
import { isInside } from './commands/files.ts';
import { findProgram, linkChain } from './commands/find-program.ts';

type RunInput = z.output<typeof systemRun.input>;

/** What a command would run, as far as a rule of the owner can refer to it. */
export interface ProgramFacts {
  /** The resolved path. */
  program: string;
  /** SHA-256 of the file's bytes, in hex, because the file at a path may change. */
  sha256: string;
  /** SHA-256, in hex, of everything that the prompt shows. */
  exact: string;
}

/** The decision of the owner's rules about a command; `ask` when no rule decides. */
export type ProgramDecision = 'allow' | 'deny' | 'ask';

/** Cached hashes by the identity of the file, because programs are large and seldom change. */
const hashes = new Map<string, string>();
const maxKnown = 200;

/** SHA-256 of a file, in hex. It is computed again when the file was replaced or written. */
async function sha256Of(path: string, signal: AbortSignal): Promise<string> {
  const { dev, ino, size, mtimeNs, ctimeNs } = await stat(path, { bigint: true });
  const key = `${dev}:${ino}:${size}:${mtimeNs}:${ctimeNs}`;
  const before = hashes.get(key);
  if (before !== undefined) return before;
  const hash = createHash('sha256');
  for await (const chunk of createReadStream(path, { signal }) as AsyncIterable<Buffer>) hash.update(chunk);
  const sha256 = hash.digest('hex');
  if (hashes.size >= maxKnown) hashes.clear();
  hashes.set(key, sha256);
  return sha256;
}

/**
 * Identifies the program and everything else that an input would run.
 * @throws CommandError when there is no such program.
 */
export async function programFacts(input: RunInput, cwd: string, signal: AbortSignal): Promise<ProgramFacts> {
  const program = programOf(input);
  const sha256 = await sha256Of(program, signal);
  const shown = { program, sha256, argv: input.argv, cwd, env: input.env ?? {}, stdin: input.stdin ?? null };
  return { program, sha256, exact: createHash('sha256').update(canonicalJson(shown)).digest('hex') };
}

/** The real path of the program that an input would run. @throws CommandError when there is no such program. */
export const programOf = ({ argv }: Pick<RunInput, 'argv'>): string => realpathSync(findProgram(argv[0] as string));

/** The real path of the folder in which a program would run. A path that does not exist is returned as it is. */
export function folderOf({ cwd = homedir() }: Pick<RunInput, 'cwd'>): string {
  try {
    return realpathSync(cwd);
  } catch {
    return cwd;
  }
}

/** Whether the folder of a rule now leads to another folder, so that the rule permits nothing. */
export const isRuleMoved = ({ folder }: ProgramRule): boolean =>
  folder !== undefined && folderOf({ cwd: folder }) !== resolve(folder);

/** Whether the decision depends on more than the command line. The program's file is hashed only then. */
export const needsFacts = ({ ask, rules }: LocalSettings['system']): boolean =>
  ask || rules.some(({ exact }) => exact !== null);

/**
 * Decides by the owner's rules. A rule that denies precedes one that allows. Without a rule the owner is asked. If the
 * owner switched asking off, the program is allowed here; `programProblem` checks the list of programs.
 */
export function decideProgram(
  input: Pick<RunInput, 'argv' | 'cwd' | 'env' | 'stdin'>,
  { program, exact }: { program: string; exact: string | null },
  { system: { ask, rules }, files }: Pick<LocalSettings, 'system' | 'files'>,
): ProgramDecision {
  const { argv, env = {}, stdin } = input;
  const matching = rules.filter((rule) =>
    rule.exact === null
      ? // A pattern does not show variables, input or another folder, so it does not permit them.
        (rule.decision === 'deny' ||
          (Object.keys(env).length === 0 && stdin === undefined && permitsFolder(rule, folderOf(input), files))) &&
        matchesCommandLine(rule, argv, program)
      : exact !== null && rule.exact === exact,
  );
  if (matching.some(({ decision }) => decision === 'deny')) return 'deny';
  if (matching.some(({ decision }) => decision === 'allow')) return 'allow';
  return ask ? 'ask' : 'allow';
}

/**
 * Whether a pattern permits programs in a folder. It never does inside or above a folder that receives downloads, where
 * a workflow could put the program's configuration or code.
 */
function permitsFolder(rule: ProgramRule, real: string, { downloads }: LocalSettings['files']): boolean {
  const downloadFolders = downloads.flatMap((cwd) => [cwd, folderOf({ cwd })]);
  if (downloadFolders.some((one) => isInside(one, real) || isInside(real, one))) return false;
  if (rule.folder === undefined) return real === folderOf({});
  return !isRuleMoved(rule) && isInside(resolve(rule.folder), real);
}

/** Whether a pattern permits this command line, but in another folder. */
export function isAllowedElsewhere(
  { argv, env = {}, stdin }: Pick<RunInput, 'argv' | 'env' | 'stdin'>,
  program: string,
  { rules }: LocalSettings['system'],
): boolean {
  if (Object.keys(env).length > 0 || stdin !== undefined) return false;
  return rules.some(
    (rule) => rule.decision === 'allow' && rule.exact === null && matchesCommandLine(rule, argv, program),
  );
}

/** Whether the owner allowed this command line before for another version of the program's file. */
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

/** Splits a pattern, such as a line of `commandLine`, into words. Double quotes enclose one word, with JSON escapes. Null when a quote is not closed. */
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
  if (
    !(decision === 'deny' ? isRefused(name, argv[0] as string, program) : isPermitted(name, argv[0] as string, program))
  )
    return false;
  const given = argv.slice(1);
  const isOpen = wanted.at(-1) === '**';
  if (isOpen) wanted.pop();
  return (
    (isOpen ? given.length >= wanted.length : given.length === wanted.length) &&
    wanted.every((word, index) => matchesGlob(word, given[index] as string))
  );
}

/** Whether a denied name matches a program: by any path or link that leads to it, and by any of their names. */
function isRefused(name: string, requested: string, program: string): boolean {
  const paths = [requested, program, ...pathsOf(requested)];
  const names = paths.flatMap((path) => [path, basename(path)]);
  const refused = realPathOf(name);
  return names.some((known) => matchesGlob(name, known)) || (refused !== null && isSameFile(refused, program));
}

/** Whether two paths lead to the same file, also by hard links such as `perl` and `perl5.36.0`. */
function isSameFile(one: string, other: string): boolean {
  if (one === other) return true;
  const [left, right] = [one, other].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return left !== undefined && left.dev === right?.dev && left.ino === right.ino;
}

/** Whether an allowed name matches a program. A name permits only the program that PATH finds; a path only its file. */
function isPermitted(name: string, requested: string, program: string): boolean {
  if (name === '*') return true;
  if (!name.includes('/')) return !requested.includes('/') && matchesGlob(name, requested);
  return matchesGlob(name, program) || (!name.includes('*') && realPathOf(name) === program);
}

function pathsOf(requested: string): string[] {
  try {
    return linkChain(findProgram(requested));
  } catch {
    return [];
  }
}

/** The file that the first word of a pattern leads to. Null when there is none. */
function realPathOf(name: string): string | null {
  if (name.includes('*')) return null;
  try {
    return realpathSync(findProgram(name));
  } catch {
    return null;
  }
}
