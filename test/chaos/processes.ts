import { execFile, spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { resolve } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';

/** A real hub process, that can be killed. */
export interface HubProcess {
  url: string;
  child: ChildProcess;
  /** Ends it at once, as a crash would, and waits until it is gone. */
  kill(): Promise<void>;
  stop(): Promise<number | null>;
}

/** Starts `hub/main.ts` and waits until it is ready. */
export function startHubProcess(env: Record<string, string>, args: string[] = []): Promise<HubProcess> {
  const child = spawn(process.execPath, [resolve('hub/main.ts'), ...args], { env: { PATH: process.env['PATH'], HOME: process.env['HOME'], LOG_LEVEL: 'fatal', ...env }, stdio: ['ignore', 'pipe', 'pipe'], cwd: env['OUTRIGGER_HOME'] });
  const exited = new Promise<number | null>((done) => child.once('exit', (code) => done(code)));
  // A test that fails half-way leaves nothing running.
  onTestFinished(() => {
    child.kill('SIGKILL');
  });
  let text = '';
  return new Promise((done, fail) => {
    const timer = setTimeout(() => fail(new Error(`the hub did not start: ${text}`)), 60_000);
    const read = (chunk: Buffer) => {
      text += chunk.toString();
      const url = /ready at (\S+)/.exec(text)?.[1] ?? (text.includes('worker is ready') ? '' : undefined);
      if (url === undefined) return;
      clearTimeout(timer);
      done({
        url,
        child,
        async kill() {
          child.kill('SIGKILL');
          await exited;
        },
        async stop() {
          child.kill('SIGINT');
          return exited;
        },
      });
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    void exited.then((code) => {
      clearTimeout(timer);
      fail(new Error(`the hub ended with ${code}: ${text}`));
    });
  });
}

/** Runs the hub's command line, and answers what it printed. */
export async function cli(env: Record<string, string>, ...args: string[]): Promise<string> {
  const { stdout } = await promisify(execFile)(process.execPath, [resolve('hub/cli.ts'), ...args], { env: { PATH: process.env['PATH'], HOME: process.env['HOME'], ...env }, timeout: 60_000 });
  return stdout.trim();
}
