import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import { until } from '../../../test/fixtures/until.ts';
import { CompanionError, DataFolder } from '../data-folder.ts';
import type { CompanionEvent } from '../event-log.ts';
import { Supervisor } from '../supervisor.ts';
import { askCompanion, ControlClient, ControlRefusal } from './client.ts';
import { processKeys, publishFingerprintAsProcessName } from './peer.ts';
import { controlPath } from './socket-path.ts';

let folder: string;
let data: DataFolder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-control-'));
  data = new DataFolder(join(folder, 'data'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/** Starts a companion without a pairing. */
async function startSupervisor(): Promise<{ events: CompanionEvent[]; running: Promise<void> }> {
  const stop = new AbortController();
  const events: CompanionEvent[] = [];
  const running = new Supervisor({
    folder: data,
    host: null,
    staysUnpaired: true,
    signal: stop.signal,
    onEvent: (event) => events.push(event),
  }).run();
  running.catch(() => undefined);
  onTestFinished(async () => {
    stop.abort();
    await running.catch(() => undefined);
  });
  await until(
    async () => (await ControlClient.open(data).catch(() => null)) !== null,
    () => 'it does not listen',
  );
  return { events, running };
}

test('a second companion cannot use a data folder, also while the first one is too busy to answer', async () => {
  const busy = createServer((socket) => void socket.on('error', () => undefined).end());
  await new Promise<void>((done) => busy.listen(controlPath(data), done));
  const second = () =>
    new Supervisor({
      folder: data,
      host: null,
      staysUnpaired: true,
      signal: new AbortController().signal,
      onEvent: () => undefined,
    }).run();
  await expect(second()).rejects.toThrow('does not answer');
  await new Promise<void>((done) => busy.close(() => done()));
  await startSupervisor();
  await expect(second()).rejects.toThrow(`process ${process.pid}`);
});

/** Starts a second companion on the same folder, which stops after a minute. */
const startSecond = () =>
  new Supervisor({
    folder: data,
    host: null,
    staysUnpaired: true,
    signal: AbortSignal.timeout(60_000),
    onEvent: () => undefined,
  }).run();

test.skipIf(process.platform === 'win32')(
  'a second companion cannot use a data folder after another program removed the control socket',
  async () => {
    await startSupervisor();
    rmSync(join(data.path, 'control.sock'));
    await expect(startSecond()).rejects.toThrow(`Another companion (process ${process.pid}) runs on`);
    // The first companion answers again without a restart.
    await until(
      async () => (await ControlClient.open(data).catch(() => null)) !== null,
      () => 'it does not listen again',
    );
  },
);

test.skipIf(process.platform !== 'linux')(
  'a companion stops when another one took over its data folder (needs Linux)',
  async () => {
    const { running } = await startSupervisor();
    const claim = join(data.path, 'companion.pid');
    const [, start, boot] = readFileSync(claim, 'utf8').split(' ');
    expect([start, boot]).not.toContain(undefined);
    const startOfParent = readFileSync(`/proc/${process.ppid}/stat`, 'utf8').split(') ').at(-1)?.split(' ')[19];
    writeFileSync(claim, `${process.ppid} ${startOfParent} ${boot}`);
    await expect(running).rejects.toThrow(`Another companion (process ${process.ppid}) took over`);
  },
);

test('a data folder is free after its process ended, also when the process ID is in use again', async () => {
  writeFileSync(join(data.path, 'companion.pid'), `${process.pid} an earlier start`);
  await startSupervisor();
  expect((await askCompanion(data, 'state', {}))?.pid).toBe(process.pid);
});

test.skipIf(process.platform !== 'linux')(
  'a data folder is free after its process was killed, also before its parent reaps it (needs Linux)',
  async () => {
    // The parent process replaces itself by a program that never reaps the child.
    const parent = spawn('sh', ['-c', 'sleep 60 & echo $!; exec sleep 60'], { stdio: ['ignore', 'pipe', 'ignore'] });
    onTestFinished(() => void parent.kill('SIGKILL'));
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number.parseInt(String(line), 10);
    const fields = () => readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'utf8').trim();
    writeFileSync(join(data.path, 'companion.pid'), `${pid} ${fields()[19]} ${boot}`);
    await expect(startSecond()).rejects.toThrow(`process ${pid}`);
    process.kill(pid, 'SIGKILL');
    await until(
      () => fields()[0] === 'Z',
      () => `it is in state ${fields()[0]}`,
    );
    await startSupervisor();
    expect((await askCompanion(data, 'state', {}))?.pid).toBe(process.pid);
  },
);

test.skipIf(process.platform === 'win32').each([
  ['a directory', (path: string) => mkdirSync(path)],
  ['a file that cannot be read', (path: string) => symlinkSync(path, path)],
])(
  'a companion that finds %s instead of companion.pid reports what to do, and does not listen',
  async (_what, make) => {
    const path = join(data.path, 'companion.pid');
    make(path);
    const start = startSecond();
    await expect(start).rejects.toThrow(CompanionError);
    await expect(start).rejects.toThrow(
      `no other companion runs on ${data.path}, also as another user, then remove ${path}`,
    );
    expect(await ControlClient.open(data)).toBeNull();
    rmSync(path, { recursive: true });
    await startSupervisor();
  },
);

test.skipIf(process.platform === 'win32')(
  'a companion replaces a link that leads nowhere instead of companion.pid by its own file',
  async () => {
    const path = join(data.path, 'companion.pid');
    symlinkSync('/nonexistent/companion.pid', path);
    await startSupervisor();
    expect(readFileSync(path, 'utf8')).toMatch(`${process.pid} `);
  },
);

test.skipIf(process.platform === 'win32')(
  'a removed control socket is restored, and companion.pid also when a folder replaced it',
  async () => {
    await startSupervisor();
    rmSync(join(data.path, 'companion.pid'));
    mkdirSync(join(data.path, 'companion.pid'));
    rmSync(join(data.path, 'control.sock'));
    await until(
      async () => (await ControlClient.open(data).catch(() => null)) !== null,
      () => 'it does not listen again',
    );
    expect((await askCompanion(data, 'state', {}))?.pid).toBe(process.pid);
    expect(readFileSync(join(data.path, 'companion.pid'), 'utf8')).toMatch(`${process.pid} `);
  },
);

test('changes of the owner are applied completely or refused with an explanation, and sent to every subscriber', async () => {
  await startSupervisor();
  using watching = (await ControlClient.open(data)) as ControlClient;
  const seen: string[][] = [];
  await watching.subscribe((event) => {
    if (event.event === 'state')
      seen.push(event.state.powers.filter((power) => power.isAllowed).map(({ power }) => power));
  });
  using client = (await ControlClient.open(data)) as ControlClient;
  const allowed = await client.call('change', { change: 'allow', power: 'screen', minutes: 15 });
  expect(allowed.powers.find(({ power }) => power === 'screen')).toMatchObject({
    isAllowed: true,
    until: allowed.settings.until.screen,
  });
  await until(
    () => seen.some((powers) => powers.includes('screen')),
    () => `heard ${JSON.stringify(seen)}`,
  );
  const refused = client.call('change', {
    change: 'browser_hosts',
    allowHosts: ['a.example'],
    blockHosts: ['not a host'],
  });
  await expect(refused).rejects.toThrow('"not a host" must be a host');
  await expect(refused).rejects.toBeInstanceOf(ControlRefusal);
  expect((await client.call('state', {})).settings.browser.allowHosts).toEqual([]);
  await expect(client.call('change', { change: 'allow', power: 'everything' as never })).rejects.toThrow('power');
  await expect(client.call('answerPrompt', { promptId: crypto.randomUUID(), answer: 'once' })).rejects.toThrow(
    'No prompt',
  );
});

test('a process that cannot read the control key is neither served nor trusted', async () => {
  await startSupervisor();
  const lines: string[] = [];
  const intruder = connect(controlPath(data));
  const closed = new Promise<void>((done) => intruder.on('close', () => done()));
  intruder.on('error', () => undefined);
  intruder.on('data', (chunk) => {
    lines.push(String(chunk));
    intruder.write(
      `${JSON.stringify({ proof: 'a'.repeat(64), nonce: 'b'.repeat(64) })}\n{"id":0,"method":"state","params":{}}\n`,
    );
  });
  await closed;
  expect(lines.join('')).not.toContain('"result"');
  // A server that does not know the key, such as one of another user on the same path.
  const other = new DataFolder(join(folder, 'other'));
  const false_ = createServer((socket) => {
    socket.on('error', () => undefined);
    const { publicKey } = processKeys();
    const name = publishFingerprintAsProcessName();
    socket.on('close', () => name[Symbol.dispose]());
    const hello = { hello: 'outrigger.companion.v3', nonce: 'c'.repeat(64), pid: process.pid, publicKey };
    socket.write(`${JSON.stringify(hello)}\n`);
    socket.once('data', () => socket.write(`${JSON.stringify({ proof: 'd'.repeat(64) })}\n`));
  });
  await new Promise<void>((done) => false_.listen(controlPath(other), done));
  await expect(askCompanion(other, 'state', {})).rejects.toThrow('is not your companion');
  await new Promise<void>((done) => false_.close(() => done()));
});

test('connecting to a companion of an earlier version reports the wrong version', async () => {
  const earlier = createServer((socket) => {
    const hello = {
      hello: 'outrigger.companion.v2',
      nonce: 'c'.repeat(64),
      pid: process.pid,
      publicKey: 'A'.repeat(44),
    };
    socket.on('error', () => undefined).write(`${JSON.stringify(hello)}\n`);
  });
  await new Promise<void>((done) => earlier.listen(controlPath(data), done));
  await expect(askCompanion(data, 'state', {})).rejects.toThrow('no companion of this version');
  await new Promise<void>((done) => earlier.close(() => done()));
});

test('a client that sends invalid data, too much data or nothing is disconnected, and others are served', async () => {
  await startSupervisor();
  const hostile = [
    (write: (text: string) => void) => write('no json\n'),
    (write: (text: string) => void) => write('x'.repeat(5_000_000)),
    (write: (text: string) => void) => write('{"id":1,"method":"__proto__","params":{}}\n'),
    () => undefined,
  ].map(
    (say) =>
      new Promise<void>((done) => {
        const socket = connect(controlPath(data), () => say((text) => socket.write(text)));
        socket.on('error', () => undefined);
        socket.resume();
        socket.on('close', () => done());
      }),
  );
  await Promise.all(hostile);
  using client = (await ControlClient.open(data)) as ControlClient;
  await expect(client.call('constructor' as never, {} as never)).rejects.toThrow();
  expect((await client.call('state', {})).pid).toBe(process.pid);
});

test('a change of the owner is sent to subscribers once, and not when it changes nothing', async () => {
  await startSupervisor();
  using watching = (await ControlClient.open(data)) as ControlClient;
  const heard: string[] = [];
  await watching.subscribe((event) => {
    if (event.event === 'command') heard.push(`${event.entry.type} ${event.entry.summary}`);
  });
  for (const change of ['pause', 'pause', 'resume'] as const) await askCompanion(data, 'change', { change });
  await expect.poll(() => heard).toEqual(['owner.change pause', 'owner.change resume']);
  const { entries } = await watching.call('history', {});
  expect(entries.map(({ summary }) => summary)).toEqual(['resume', 'pause']);
});

test('a companion with too many connections is reported as such, not as another program', async () => {
  await startSupervisor();
  const clients: ControlClient[] = [];
  const openMany = async () => {
    while (clients.length < 100) clients.push((await ControlClient.open(data)) as ControlClient);
  };
  await expect(openMany()).rejects.toThrow('too many connections');
  for (const client of clients) client[Symbol.dispose]();
});

test('an invalid settings file is reported, and everything is refused', async () => {
  await startSupervisor();
  writeFileSync(join(data.path, 'settings.json'), '{"paused":"perhaps"}');
  const state = await askCompanion(data, 'state', {});
  expect(state?.problem).toContain('settings.json is broken at paused');
  expect(state?.powers.filter(({ isAllowed }) => isAllowed)).toEqual([]);
  await expect(askCompanion(data, 'change', { change: 'pause' })).rejects.toThrow('fix it, or remove it');
});

test.each([
  ['settings', '{"paused":"perhaps"}'],
  ['identity', '{"nodeId":'],
] as const)('an invalid file of %s is renamed on request, and a valid one never', async (file, text) => {
  await startSupervisor();
  const path = join(data.path, `${file}.json`);
  await expect(askCompanion(data, 'setAside', { file })).rejects.toThrow('Nothing is wrong');
  writeFileSync(path, text);
  expect((await askCompanion(data, 'state', {}))?.broken).toMatchObject([{ file, path }]);
  expect(await askCompanion(data, 'setAside', { file })).toMatchObject({ broken: [], paired: null });
  expect(existsSync(path)).toBe(false);
  const [aside = ''] = readdirSync(data.path).filter((name) => name.startsWith(`${file}.json.broken-`));
  expect(readFileSync(join(data.path, aside), 'utf8')).toBe(text);
  await askCompanion(data, 'change', { change: 'pause' });
  expect(readFileSync(data.audit, 'utf8')).toContain(aside);
});
