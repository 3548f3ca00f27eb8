import { z } from 'zod';
import { canonicalJson } from '../json.ts';
import { defineCommand } from './define.ts';

const noNul = (value: string) => !value.includes('\u0000');
const argument = z.string().max(32_768).refine(noNul, 'must not hold a NUL character');

/** stdout and stderr are cut at this many bytes each. */
export const maxOutputBytes = 1024 * 1024;

export const systemRun = defineCommand({
  type: 'system.run',
  title: 'Run a command',
  summary:
    'Runs a program on the node, without a shell, after a person approved exactly this argv, folder and environment.',
  gate: 'system',
  acts: true,
  needsApproval: true,
  timeoutMs: 60_000,
  promptMs: 120_000,
  input: z.strictObject({
    argv: z
      .array(argument)
      .min(1, 'must name a program')
      .max(256)
      .refine((argv) => argv[0] !== '', 'the program must not be empty')
      .describe('Program and arguments; no shell reads them'),
    cwd: z
      .string()
      .min(1)
      .max(4096)
      .refine(noNul, 'must not hold a NUL character')
      .optional()
      .describe("Absolute path; the owner's home folder when left out"),
    env: z
      .record(z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be a variable name'), argument)
      .optional()
      .describe('Added to a minimal environment'),
    timeoutMs: z.int().min(100).max(600_000).optional().describe('Milliseconds; 60,000 when left out'),
    stdin: z
      .string()
      .max(1024 * 1024)
      .optional(),
  }),
  hubInput: {
    failOnExitCode: z
      .boolean()
      .default(true)
      .describe(
        'Fails the step with `exit_code` when the program ends with another exit code than 0, or by a signal; the output stays readable',
      ),
  },
  output: z.object({
    exitCode: z.int().nullable(),
    signal: z.string().max(20).nullable(),
    stdout: z.string(),
    stderr: z.string(),
    truncated: z.boolean(),
    durationMs: z.int().min(0),
  }),
});

/**
 * The text whose SHA-256 an approval binds: who runs what, where, with which environment, input and time limit. The hub hashes
 * it when a person approves, the device hashes what it is about to run; they must be equal.
 */
export function approvedRequestText(nodeId: string, input: z.output<typeof systemRun.input>): string {
  const { argv, cwd, env, stdin, timeoutMs } = input;
  return canonicalJson({
    nodeId,
    argv,
    cwd: cwd ?? null,
    env: env ?? {},
    stdin: stdin ?? null,
    timeoutMs: timeoutMs ?? systemRun.timeoutMs,
  });
}

/** Characters of standard error that the message of a failure quotes. */
const quotedCharacters = 1_000;

/** The failure of a step whose program ended with another exit code than 0, or by a signal; null for exit code 0. */
export function exitFailure({
  exitCode,
  signal,
  stderr,
}: z.output<typeof systemRun.output>): { code: 'exit_code'; message: string } | null {
  if (exitCode === 0) return null;
  const ending = exitCode === null ? `was ended by ${signal ?? 'a signal'}` : `ended with exit code ${exitCode}`;
  const said = stderr.trim().slice(-quotedCharacters).toWellFormed();
  return { code: 'exit_code', message: `The program ${ending}${said === '' ? '.' : `: ${said}`}` };
}
