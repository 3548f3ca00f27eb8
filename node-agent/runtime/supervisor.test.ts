import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterEach, beforeEach, expect, onTestFinished, test } from 'vitest';
import type { CompanionState } from '../../shared/companion/state.ts';
import { inheritedEnv } from '../../test/fixtures/processes.ts';
import { unawaited } from '../../test/fixtures/unawaited.ts';
import { until } from '../../test/fixtures/until.ts';
import { AuditLog } from './audit.ts';
import { askCompanion, ControlClient } from './control/client.ts';
import { DataFolder } from './data-folder.ts';
import { DeviceSecrets } from './device-secrets.ts';
import type { HostPort } from './host-port.ts';
import { changeSettings } from './owner-changes.ts';
import { keepHubAddress, pair, unpair } from './pairing.ts';
import { hashOfSettings } from './settings-edits.ts';
import { Supervisor } from './supervisor.ts';

let folder: string;
let data: DataFolder;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'outrigger-supervisor-'));
  data = new DataFolder(join(folder, 'data'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

/**
 * A hub that accepts every pairing code. `commands` has the commands for the next poll, `nodes` the IDs of the paired
 * nodes.
 */
async function startHub() {
  const hub = {
    url: '',
    polls: 0,
    results: [] as string[],
    commands: [] as object[],
    nodes: [] as string[],
    heartbeats: [] as Record<string, unknown>[],
  };
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const answer = (body: object) => {
        response.setHeader('content-type', 'application/json');
        response.end(JSON.stringify(body));
      };
      if (url.endsWith('/claim'))
        answer({ nodeId: hub.nodes.shift() ?? randomUUID(), deviceSecret: randomUUID(), hub: {} });
      else if (url.endsWith('/result')) {
        hub.results.push(url.split('/').at(-2) as string);
        answer({ id: url.split('/').at(-2) });
      } else if (url.includes('/commands')) {
        hub.polls += 1;
        const commands = hub.commands.splice(0);
        setTimeout(() => answer({ commands, withdrawn: [] }), commands.length > 0 ? 0 : 100);
      } else if (url.endsWith('/heartbeat')) {
        hub.heartbeats.push(JSON.parse(text) as Record<string, unknown>);
        answer({ withdrawn: [], hub: { pollSeconds: 1, heartbeatSeconds: 300 } });
      } else {
        response.statusCode = 503;
        answer({ statusCode: 503, error: 'x', message: 'away', requestId: 'x' });
      }
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  hub.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return hub;
}

function start(host: HostPort | null = null) {
  const stop = new AbortController();
  const running = new Supervisor({
    folder: data,
    host,
    staysUnpaired: true,
    channel: false,
    signal: stop.signal,
    onEvent: () => undefined,
  }).run();
  running.catch(() => undefined);
  onTestFinished(async () => {
    stop.abort();
    await running.catch(() => undefined);
  });
  return running;
}
const state = () => askCompanion(data, 'state', {});
const answers = () =>
  until(
    async () => (await state().catch(() => null)) !== null,
    () => 'it does not answer',
  );
const pairWith = (hub: string, force = false) =>
  askCompanion(data, 'pair', { code: 'ABCD-EFGH', hub, force, secretInFile: true }, { timeoutMs: 30_000 });

test('a machine that is paired again runs commands only of the new hub, and after unpairing of none', async () => {
  const [first, second, third] = [await startHub(), await startHub(), await startHub()];
  unawaited(start());
  await answers();
  await pairWith(first.url);
  await until(
    () => first.polls > 2,
    () => 'the first hub is not asked',
  );
  await pairWith(second.url, true);
  await until(
    () => second.polls > 2,
    () => 'the second hub is not asked',
  );
  const before = first.polls;
  await until(
    () => second.polls > 8,
    () => 'the second hub is not asked any more',
  );
  expect(first.polls).toBe(before);
  // The hub cannot be informed, but the pairing is removed all the same.
  expect(await askCompanion(data, 'unpair', {}, { timeoutMs: 30_000 })).toMatchObject({ hubKnows: false });
  const left = second.polls;
  expect((await state())?.connection.isUp).toBe(false);
  await pairWith(third.url);
  await until(
    () => third.polls > 8,
    () => 'the third hub is not asked',
  );
  expect([first.polls, second.polls]).toEqual([before, left]);
});

test('pairings are logged and sent to subscribers, and logged also while no companion runs', async () => {
  const [first, second] = [await startHub(), await startHub()];
  const [one, other, third] = [randomUUID(), randomUUID(), randomUUID()];
  const claim = (hub: string, force: boolean) =>
    pair(data, new DeviceSecrets(null), { code: 'ABCD-EFGH', hub, force, insecure: false, secretInFile: true });
  first.nodes.push(one, third);
  second.nodes.push(other);
  await claim(first.url, false);
  await claim(second.url, true);
  await unpair(data, new DeviceSecrets(null));
  unawaited(start());
  await answers();
  const received: string[] = [];
  using listener = (await ControlClient.open(data, AbortSignal.timeout(60_000))) as ControlClient;
  await listener.subscribe((event) => event.event === 'command' && received.push(event.entry.summary));
  await pairWith(first.url);
  await askCompanion(data, 'unpair', {}, { timeoutMs: 30_000 });
  const ofCompanion = [
    `pair with ${first.url} as node ${third}`,
    `unpair from ${first.url} as node ${third}, which could not be informed`,
  ];
  expect(new AuditLog(data.audit).read(10).map(({ type, summary }) => `${type} ${summary}`)).toEqual(
    [
      `pair with ${first.url} as node ${one}`,
      `pair with ${second.url} as node ${other}, in the place of ${first.url} as node ${one}`,
      `unpair from ${second.url} as node ${other}, which could not be informed`,
      ...ofCompanion,
    ].map((summary) => `owner.change ${summary}`),
  );
  await expect.poll(() => received).toEqual(ofCompanion);
});

test('files of a killed process are removed at the start, and current ones are kept when the machine is paired again', async () => {
  const hub = await startHub();
  const [left, underWay] = ['command-left', 'test-under-way'].map((name) => join(data.temporary, name)) as [
    string,
    string,
  ];
  mkdirSync(left);
  unawaited(start());
  await answers();
  expect(existsSync(left)).toBe(false);
  mkdirSync(underWay);
  await pairWith(hub.url);
  await expect.poll(() => hub.polls).toBeGreaterThan(0);
  expect(existsSync(underWay)).toBe(true);
});

test('commands beyond the requested number are not run', async () => {
  const hub = await startHub();
  unawaited(start());
  await answers();
  await askCompanion(data, 'change', { change: 'allow', power: 'system' });
  await pairWith(hub.url);
  hub.commands = Array.from({ length: 500 }, () => ({ id: randomUUID(), type: 'node.ping', input: {} }));
  await until(
    () => hub.results.length > 0,
    () => 'nothing was taken',
  );
  await until(
    () => hub.polls > 8,
    () => 'the hub is not asked',
  );
  expect(hub.results.length).toBeLessThanOrEqual(4);
});

test('a companion that starts with a settings.json that it cannot read refuses commands until the file is repaired', async () => {
  const hub = await startHub();
  const request = { code: 'ABCD-EFGH', hub: hub.url, force: false, insecure: false, secretInFile: true };
  await pair(data, new DeviceSecrets(null), request);
  await changeSettings(data, { change: 'allow', power: 'screen' });
  const file = join(data.path, 'settings.json');
  const text = readFileSync(file, 'utf8');
  writeFileSync(file, text.replace('{', '{"unknown": 1,'));
  const companion = spawn(
    process.execPath,
    [resolve('node-agent/runtime/cli.ts'), '--data-folder', data.path, 'run', '--no-channel'],
    { env: inheritedEnv(), stdio: ['ignore', 'ignore', 'pipe'] },
  );
  onTestFinished(() => void companion.kill('SIGKILL'));
  let printed = '';
  companion.stderr.on('data', (chunk: Buffer) => (printed += chunk.toString()));
  const ping = async () => {
    const id = randomUUID();
    hub.commands.push({ id, type: 'node.ping', input: {} });
    await until(
      () => hub.results.includes(id),
      () => `no result; printed: ${printed}`,
    );
    return new AuditLog(data.audit)
      .read(100)
      .filter(({ commandId }) => commandId === id)
      .map(({ outcome }) => outcome);
  };
  expect(await ping()).toEqual(['denied_by_device']);
  expect(printed).toContain('settings.json');
  expect(hub.heartbeats.at(-1)).toMatchObject({ paused: true });
  expect(await state()).toMatchObject({ broken: [{ file: 'settings' }], connection: { isUp: true } });
  writeFileSync(file, text);
  await until(
    () => hub.heartbeats.at(-1)?.['paused'] === false,
    () => 'the repair is not reported',
  );
  expect(await ping()).toContain('succeeded');
  expect(await state()).toMatchObject({ broken: [], edited: null, settings: { capture: { screen: true } } });
});

test('an invalid pairing, or a key store that fails, is reported and can be replaced by pairing again', async () => {
  const hub = await startHub();
  writeFileSync(join(data.path, 'identity.json'), '{"nodeId":');
  const locked: HostPort = {
    offer: { keyStore: 'a key store', captures: [] },
    call: async (method) => {
      if (method === 'unseal') throw new Error('it is locked.');
      return { sealed: 'c2VhbGVk' } as never;
    },
  };
  unawaited(start(locked));
  await answers();
  expect((await state())?.problem).toContain('identity.json is broken');
  await pairWith(hub.url, true);
  await until(
    async () => (await state())?.problem?.includes('it is locked') === true,
    () => 'the key store is not reported',
  );
  await askCompanion(data, 'unpair', {}, { timeoutMs: 30_000 });
  expect(existsSync(join(data.path, 'identity.json'))).toBe(false);
});

test('of many companions that start at the same time beside a stale socket, one gets the data folder', async () => {
  for (let round = 0; round < 3; round += 1) {
    data = new DataFolder(join(folder, `round-${round}`));
    const path = join(data.path, 'control.sock');
    const dead = spawn(process.execPath, ['-e', `require('net').createServer().listen(${JSON.stringify(path)})`]);
    await until(
      () => existsSync(path),
      () => 'no process listens',
    );
    const ended = new Promise((done) => dead.once('exit', done));
    dead.kill('SIGKILL');
    await ended;
    const refused: string[] = [];
    for (let count = 0; count < 4; count += 1) start().catch((error: Error) => refused.push(error.message));
    await until(
      () => refused.length >= 3,
      () => `refused were ${refused.length}`,
    );
    await answers();
    expect(refused).toHaveLength(3);
  }
});

test('a data folder with a long path contains its socket', async () => {
  const deep = join(folder, 'd'.repeat(60), 'e'.repeat(60));
  mkdirSync(deep, { recursive: true });
  data = new DataFolder(deep);
  unawaited(start());
  await answers();
  if (process.platform === 'linux') expect(existsSync(join(deep, 'control.sock'))).toBe(true);
  await expect(start()).rejects.toThrow(`process ${process.pid}`);
});

test('two changes in the same instant are both in force', async () => {
  const hub = await startHub();
  unawaited(start());
  await answers();
  await askCompanion(data, 'change', { change: 'allow', power: 'system' });
  await pairWith(hub.url);
  await until(
    async () => (await state())?.connection.isUp === true,
    () => 'it is not connected',
  );
  for (let round = 0; round < 20; round += 1) {
    await Promise.all([
      askCompanion(data, 'change', { change: 'allow', power: 'screen' }),
      askCompanion(data, 'change', { change: 'pause' }),
    ]);
    hub.commands = [{ id: randomUUID(), type: 'node.ping', input: {} }];
    expect((await state())?.settings).toMatchObject({ paused: true, capture: { screen: true } });
    await askCompanion(data, 'change', { change: 'resume' });
  }
});

/** Runs a companion on the data folder while the given function works with it. */
async function withCompanion<Result>(work: () => Promise<Result>): Promise<Result> {
  const stop = new AbortController();
  const running = new Supervisor({
    folder: new DataFolder(data.path),
    host: null,
    staysUnpaired: true,
    channel: false,
    signal: stop.signal,
    onEvent: () => undefined,
  }).run();
  try {
    await answers();
    return await work();
  } finally {
    stop.abort();
    await running;
  }
}
const allowsCamera = async () => (await state())?.settings.capture.camera;
const claim = (hub: string, force = false) =>
  pair(data, new DeviceSecrets(null), { code: 'ABCD-EFGH', hub, force, insecure: false, secretInFile: true });
const identity = () => JSON.parse(readFileSync(join(data.path, 'identity.json'), 'utf8')) as Record<string, string>;
const replaceIdentity = (changes: Record<string, string>) =>
  writeFileSync(join(data.path, 'identity.json'), JSON.stringify({ ...identity(), ...changes }));

test.each([
  ['another hub', async () => replaceIdentity({ hub: 'http://127.0.0.1:9' })],
  ['another node', async () => replaceIdentity({ nodeId: randomUUID() })],
  [
    'the same pairing without the log and the copy of the settings',
    async () => {
      for (const name of ['audit.jsonl', 'settings.recorded.json']) rmSync(join(data.path, name), { force: true });
    },
  ],
])('a start with %s denies everything until the owner accepts it', async (_name, attack) => {
  const hub = await startHub();
  await claim(hub.url);
  await changeSettings(data, { change: 'allow', power: 'camera' });
  expect(await withCompanion(allowsCamera)).toBe(true);
  await attack();
  for (let round = 0; round < 2; round += 1)
    await withCompanion(async () => {
      const { settings, edited } = (await state()) as CompanionState;
      expect(settings.capture.camera).toBe(false);
      expect(settings.files.allowed).toBe(false);
      expect(edited).toMatchObject({ needsConsent: true, detail: expect.stringContaining('identity.json') as string });
      expect(edited?.changes).toContain('capture.camera: false → true');
      expect(edited?.changes[0]).toContain(`→ ${identity()['hub']} (node ${identity()['nodeId']})`);
      const allow = askCompanion(data, 'change', { change: 'allow', power: 'screen' });
      await expect(allow).rejects.toThrow('is not the one that the log recorded');
      const stale = askCompanion(data, 'change', { change: 'accept_settings', seen: hashOfSettings(settings) });
      await expect(stale).rejects.toThrow('Look at the changes again');
      const discard = askCompanion(data, 'change', { change: 'discard_settings' });
      await expect(discard).rejects.toThrow('cannot be discarded. To refuse the pairing, pair again');
      expect((await state())?.edited).toEqual(edited);
      await askCompanion(data, 'change', { change: 'deny', power: 'audio' });
    });
  await withCompanion(async () => {
    const seen = (await state())?.edited?.hash as string;
    await askCompanion(data, 'change', { change: 'accept_settings', seen });
    expect(await allowsCamera()).toBe(true);
  });
  await withCompanion(async () => {
    expect(await allowsCamera()).toBe(true);
    expect((await state())?.edited).toBeNull();
  });
});

/** Returns the JSON output of the command line, with any exit code. */
const cli = async (...words: string[]) => {
  const args = [resolve('node-agent/runtime/cli.ts'), '--data-folder', data.path, ...words, '--json'];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: inheritedEnv() }).catch(
    (error: unknown) => error as { stdout: string },
  );
  return JSON.parse(stdout) as unknown;
};

test('status and doctor show what a running companion allows after another program removed its log, and the owner can repair the log', async () => {
  const hub = await startHub();
  await claim(hub.url);
  await changeSettings(data, { change: 'allow', power: 'camera' });
  const expectAllowed = async (power: string) => {
    expect(await cli('status')).toMatchObject({ settings: (await state())?.settings, running: { edited: null } });
    expect(await cli('doctor')).toContainEqual(expect.objectContaining({ check: 'allowed', detail: power }));
  };
  await withCompanion(async () => {
    rmSync(data.audit);
    expect(await cli('audit', 'verify')).toMatchObject({ ok: false });
    expect(await allowsCamera()).toBe(true);
    await expectAllowed('camera');
    await cli('audit', 'set-aside');
    await cli('settings', 'accept', '--yes');
    expect(await cli('audit', 'verify')).toMatchObject({ ok: true });
    await expectAllowed('camera');
  });
  // The settings in the file without a companion, and those of the next companion.
  expect(await cli('status')).toMatchObject({ settings: { capture: { camera: true } } });
  await withCompanion(() => expectAllowed('camera'));
});

test('a log that is set aside records what the companion used, not what another program wrote', async () => {
  const hub = await startHub();
  await claim(hub.url);
  await changeSettings(data, { change: 'allow', power: 'camera' });
  await withCompanion(async () => {
    const { hub: url, nodeId } = identity() as { hub: string; nodeId: string };
    replaceIdentity({ hub: 'http://127.0.0.1:9' });
    const forged = { settings: 'f'.repeat(64), pairing: { hub: 'http://127.0.0.1:9', nodeId } };
    new AuditLog(data.audit).note('owner.change', 'forged', forged);
    writeFileSync(data.audit, readFileSync(data.audit, 'utf8').split('\n').slice(-2).join('\n'));
    await askCompanion(data, 'setAuditAside', {});
    const entry = new AuditLog(data.audit).read(1)[0];
    expect(entry).toMatchObject({ type: 'log.set_aside', pairing: { hub: url, nodeId } });
    expect(entry?.settings).toBe(hashOfSettings((await state())?.settings));
  });
  expect(await withCompanion(allowsCamera)).toBe(false);
});

test('pairing again restores the recorded settings when only the pairing was replaced', async () => {
  const hub = await startHub();
  await claim(hub.url);
  await changeSettings(data, { change: 'allow', power: 'camera' });
  await changeSettings(data, { change: 'allow', power: 'audio' });
  expect(await withCompanion(allowsCamera)).toBe(true);
  replaceIdentity({ hub: 'http://127.0.0.1:9' });
  for (let round = 0; round < 2; round += 1)
    await withCompanion(async () => {
      expect(await allowsCamera()).toBe(false);
      await askCompanion(data, 'change', { change: 'deny', power: 'audio' });
    });
  await withCompanion(async () => {
    await pairWith(hub.url, true);
    expect(await state()).toMatchObject({
      settings: { files: { allowed: true }, capture: { camera: true, audio: false } },
      edited: null,
    });
  });
  expect(await withCompanion(allowsCamera)).toBe(true);
});

test('pairing again does not accept an edit of settings.json by another program', async () => {
  const hub = await startHub();
  await claim(hub.url);
  await changeSettings(data, { change: 'allow', power: 'camera' });
  const file = join(data.path, 'settings.json');
  replaceIdentity({ hub: 'http://127.0.0.1:9' });
  const edit = JSON.parse(readFileSync(file, 'utf8')) as CompanionState['settings'];
  writeFileSync(file, JSON.stringify({ ...edit, capture: { ...edit.capture, screen: true } }));
  await withCompanion(() => pairWith(hub.url, true));
  await withCompanion(async () => {
    const { settings, edited } = (await state()) as CompanionState;
    expect(settings.capture).toMatchObject({ camera: true, screen: false });
    expect(edited).toMatchObject({ needsConsent: true, pairing: false, changes: ['capture.screen: false → true'] });
  });
});

test.each(['settings.recorded.json', 'nothing'])(
  'pairing again does not put settings in force after the log and %s were removed',
  async (also) => {
    const hub = await startHub();
    await claim(hub.url);
    await changeSettings(data, { change: 'allow', power: 'camera' });
    for (const name of ['audit.jsonl', also]) rmSync(join(data.path, name), { force: true });
    await withCompanion(() => pairWith(hub.url, true));
    expect(await withCompanion(allowsCamera)).toBe(false);
  },
);

test('a pairing that another program writes while the machine is not paired is denied everything', async () => {
  const hub = await startHub();
  await claim(hub.url);
  await changeSettings(data, { change: 'allow', power: 'camera' });
  const before = identity();
  await withCompanion(async () => {
    await askCompanion(data, 'unpair', {}, { timeoutMs: 30_000 });
    expect(await allowsCamera()).toBe(true);
    writeFileSync(join(data.path, 'identity.json'), JSON.stringify(before));
    await expect.poll(async () => (await state())?.edited?.needsConsent).toBe(true);
    expect(await allowsCamera()).toBe(false);
    await pairWith(hub.url, true);
    expect((await state())?.edited?.changes).toEqual(expect.not.arrayContaining([expect.stringContaining('pairing')]));
  });
});

test('pairing again, a new address of the hub and an update from an earlier version need no consent', async () => {
  const [first, second] = [await startHub(), await startHub()];
  await claim(first.url);
  await changeSettings(data, { change: 'allow', power: 'camera' });
  await claim(second.url, true);
  expect(await withCompanion(allowsCamera)).toBe(true);
  keepHubAddress(data, first.url);
  expect(await withCompanion(allowsCamera)).toBe(true);
  // An earlier version records the pairing only in the summary of the entry.
  const earlier = new AuditLog(data.audit).read(100).filter(({ type }) => type === 'owner.change');
  rmSync(data.audit);
  for (const { pairing: _pairing, seq: _seq, prev: _prev, ...line } of earlier) new AuditLog(data.audit).append(line);
  await withCompanion(async () => {
    expect(await allowsCamera()).toBe(true);
    expect((await state())?.edited).toBeNull();
  });
  expect(new AuditLog(data.audit).read(100).at(-1)).toMatchObject({
    type: 'settings.recorded',
    pairing: { hub: first.url, nodeId: identity()['nodeId'] },
  });
});
