import { spawn } from 'node:child_process';
import type { ChildProcessWithoutNullStreams } from 'node:child_process';

/**
 * Shell script that runs a program and kills it when file descriptor 3 closes. The kernel closes it when the hub ends,
 * even after kill -9. The script closes its own copies of standard input and output, so that the hub sees the end of
 * the program's output.
 */
const guardScript = `exec 4<&0
"$@" <&4 3<&- 4<&- &
child=$!
exec <&- 4<&- >&-
( read -r _ <&3; kill -KILL $child 2>/dev/null ) 2>/dev/null &
watch=$!
wait $child
code=$?
kill $watch 2>/dev/null
exit $code`;
const path = '/usr/local/bin:/opt/homebrew/bin:/usr/bin:/bin';
const maxErrorLength = 2_000;
/** Exit code of a shell for a program that is not found. */
const notFound = 127;

export interface ProgramRun {
  args: readonly string[];
  /** Standard input of the program. */
  input: string;
  /** Kills the program when it aborts. */
  signal: AbortSignal;
  maxOutputBytes: number;
}

/** A program that could not be started or did not succeed. */
export class ProgramFailed extends Error {
  readonly isMissing: boolean;

  constructor(message: string, isMissing: boolean) {
    super(message);
    this.name = 'ProgramFailed';
    this.isMissing = isMissing;
  }
}

/**
 * Runs a program and yields its output. The program is killed when the reader stops, when the signal aborts, and when
 * this process ends, even after kill -9. The program does not receive the environment of the hub.
 * @throws ProgramFailed, or the reason of the signal.
 */
export async function* runProgram(program: string, run: ProgramRun): AsyncGenerator<Buffer> {
  const { args, input, signal, maxOutputBytes } = run;
  signal.throwIfAborted();
  const child = start(program, args);
  const end = () => kill(child);
  signal.addEventListener('abort', end, { once: true });
  const exit = Promise.withResolvers<number | null>();
  child.once('close', exit.resolve).once('error', (error: NodeJS.ErrnoException) => {
    exit.reject(
      new ProgramFailed(`${program} could not be started: ${error.code ?? error.message}`, error.code === 'ENOENT'),
    );
  });
  // A reader that stops early does not await the exit.
  exit.promise.catch(() => undefined);
  let errors = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errors = (errors + text).slice(0, maxErrorLength);
  });
  child.stdin.on('error', () => undefined).end(input);
  let length = 0;
  try {
    for await (const chunk of child.stdout as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > maxOutputBytes) throw new ProgramFailed(`${program} wrote more than ${maxOutputBytes} bytes`, false);
      yield chunk;
    }
    const code = await exit.promise;
    signal.throwIfAborted();
    if (code === 0) return;
    const [firstLine = ''] = errors.trim().split('\n');
    throw new ProgramFailed(
      code === notFound
        ? `${program} is not installed`
        : `${program} ended with ${code ?? 'a signal'}: ${firstLine.slice(0, 200)}`,
      code === notFound,
    );
  } catch (error) {
    signal.throwIfAborted();
    throw error;
  } finally {
    signal.removeEventListener('abort', end);
    end();
  }
}

function start(program: string, args: readonly string[]): ChildProcessWithoutNullStreams {
  if (process.platform === 'win32')
    return spawn(program, args, { windowsHide: true }) as ChildProcessWithoutNullStreams;
  const child = spawn('sh', ['-c', guardScript, 'outrigger-guard', program, ...args], {
    stdio: ['pipe', 'pipe', 'pipe', 'pipe'],
    // A separate process group, so that all its processes can be killed together.
    detached: true,
    cwd: '/',
    env: { PATH: path, LC_ALL: 'C' },
  });
  child.stdio[3]?.on('error', () => undefined);
  return child as unknown as ChildProcessWithoutNullStreams;
}

function kill(child: ChildProcessWithoutNullStreams): void {
  if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) return;
  if (process.platform === 'win32') {
    child.kill();
    return;
  }
  try {
    process.kill(-child.pid, 'SIGKILL');
  } catch {
    // The program has already ended.
  }
}
