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

/** A real runtime in a process of its own, as the app starts one. */
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
      // It has ended.
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

/** Whether a runtime accepts connections on the data folder. Its key file exists before its socket does. */
async function canConnect(): Promise<boolean> {
  using client = await ControlClient.open(new DataFolder(home), AbortSignal.timeout(5_000));
  return client !== null;
}

/** Zombies have ended. */
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
    // Long enough for an answer of a companion that is slow and does not hang.
    healthCheck: { everyMs: 100, deadlineMs: 2_000 },
  });
  keeper.start();
  return { keeper, states, logged, [Symbol.asyncDispose]: () => keeper.stop() };
}

describe.skipIf(process.platform !== 'linux')('a companion that hangs (needs /proc of Linux)', () => {
  test('is ended and started again, when it is our own', async () => {
    await using its = startKeeper();
    await expect.poll(() => its.keeper.runtime.state).toBe('running');
    const [first] = started as [number];
    process.kill(first, 'SIGSTOP');
    await expect.poll(() => isAlive(first)).toBe(false);
    await expect.poll(() => its.keeper.state?.pid ?? first).not.toBe(first);
    expect(its.logged).toContainEqual(expect.stringMatching(/^runtime restarting: .* did not answer any more\./));
  });

  test('is told as lost and connected anew, when it ran before', async () => {
    const { pid } = startRuntime() as { pid: number };
    await expect.poll(canConnect).toBe(true);
    await using its = startKeeper();
    await expect.poll(() => its.keeper.runtime.state).toBe('attached');
    expect(its.keeper.state?.pid).toBe(pid);
    process.kill(pid, 'SIGSTOP');
    await expect.poll(() => its.keeper.runtime.state).toBe('restarting');
    process.kill(pid, 'SIGCONT');
    await expect.poll(() => its.keeper.runtime.state).toBe('attached');
    expect(its.keeper.state?.pid).toBe(pid);
    expect(started).toEqual([pid]);
  });
});

test('a companion that can not say how it stands is asked again only after a pause, which the person is told', async () => {
  let asked = 0;
  const refuse = () => {
    asked += 1;
    return Promise.reject(new CompanionError('identity.json is broken'));
  };
  const names = ['state', 'subscribe', 'history', 'picture', 'change', 'answerPrompt', 'pair', 'unpair', 'test'];
  await using _server = await ControlServer.listen(
    new DataFolder(home),
    Object.fromEntries(names.map((name) => [name, refuse])) as unknown as ControlHandlers,
  );
  await using its = startKeeper({ firstMs: 60_000, longestMs: 60_000, calmMs: 60_000 });
  await expect.poll(() => its.keeper.runtime.state).toBe('restarting');
  expect(its.keeper.runtime.detail).toBe('identity.json is broken It starts again in 60 s.');
  expect(asked).toBe(1);
});
