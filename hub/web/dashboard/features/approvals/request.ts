import type { ApprovalDetail, JsonValue } from '../../../../../shared/client/client.ts';
import { commandLine } from '../../../../../shared/command-line.ts';

type Fields = Record<string, JsonValue>;

/** What an approval starts. */
export interface ApprovedCall {
  skillId: string;
  input: Fields;
}

/** A program that a machine starts. */
export interface ProgramCall {
  argv: readonly string[];
  cwd: string | null;
  env: Readonly<Record<string, string>>;
  stdin: string | null;
  timeoutMs: number;
  failOnExitCode: boolean;
  waitMs: number | null;
  /** All other fields of the request, so that nothing is hidden. */
  others: Fields;
}

/** Time limit of a program without `timeoutMs`. */
const defaultTimeoutMs = 60_000;

const isFields = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);
const isTexts = (value: unknown): value is string[] =>
  Array.isArray(value) && value.every((item) => typeof item === 'string');

/** The call that the approval binds; null for an approval that binds no call. */
export function callOf({ kind, request }: Pick<ApprovalDetail, 'kind' | 'request'>): ApprovedCall | null {
  if (!isFields(request)) return null;
  if (kind === 'system.run') return { skillId: 'system.run', input: request };
  const call = isFields(request['next']) ? request['next'] : request;
  const { skillId, input } = call;
  return typeof skillId === 'string' && isFields(input) ? { skillId, input } : null;
}

/** The parts of a request to run a program; null if it does not have the expected form and must be shown as it is. */
export function programOf({ skillId, input }: ApprovedCall): ProgramCall | null {
  if (skillId !== 'system.run') return null;
  // The node is shown by its name.
  const { argv, cwd, env, stdin, timeoutMs, failOnExitCode, waitMs, nodeId: _nodeId, ...others } = input;
  if (
    !isTexts(argv) ||
    argv.length === 0 ||
    !(cwd === undefined || typeof cwd === 'string') ||
    !(env === undefined || (isFields(env) && isTexts(Object.values(env)))) ||
    !(stdin === undefined || typeof stdin === 'string') ||
    !(timeoutMs === undefined || typeof timeoutMs === 'number') ||
    !(failOnExitCode === undefined || typeof failOnExitCode === 'boolean') ||
    !(waitMs === undefined || typeof waitMs === 'number')
  )
    return null;
  return {
    argv,
    cwd: cwd ?? null,
    env: (env ?? {}) as Record<string, string>,
    stdin: stdin ?? null,
    timeoutMs: timeoutMs ?? defaultTimeoutMs,
    failOnExitCode: failOnExitCode ?? true,
    waitMs: waitMs ?? null,
    others,
  };
}

const interpreters = /^(?:[a-z]*sh|cmd|powershell|python[\d.]*|node|deno|bun|perl|ruby|php|lua|osascript)(?:\.exe)?$/i;
const codeFlags = /^(?:-[a-z]*[ce]|-r|--eval|--print|-command|-encodedcommand|\/c|\/k)$/i;

/** The program that interprets an argument or its input as code, such as `sh -c TEXT`; null without one. */
export function interpreterOf({ argv, stdin }: Pick<ProgramCall, 'argv' | 'stdin'>): string | null {
  const index = argv.findIndex((argument) => interpreters.test(argument.replace(/^.*[/\\]/, '')));
  if (index === -1) return null;
  const readsCode = stdin !== null || argv.slice(index + 1).some((argument) => codeFlags.test(argument));
  return readsCode ? (argv[index] as string) : null;
}

/** The name of the step that runs a program. The title of its approval is this name with the command line behind it. */
export function stepNameOf(title: string, argv: readonly string[]): string {
  // Older approvals have no quotes.
  for (const rest of [`: ${commandLine(argv)}`, `: ${argv.join(' ')}`])
    if (title.endsWith(rest)) return title.slice(0, -rest.length);
  return title;
}
