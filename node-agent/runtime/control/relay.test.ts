import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, connect } from 'node:net';
import type { Server, Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { runCompanionCli } from '../../../test/fixtures/companion.ts';
import { until } from '../../../test/fixtures/until.ts';
import { DataFolder } from '../data-folder.ts';
import { markedStart } from '../process-guard.ts';
import { askCompanion, ControlClient } from './client.ts';

const cli = resolve('node-agent/runtime/cli.ts');
const module_ = (name: string) => JSON.stringify(resolve('node-agent/runtime', name));

let folder: string;
let data: DataFolder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-relay-'));
  data = new DataFolder(join(folder, 'data'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

const socketPath = () => join(data.path, 'control.sock');
const owner = (...args: string[]) => runCompanionCli(args, { OUTRIGGER_COMPANION_HOME: data.path });
const stateOf = () => askCompanion(data, 'state', {});

/** Runs a Node.js script until the test ends. */
function startScript(
  script: string,
  start = (argv: [string, ...string[]]) => ({ file: argv[0], args: argv.slice(1) }),
): ChildProcess {
  const { file, args } = start([process.execPath, '--input-type=module', '--eval', script]);
  const child = spawn(file, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  const ended = once(child, 'exit');
  onTestFinished(async () => {
    child.kill('SIGKILL');
    await ended;
  });
  return child;
}

/** Starts a companion without a pairing in a separate process. */
async function startCompanion(): Promise<ChildProcess> {
  const child = startScript(`
    import { DataFolder } from ${module_('data-folder.ts')};
    import { Supervisor } from ${module_('supervisor.ts')};
    await new Supervisor({ folder: new DataFolder(${JSON.stringify(data.path)}), host: null, staysUnpaired: true,
      signal: new AbortController().signal, onEvent: () => undefined }).run();`);
  await until(
    async () => (await stateOf().catch(() => null)) !== null,
    () => 'the companion does not listen',
  );
  return child;
}

/** Replaces the companion's socket by a relay, as a program could that the owner approved. */
async function startRelay(onLine: (lines: number, toCompanion: Socket) => void): Promise<void> {
  const moved = join(data.path, 'moved.sock');
  renameSync(socketPath(), moved);
  const sockets = new Set<Socket>();
  const relay: Server = createServer((client) => {
    const companion = connect(moved);
    let lines = 0;
    for (const [from, to] of [
      [client, companion],
      [companion, client],
    ] as const) {
      sockets.add(from);
      from.on('error', () => undefined);
      from.on('close', () => to.destroy());
      from.on('data', (chunk: Buffer) => {
        to.write(chunk);
        if (from !== client) return;
        lines += chunk.toString().split('\n').length - 1;
        onLine(lines, companion);
      });
    }
  });
  relay.listen(socketPath());
  await once(relay, 'listening');
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    relay.close();
  });
}

test('a companion whose process stops for some seconds on a busy machine is still reached', async () => {
  const companion = await startCompanion();
  companion.kill('SIGSTOP');
  const state = stateOf();
  await delay(4_000);
  companion.kill('SIGCONT');
  expect(await state).toMatchObject({ pid: companion.pid });
});

const allowCamera = { id: 1_000, method: 'change', params: { change: 'allow', power: 'camera' } };

test('a relay between the command line and the companion cannot add a request', async () => {
  await startCompanion();
  let sent = 0;
  await startRelay((lines, companion) => {
    // After the proof of the command line, and again after its request.
    companion.write(`${JSON.stringify(allowCamera)}\n`);
    sent = lines;
  });
  await askCompanion(data, 'change', { change: 'share', path: folder }).catch(() => undefined);
  expect(sent).toBeGreaterThan(0);
  rmSync(socketPath(), { force: true });
  renameSync(join(data.path, 'moved.sock'), socketPath());
  // The companion replaces a socket that is not its own, so it can be out of reach for some seconds.
  await expect.poll(async () => (await stateOf().catch(() => null))?.settings.capture.camera).toBe(false);
});

test('a request that a relay delivers after its client stopped waiting is refused', async () => {
  await startCompanion();
  const moved = join(data.path, 'moved.sock');
  renameSync(socketPath(), moved);
  const late: { deliver?: () => void } = {};
  const answered = Promise.withResolvers<void>();
  const relay = createServer((client) => {
    const companion = connect(moved);
    let isProven = false;
    for (const socket of [client, companion]) socket.on('error', () => undefined);
    companion.on('data', (chunk: Buffer) => {
      client.write(chunk);
      if (late.deliver !== undefined) answered.resolve();
    });
    client.on('data', (chunk: Buffer) => {
      if (isProven) late.deliver = () => companion.write(chunk);
      else companion.write(chunk);
      isProven = true;
    });
    client.on('close', () => companion.destroy());
  });
  relay.listen(socketPath());
  await once(relay, 'listening');
  onTestFinished(() => void relay.close());
  using client = (await ControlClient.open(data)) as ControlClient;
  const call = client.call('change', { change: 'allow', power: 'camera' }, { timeoutMs: 100 });
  await expect(call).rejects.toThrow('did not answer');
  await expect.poll(() => late.deliver).toBeDefined();
  late.deliver?.();
  await answered.promise;
  expect(data.readSettings().capture.camera).toBe(false);
});

test('a companion listens again after another program moved its socket, and records it', async () => {
  await startCompanion();
  await startRelay((_lines, companion) => void companion.destroy());
  await expect.poll(async () => (await owner('audit', '--json')).stdout).toContain('control.replaced');
  expect(await owner('allow', 'screen')).toMatchObject({ code: 0 });
  expect((await stateOf())?.settings.capture.screen).toBe(true);
});

describe.skipIf(process.platform !== 'linux')('on Linux', () => {
  const marked = (argv: [string, ...string[]]) => markedStart(argv[0], argv, 'a-mark');

  test('a program of a workflow that poses as the companion does not get the commands of the owner', async () => {
    const file = join(folder, 'asked');
    writeFileSync(file, '');
    startScript(
      `
      import { appendFileSync } from 'node:fs';
      import { DataFolder } from ${module_('data-folder.ts')};
      import { ControlServer } from ${module_('control/server.ts')};
      const answer = async (params) => { appendFileSync(${JSON.stringify(file)}, JSON.stringify(params)); return {}; };
      await ControlServer.listen(new DataFolder(${JSON.stringify(data.path)}), new Proxy({}, { get: () => answer }));
      process.stdout.write('listens');`,
      marked,
    ).stdout?.setEncoding('utf8');
    await until(
      async () =>
        await new Promise<boolean>((done) => {
          const socket = connect(socketPath(), () => done(true));
          socket.on('error', () => done(false));
          socket.on('connect', () => socket.destroy());
        }),
      () => 'it does not listen',
    );
    expect(await owner('allow', 'camera')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('is not your companion: a program of a workflow') as string,
    });
    // A pause is written to the file, where the real companion finds it.
    expect(await owner('pause')).toMatchObject({ code: 0 });
    expect(data.readSettings()).toMatchObject({ paused: true, capture: { camera: false } });
  });

  test('the command line refuses a program of a workflow, also while no companion answers', async () => {
    const words = (...args: string[]): [string, ...string[]] => [
      process.execPath,
      cli,
      '--data-folder',
      data.path,
      ...args,
    ];
    for (const args of [['allow', 'camera'], ['settings', 'accept'], ['audit', 'set-aside'], ['unpair']]) {
      const { file, args: all } = marked(words(...args));
      const child = spawn(file, all, { stdio: ['ignore', 'ignore', 'pipe'] });
      let text = '';
      child.stderr.on('data', (chunk: Buffer) => {
        text += chunk.toString();
      });
      await once(child, 'close');
      expect(text).toContain('A program that a workflow started');
    }
    expect(data.readSettings().capture.camera).toBe(false);
  });

  test('a program of a workflow that left its parents and its environment is still refused by the next companion', async () => {
    const [go, out] = [join(folder, 'go'), join(folder, 'out')];
    const first = await startCompanion();
    // It is no descendant of a running process, and has another limit than the one that the guard set.
    const daemon = `setsid env -i PATH="$PATH" prlimit --rttime=1000000000000:1000000000000 sh -c '(while ! [ -e ${go} ]; do sleep 0.1; done; ${process.execPath} ${cli} --data-folder ${data.path} allow camera >${out}.new 2>&1; mv ${out}.new ${out}) &'`;
    const { file, args } = marked(['sh', '-c', daemon]);
    await once(spawn(file, args, { stdio: 'ignore' }), 'exit');
    first.kill('SIGKILL');
    await once(first, 'exit');
    await startCompanion();
    writeFileSync(go, '');
    await until(
      () => existsSync(out),
      () => 'the program did not end',
    );
    expect(readFileSync(out, 'utf8')).toContain('A program that a workflow started');
    expect((await stateOf())?.settings.capture.camera).toBe(false);
  });
});
