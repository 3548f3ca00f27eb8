import { spawn } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { ControlClient } from '../runtime/control/client.ts';
import { ControlServer } from '../runtime/control/server.ts';
import type { ControlHandlers } from '../runtime/control/server.ts';
import { CompanionError, DataFolder } from '../runtime/data-folder.ts';
import type { CompanionProcess } from './companion-process.ts';
import { RuntimeKeeper } from './runtime-keeper.ts';

/** A real runtime in a separate process, as the app starts it. */
const program = (folder: string) => `
  const [{ Supervisor }, { DataFolder }] = await Promise.all(
    ['supervisor', 'data-folder'].map((name) => import(${JSON.stringify(resolve('node-agent/runtime'))} + '/' + name + '.ts')));
  await new Supervisor({ folder: new DataFolder(${JSON.stringify(folder)}), host: null, staysUnpaired: true,
    signal: new AbortController().signal, onEvent() {}, channel: false }).run();`;

let home: string;
let started: number[];
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-keeper-'));
  started = [];
});
afterEach(() => {
  for (const pid of started)
    try {
      process.kill(pid, 'SIGKILL');
    } catch {
      // The process has already ended.
    }
  rmSync(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
});

function startRuntime(): CompanionProcess {
  const child = spawn(process.execPath, ['--input-type=module', '--eval', program(home)], { stdio: 'ignore' });
  const pid = child.pid as number;
  started.push(pid);
  return {
    pid,
    ended: new Promise((done) => child.once('exit', () => done('It ended.'))),
    stop: () => child.kill('SIGTERM'),
    kill: () => child.kill('SIGKILL'),
  };
}

/** Whether a runtime accepts connections on the data folder. Its key file exists before run socket does. */
async function canConnect(): Promise<boolean> {
  using client = await ControlClient.open(new DataFolder(home), AbortSignal.timeout(60_000));
  return client !== null;
}

/** Zombie processes do not count as alive. */
const isAlive = (pid: number) =>
  existsSync(`/proc/${pid}/stat`) && !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));

function startKeeper(delays = { firstMs: 50, longestMs: 200, calmMs: 60_000 }) {
  const states: string[] = [];
  const logged: string[] = [];
  const keeper = new RuntimeKeeper({
    folder: new DataFolder(home),
    start: startRuntime,
    onRuntime: ({ state }) => states.push(state),
    onEvent: () => undefined,
    log: (event, detail) => logged.push(`${event}: ${detail ?? ''}`),
    delays,
    // The deadline is long enough for a slow companion that does not hang.
    healthCheck: { everyMs: 100, deadlineMs: 5_000 },
  });
  keeper.start();
  return { keeper, states, logged, [Symbol.asyncDispose]: () => keeper.stop() };
}

describe.skipIf(process.platform !== 'linux')('a companion that hangs (needs /proc of Linux)', () => {
  test('is killed and restarted if the app started it', async () => {
    await using run = startKeeper();
    await expect.poll(() => run.keeper.runtime.state).toBe('running');
    const [first] = started as [number];
    process.kill(first, 'SIGSTOP');
    await expect.poll(() => isAlive(first)).toBe(false);
    await expect.poll(() => run.keeper.state?.pid ?? first).not.toBe(first);
    expect(run.logged).toContainEqual(expect.stringMatching(/^runtime restarting: .* stopped responding\./));
  });

  test('is reported as lost and reconnected if it ran before', async () => {
    const { pid } = startRuntime() as { pid: number };
    await expect.poll(canConnect).toBe(true);
    await using run = startKeeper();
    await expect.poll(() => run.keeper.runtime.state).toBe('attached');
    expect(run.keeper.state?.pid).toBe(pid);
    process.kill(pid, 'SIGSTOP');
    await expect.poll(() => run.keeper.runtime.state).toBe('restarting');
    process.kill(pid, 'SIGCONT');
    await expect.poll(() => run.keeper.runtime.state).toBe('attached');
    expect(run.keeper.state?.pid).toBe(pid);
    expect(started).toEqual([pid]);
  });
});

test('a companion that refuses run state is retried only after a delay, which the detail shows', async () => {
  let requests = 0;
  const refuse = () => {
    requests += 1;
    return Promise.reject(new CompanionError('identity.json is broken'));
  };
  const names = ['state', 'subscribe', 'history', 'picture', 'change', 'answerPrompt', 'pair', 'unpair', 'test'];
  await using _server = await ControlServer.listen(
    new DataFolder(home),
    Object.fromEntries(names.map((name) => [name, refuse])) as unknown as ControlHandlers,
  );
  await using run = startKeeper({ firstMs: 60_000, longestMs: 60_000, calmMs: 60_000 });
  await expect.poll(() => run.keeper.runtime.state).toBe('restarting');
  expect(run.keeper.runtime.detail).toBe('identity.json is broken It restarts in 60 s.');
  expect(requests).toBe(1);
});
