import { createHash } from 'node:crypto';
import { createReadStream, realpathSync, statSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, resolve } from 'node:path';
import type { z } from 'zod';
import type { systemRun } from '../../shared/commands/system.ts';
import type { LocalSettings, ProgramRule } from '../../shared/companion/settings.ts';
import { matchesGlob } from '../../shared/glob.ts';
import { canonicalJson } from '../../shared/json.ts';
import { isInside } from './commands/files.ts';
import { findProgram, waysTo } from './commands/find-program.ts';

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

/** The bytes of programs by which file they were read from: programs are large, and seldom change. */
const hashes = new Map<string, string>();
const maxKnown = 200;

/** SHA-256 of a file, in hex; read anew whenever the file is another one or was written since. */
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

/** Identifies what an input would run. @throws CommandError when there is no such program. */
export async function programFacts(input: RunInput, cwd: string, signal: AbortSignal): Promise<ProgramFacts> {
  const program = programOf(input);
  const sha256 = await sha256Of(program, signal);
  const shown = { program, sha256, argv: input.argv, cwd, env: input.env ?? {}, stdin: input.stdin ?? null };
  return { program, sha256, exact: createHash('sha256').update(canonicalJson(shown)).digest('hex') };
}

/** The path of what an input would run. @throws CommandError when there is no such program. */
export const programOf = ({ argv }: Pick<RunInput, 'argv'>): string => realpathSync(findProgram(argv[0] as string));

/** The real path of the folder in which a program would run; as it is given when there is none. */
export function folderOf({ cwd = homedir() }: Pick<RunInput, 'cwd'>): string {
  try {
    return realpathSync(cwd);
  } catch {
    return cwd;
  }
}

/** Whether the folder of a rule leads to another place than when its owner named it, so that the rule permits nowhere. */
export const isRuleMoved = ({ folder }: ProgramRule): boolean =>
  folder !== undefined && folderOf({ cwd: folder }) !== resolve(folder);

/** Whether an owner's word depends on more than the command line: then the bytes of the program are read. */
export const needsFacts = ({ ask, rules }: LocalSettings['system']): boolean =>
  ask || rules.some(({ exact }) => exact !== null);

/** Refusals count before permissions; without a rule the owner is asked, or, where they do not want that, their list of programs decides alone. */
export function decideProgram(
  input: Pick<RunInput, 'argv' | 'cwd' | 'env' | 'stdin'>,
  { program, exact }: { program: string; exact: string | null },
  { system: { ask, rules }, files }: Pick<LocalSettings, 'system' | 'files'>,
): ProgramDecision {
  const { argv, env = {}, stdin } = input;
  const matching = rules.filter((rule) =>
    rule.exact === null
      ? // What a pattern does not show, variables, input and another folder, it does not permit.
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
 * Whether a pattern permits in a folder. It never permits inside a folder that receives downloads, or above one: a workflow could put the
 * program's configuration or code there.
 */
function permitsFolder(rule: ProgramRule, real: string, { downloads }: LocalSettings['files']): boolean {
  const received = downloads.flatMap((cwd) => [cwd, folderOf({ cwd })]);
  if (received.some((one) => isInside(one, real) || isInside(real, one))) return false;
  if (rule.folder === undefined) return real === folderOf({});
  return !isRuleMoved(rule) && isInside(resolve(rule.folder), real);
}

/** Whether a pattern of the owner permits this command line, but in another folder. */
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

/** Whatever way leads to a refused program, and whatever it is called on that way. */
function isRefused(name: string, requested: string, program: string): boolean {
  const paths = [requested, program, ...pathsOf(requested)];
  const names = paths.flatMap((path) => [path, basename(path)]);
  const refused = realPathOf(name);
  return names.some((known) => matchesGlob(name, known)) || (refused !== null && isSameFile(refused, program));
}

/** Whether two paths lead to one file, also by hard links: `perl` and `perl5.36.0` are one. */
function isSameFile(one: string, other: string): boolean {
  if (one === other) return true;
  const [left, right] = [one, other].map((path) => statSync(path, { bigint: true, throwIfNoEntry: false }));
  return left !== undefined && left.dev === right?.dev && left.ino === right.ino;
}

/** A name permits the program that it means here, and no other of that name; a path the file that it leads to. */
function isPermitted(name: string, requested: string, program: string): boolean {
  if (name === '*') return true;
  if (!name.includes('/')) return !requested.includes('/') && matchesGlob(name, requested);
  return matchesGlob(name, program) || (!name.includes('*') && realPathOf(name) === program);
}

function pathsOf(requested: string): string[] {
  try {
    return waysTo(findProgram(requested));
  } catch {
    return [];
  }
}

/** The file that the first word of a pattern leads to; null when it leads to none. */
function realPathOf(name: string): string | null {
  if (name.includes('*')) return null;
  try {
    return realpathSync(findProgram(name));
  } catch {
    return null;
  }
}
