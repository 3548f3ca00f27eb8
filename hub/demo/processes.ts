import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { closeSync, openSync, readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import { setTimeout as delay } from 'node:timers/promises';

/** The demo cannot continue. The message is one line. */
export class DemoError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = 'DemoError';
  }
}

const stopDeadlineMs = 15_000;

/**
 * Signals the program when the standard input of this script closes. The kernel closes it when the demo ends for any
 * reason.
 */
const guardScript = `exec 3<&0
signal=$1; shift
"$@" </dev/null &
child=$!
( read -r _ <&3; kill -$signal $child 2>/dev/null ) &
watch=$!
wait $child
code=$?
kill $watch 2>/dev/null
exit $code`;

/** A child process that ends with this process. */
export interface OwnedProcess extends AsyncDisposable {
  child: ChildProcess;
  exited: Promise<void>;
  /** The last lines of its output. */
  tail(): string;
}

export interface StartOptions {
  env?: Record<string, string | undefined>;
  cwd?: string;
  stopWith?: 'INT' | 'TERM';
  /** Destination of its output: a file, or a callback per line. */
  output: { file: string } | { onLine: (line: string) => void };
}

const tailLines = 3;

/** Starts a program that ends when this process ends for any reason. */
export function start(program: string, args: string[], options: StartOptions): OwnedProcess {
  const { output, stopWith = 'INT' } = options;
  const log = 'file' in output ? openSync(output.file, 'w', 0o600) : null;
  // Runs in its own session, so that Ctrl-C reaches only this process, which stops its children in order.
  const child = spawn('sh', ['-c', guardScript, 'sh', stopWith, program, ...args], {
    stdio: ['pipe', log ?? 'pipe', log ?? 'pipe'],
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
    detached: true,
  });
  child.stdin?.on('error', () => undefined);
  if (log !== null) closeSync(log);
  const last: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null || !('onLine' in output)) continue;
    createInterface({ input: stream }).on('line', (line) => {
      last.push(line);
      if (last.length > tailLines) last.shift();
      output.onLine(line);
    });
  }
  const exited = new Promise<void>((done) => {
    child.once('exit', () => done());
    child.once('error', () => done());
  });
  return {
    child,
    exited,
    tail: () => {
      if (!('file' in output)) return last.join(' | ');
      try {
        return readFileSync(output.file, 'utf8').trim().split('\n').slice(-tailLines).join(' | ');
      } catch {
        return '';
      }
    },
    async [Symbol.asyncDispose]() {
      if (hasEnded(child) || child.pid === undefined) return;
      child.stdin?.end();
      const timeout = Promise.withResolvers<'late'>();
      const timer = setTimeout(() => timeout.resolve('late'), stopDeadlineMs);
      if ((await Promise.race([exited, timeout.promise])) === 'late') process.kill(-child.pid, 'SIGKILL');
      clearTimeout(timer);
    },
  };
}

/** Whether a process has ended, by itself or by a signal. */
export const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/**
 * Runs a program to its end and returns its standard output. @throws DemoError with the last line of its standard
 * error.
 */
export async function runToEnd(
  program: string,
  args: string[],
  options: {
    env?: Record<string, string | undefined>;
    cwd?: string;
    timeoutMs?: number;
    inherit?: boolean;
    signal?: AbortSignal;
  } = {},
): Promise<string> {
  const child = spawn(program, args, {
    stdio: ['ignore', options.inherit === true ? 'inherit' : 'pipe', options.inherit === true ? 'inherit' : 'pipe'],
    env: { ...process.env, ...options.env },
    cwd: options.cwd,
  });
  let stdout = '';
  let stderr = '';
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout += chunk.toString();
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr += chunk.toString();
  });
  const end = () => child.kill('SIGKILL');
  if (options.signal?.aborted === true) end();
  const timer = setTimeout(end, options.timeoutMs ?? 60_000);
  options.signal?.addEventListener('abort', end, { once: true });
  const code = await new Promise<number | null>((done) => {
    child.once('error', () => done(127));
    child.once('close', (exitCode) => done(exitCode));
  });
  clearTimeout(timer);
  options.signal?.removeEventListener('abort', end);
  options.signal?.throwIfAborted();
  if (code !== 0)
    throw new DemoError(
      `${[program, ...args].join(' ').slice(0, 120)} failed: ${stderr.trim().split('\n').at(-1) ?? `exit code ${code}`}`,
    );
  return stdout;
}

/** Waits until a condition is true. @throws DemoError on a timeout, or with the problem that `findFailure` returns. */
export async function waitUntil(
  what: string,
  condition: () => Promise<boolean>,
  options: { timeoutMs: number; signal: AbortSignal; findFailure?: () => string | null },
): Promise<void> {
  const deadline = performance.now() + options.timeoutMs;
  while (!(await condition().catch(() => false))) {
    options.signal.throwIfAborted();
    const end = options.findFailure?.() ?? null;
    if (end !== null) throw new DemoError(`${what}: ${end}`);
    if (performance.now() > deadline) throw new DemoError(`${what} within ${options.timeoutMs / 1000} s`);
    await delay(100, undefined, { signal: options.signal });
  }
}
