import { z } from 'zod';
import { canonicalJson } from '../json.ts';
import { defineCommand } from './define.ts';

const noNul = (value: string) => !value.includes('\u0000');
const argument = z.string().max(32_768).refine(noNul, 'must not contain a NUL character');

/** The name of an environment variable. */
export const variableName = z.string().regex(/^[A-Za-z_][A-Za-z0-9_]{0,127}$/, 'must be a variable name');

/** stdout and stderr are each truncated at this number of bytes. */
export const maxOutputBytes = 1024 * 1024;

export const systemRun = defineCommand({
  type: 'system.run',
  title: 'Run a command',
  summary:
    'Runs a program on the node, without a shell, after a person approved exactly these arguments, folder and environment.',
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
      .describe('Program and arguments; no shell interprets them'),
    cwd: z
      .string()
      .min(1)
      .max(4096)
      .refine(noNul, 'must not contain a NUL character')
      .optional()
      .describe("Working folder, as an absolute path; the owner's home folder when omitted"),
    env: z
      .record(variableName, argument)
      .optional()
      .describe(
        'Variables that are added to a minimal environment: `INPUT_*`, language, time zone and terminal, and names that the owner of the node allows',
      ),
    timeoutMs: z.int().min(100).max(600_000).optional().describe('Timeout in milliseconds; 60,000 when omitted'),
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
        'Whether the step fails with `exit_code` when the exit code is not 0 or a signal ends the program; the output stays available',
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
 * The text that identifies an approved command: node, arguments, folder, environment, input and timeout. The approval
 * contains its SHA-256. The device hashes the command before running it, and the hashes must be equal.
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

/** Number of characters of standard error in the message of a failure. */
const quotedCharacters = 1_000;

/** The failure of a step whose program had an exit code other than 0 or was ended by a signal; null for exit code 0. */
export function exitFailure({
  exitCode,
  signal,
  stderr,
}: z.output<typeof systemRun.output>): { code: 'exit_code'; message: string } | null {
  if (exitCode === 0) return null;
  const ending = exitCode === null ? `was ended by ${signal ?? 'a signal'}` : `ended with exit code ${exitCode}`;
  const errorOutput = stderr.trim().slice(-quotedCharacters).toWellFormed();
  return { code: 'exit_code', message: `The program ${ending}${errorOutput === '' ? '.' : `: ${errorOutput}`}` };
}
