import { spawn } from 'node:child_process';
import { statSync } from 'node:fs';
import { homedir, tmpdir, userInfo } from 'node:os';
import { basename, isAbsolute } from 'node:path';
import { maxOutputBytes } from '../../../shared/commands/system.ts';
import { toStorableText } from '../../../shared/json.ts';
import { background } from '../background.ts';
import { commandMarker } from '../marked-processes.ts';
import { markedStart } from '../process-guard.ts';
import type { ProcessGuard } from '../process-guard.ts';
import { defaultPath, findProgram } from './find-program.ts';
import { CommandError } from './handler.ts';
import type { CommandHandlers } from './handler.ts';

/** Time after the exit of a program in which its children can still write to its output. */
const drainMs = 250;

/**
 * Runs approved programs without a shell, in their own process group, with a minimal environment and bounded output.
 */
export function systemHandlers(guard: ProcessGuard): Pick<CommandHandlers, 'system.run'> {
  return {
    'system.run': async (input, context) => {
      const { argv, cwd = homedir(), env = {}, stdin } = input;
      checkFolder(cwd);
      const path = findProgram(argv[0] as string);
      context.signal.throwIfAborted();
      const startedAt = performance.now();
      const mark = context.commandId;
      const { file, args, argv0 } = markedStart(path, argv as [string, ...string[]], mark);
      await using program = guard.start(mark, () =>
        spawn(file, args, {
          argv0,
          cwd,
          env: { ...minimalEnvironment(), ...env, [commandMarker]: mark },
          stdio: ['pipe', 'pipe', 'pipe'],
          detached: process.platform !== 'win32',
          shell: false,
          windowsHide: true,
        }),
      );
      const { child } = program;
      const stdout = new BoundedText();
      const stderr = new BoundedText();
      const exited = Promise.withResolvers<{ exitCode: number | null; signal: string | null }>();
      child.once('error', (error) =>
        exited.reject(
          new CommandError(
            'failed',
            `${argv[0]} could not be started: ${(error as NodeJS.ErrnoException).code ?? error.message}`,
            { cause: error },
          ),
        ),
      );
      child.once('exit', (exitCode, signal) => exited.resolve({ exitCode, signal }));
      // A program that cannot be started for lack of file handles has no streams.
      child.stdout?.on('data', (chunk: Buffer) => stdout.add(chunk));
      child.stderr?.on('data', (chunk: Buffer) => stderr.add(chunk));
      child.stdin?.on('error', () => undefined);
      child.stdin?.end(stdin ?? '');
      const closed = new Promise<void>((done) => child.once('close', () => done()));
      const onAbort = () => {
        const { reason } = context.signal as { reason?: { code?: string } };
        background(guard.end(child, mark, reason?.code === 'paused' ? 'paused' : 'asked'), 'end of a program');
      };
      context.signal.addEventListener('abort', onAbort, { once: true });
      try {
        const outcome = await exited.promise;
        // A program that was ended by the signal has not succeeded, whatever its exit code.
        context.signal.throwIfAborted();
        // A child of the program can keep the pipes open. The command waits at most `drainMs` for it.
        const drained = Promise.withResolvers<void>();
        const timer = setTimeout(drained.resolve, drainMs);
        await Promise.race([closed, drained.promise]);
        clearTimeout(timer);
        return {
          ...outcome,
          stdout: stdout.text,
          stderr: stderr.text,
          truncated: stdout.truncated || stderr.truncated,
          durationMs: Math.round(performance.now() - startedAt),
        };
      } finally {
        context.signal.removeEventListener('abort', onAbort);
      }
    },
  };
}

/** Why the owner's list of programs does not allow a program, or null. An empty list allows every program. */
export function programProblem(name: string, programs: string[]): string | null {
  if (programs.length === 0 || programs.includes(name)) return null;
  const program = findProgram(name);
  return programs.includes(program)
    ? null
    : `The owner of this machine allows only ${programs.map((path) => basename(path)).join(', ')}; ${program} is not among them.`;
}

class BoundedText {
  readonly #chunks: Buffer[] = [];
  #bytes = 0;
  truncated = false;

  add(chunk: Buffer): void {
    const remaining = maxOutputBytes - this.#bytes;
    if (chunk.length > remaining) this.truncated = true;
    if (remaining <= 0) return;
    this.#chunks.push(chunk.subarray(0, remaining));
    this.#bytes += Math.min(remaining, chunk.length);
  }

  get text(): string {
    return toStorableText(Buffer.concat(this.#chunks).toString('utf8'));
  }
}

function minimalEnvironment(): Record<string, string> {
  return {
    PATH: defaultPath,
    HOME: homedir(),
    USER: userInfo().username,
    LANG: 'C.UTF-8',
    TMPDIR: tmpdir(),
    ...(process.platform === 'win32' ? { SYSTEMROOT: process.env['SYSTEMROOT'] ?? 'C:\\Windows' } : {}),
  };
}

function checkFolder(cwd: string): void {
  if (!isAbsolute(cwd)) throw new CommandError('invalid_input', 'input.cwd must be an absolute path.');
  try {
    if (statSync(cwd).isDirectory()) return;
  } catch (error) {
    throw new CommandError('not_found', `The folder ${cwd} does not exist or cannot be opened.`, { cause: error });
  }
  throw new CommandError('not_found', `${cwd} is not a folder.`);
}
