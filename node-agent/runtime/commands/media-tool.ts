import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { background } from '../background.ts';
import { commandMarker } from '../marked-processes.ts';
import type { ProcessGuard } from '../process-guard.ts';
import { CommandError } from './handler.ts';

/** The path of a program on the PATH of this process, or null. */
export function findTool(name: string): string | null {
  const suffixes = process.platform === 'win32' ? ['.exe', ''] : [''];
  for (const folder of (process.env['PATH'] ?? '').split(delimiter)) {
    for (const suffix of suffixes) {
      const path = join(folder, name + suffix);
      try {
        accessSync(path, constants.X_OK);
        return path;
      } catch {
        // The next folder may have it.
      }
    }
  }
  return null;
}

const installCommands: Record<string, { debian: string; mac: string; windows: string }> = {
  ffmpeg: { debian: 'sudo apt-get install ffmpeg', mac: 'brew install ffmpeg', windows: 'winget install ffmpeg' },
  pactl: { debian: 'sudo apt-get install pulseaudio-utils', mac: '', windows: '' },
  chromium: {
    debian: 'sudo apt-get install chromium',
    mac: 'brew install --cask google-chrome',
    windows: 'winget install Google.Chrome',
  },
  grim: { debian: 'sudo apt-get install grim', mac: '', windows: '' },
};

/** The command that installs a tool on this operating system. */
export function toolHint(name: string): string {
  const known = installCommands[name];
  if (known === undefined) return `install ${name}`;
  return process.platform === 'darwin' ? known.mac : process.platform === 'win32' ? known.windows : known.debian;
}

/** @throws CommandError `tool_missing` with the command that installs the tool. */
export function requireTool(name: string): string {
  const path = findTool(name);
  if (path === null)
    throw new CommandError('tool_missing', `${name} is not installed on this machine; get it with: ${toolHint(name)}`);
  return path;
}

export interface ToolRun {
  exitCode: number | null;
  stdout: string;
  stderr: string;
}

const maxTextBytes = 256 * 1024;

/**
 * Runs a capture tool until it exits. The tool is killed when the signal aborts, the time-out expires or the companion
 * ends.
 */
export async function runTool(
  guard: ProcessGuard,
  path: string,
  args: string[],
  options: { signal: AbortSignal; timeoutMs: number },
): Promise<ToolRun> {
  const mark = randomUUID();
  const timeout = AbortSignal.timeout(options.timeoutMs);
  const signal = AbortSignal.any([options.signal, timeout]);
  signal.throwIfAborted();
  await using tool = guard.start(mark, () =>
    spawn(path, args, {
      stdio: ['ignore', 'pipe', 'pipe'],
      detached: process.platform !== 'win32',
      env: { ...process.env, [commandMarker]: mark },
      windowsHide: true,
    }),
  );
  const { child } = tool;
  let stdout = '';
  let stderr = '';
  const ended = Promise.withResolvers<number | null>();
  child.once('error', (error) =>
    ended.reject(new CommandError('failed', `${path} could not be started: ${error.message}`, { cause: error })),
  );
  // A program that cannot be started for lack of file handles has no streams.
  child.stdout?.on('data', (chunk: Buffer) => {
    stdout = (stdout + chunk.toString('utf8')).slice(-maxTextBytes);
  });
  child.stderr?.on('data', (chunk: Buffer) => {
    stderr = (stderr + chunk.toString('utf8')).slice(-maxTextBytes);
  });
  child.once('close', (code) => ended.resolve(code));
  const onAbort = () => {
    background(guard.end(child, mark), 'end of a program');
    ended.reject(
      timeout.aborted
        ? new CommandError('timeout', `${path} took longer than ${options.timeoutMs / 1000} s.`)
        : (options.signal.reason as Error),
    );
  };
  signal.addEventListener('abort', onAbort, { once: true });
  try {
    return { exitCode: await ended.promise, stdout, stderr };
  } finally {
    signal.removeEventListener('abort', onAbort);
  }
}
