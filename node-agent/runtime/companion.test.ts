import { execFileSync, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import {
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  statfsSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { OwnerChange } from '../../shared/companion/control.ts';
import { mountSmallDisk } from '../../test/fixtures/small-disk.ts';
import { AuditLog } from './audit.ts';
import { Companion } from './companion.ts';
import { DataFolder } from './data-folder.ts';
import type { HubClient } from './hub-client.ts';
import type { FinishedCommand } from './journal.ts';
import { commandMarker } from './marked-processes.ts';
import { changeSettings } from './owner-changes.ts';
import { newDelivery, ResultSender } from './result-sender.ts';

test('sending a result leaves no listener behind', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-listeners-'));
  const listeners = new Map<AbortSignal, number>();
  const count = (by: number) =>
    function counted(this: AbortSignal, ...parameters: Parameters<AbortSignal['addEventListener']>) {
      listeners.set(this, (listeners.get(this) ?? 0) + by);
      (by > 0 ? EventTarget.prototype.addEventListener : EventTarget.prototype.removeEventListener).apply(
        this,
        parameters,
      );
    };
  AbortSignal.prototype.addEventListener = count(1) as never;
  AbortSignal.prototype.removeEventListener = count(-1) as never;
  let results = 0;
  const hub = createServer((request, response) => {
    request.resume();
    const url = request.url ?? '';
    results += url.endsWith('/result') ? 1 : 0;
    const commands =
      results < 100 ? Array.from({ length: 4 }, () => ({ id: randomUUID(), type: 'node.ping', input: {} })) : [];
    response.setHeader('content-type', 'application/json');
    response.end(
      JSON.stringify(
        url.endsWith('/result')
          ? { id: url.split('/').at(-2) }
          : { commands, withdrawn: [], hub: { pollSeconds: 1, heartbeatSeconds: 300 } },
      ),
    );
  });
  await new Promise<void>((done) => hub.listen(0, '127.0.0.1', done));
  const stop = new AbortController();
  try {
    const identity = {
      nodeId: randomUUID(),
      deviceSecret: 'x',
      hub: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`,
      pairedAt: '2026-01-01T00:00:00Z',
    };
    const run = new Companion({
      folder: new DataFolder(folder),
      identity,
      signal: stop.signal,
      onEvent: () => undefined,
    }).run();
    await expect.poll(() => results).toBeGreaterThanOrEqual(100);
    expect(Math.max(...listeners.values())).toBeLessThan(20);
    stop.abort();
    await run;
  } finally {
    stop.abort();
    Reflect.deleteProperty(AbortSignal.prototype, 'addEventListener');
    Reflect.deleteProperty(AbortSignal.prototype, 'removeEventListener');
    hub.closeAllConnections();
    hub.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a journal without artifacts or valid results does not block a command', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-journal-'));
  const data = new DataFolder(folder);
  const reported = new Map<string, { status?: string; error?: { code?: string } }>();
  const running: string[] = [];
  const hub = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://hub');
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const id = url.pathname.split('/').at(-2) as string;
      if (url.pathname.endsWith('/result')) reported.set(id, JSON.parse(text) as object);
      else running.push(url.searchParams.get('running') ?? '');
      response.setHeader('content-type', 'application/json');
      setTimeout(
        () =>
          response.end(
            JSON.stringify(
              url.pathname.endsWith('/result')
                ? { id }
                : { commands: [], withdrawn: [], hub: { pollSeconds: 1, heartbeatSeconds: 300 } },
            ),
          ),
        20,
      );
    });
  });
  await new Promise<void>((done) => hub.listen(0, '127.0.0.1', done));
  const [gone, actedAndGone, acted, read] = [randomUUID(), randomUUID(), randomUUID(), randomUUID()];
  const write = (commandId: string, name: string, value: unknown) => {
    mkdirSync(join(data.journal, commandId), { recursive: true });
    writeFileSync(join(data.journal, commandId, name), JSON.stringify(value));
  };
  const missing = {
    result: { status: 'succeeded', output: {} },
    artifacts: [{ name: 'a', contentType: 'image/png', filePath: join(folder, 'moved-away') }],
  };
  const line = { summary: 'a click', approvedBy: null };
  await changeSettings(data, { change: 'allow', power: 'browser', withoutSandbox: true });
  write(gone, 'finished.json', { ...missing, commandId: gone });
  write(actedAndGone, 'finished.json', {
    ...missing,
    commandId: actedAndGone,
    source: { type: 'browser.click', acts: true, line },
  });
  write(acted, 'started.json', { type: 'system.run', acts: true });
  write(acted, 'finished.json', {});
  write(read, 'finished.json', []);
  const stop = new AbortController();
  try {
    const identity = {
      nodeId: randomUUID(),
      deviceSecret: 'x',
      hub: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`,
      pairedAt: '2026-01-01T00:00:00Z',
    };
    const run = new Companion({ folder: data, identity, signal: stop.signal, onEvent: () => undefined }).run();
    await expect.poll(() => reported.size).toBe(3);
    stop.abort();
    await run;
    expect(reported.get(gone)).toMatchObject({ status: 'failed', error: { code: 'failed' } });
    expect(reported.get(actedAndGone)).toMatchObject({
      status: 'failed',
      error: { code: 'interrupted', message: expect.stringMatching(/missing.*before you retry/) as string },
    });
    expect(reported.get(acted)).toMatchObject({ status: 'failed', error: { code: 'outcome_unknown' } });
    expect(running.join(',')).not.toContain('undefined');
  } finally {
    stop.abort();
    hub.closeAllConnections();
    hub.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('commands that are too large for one answer are requested one at a time', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-large-'));
  const reported: string[] = [];
  const hub = createServer((request, response) => {
    request.resume();
    const url = new URL(request.url ?? '', 'http://hub');
    response.setHeader('content-type', 'application/json');
    if (url.pathname.endsWith('/result')) {
      const id = url.pathname.split('/').at(-2) as string;
      reported.push(id);
      response.end(JSON.stringify({ id }));
      return;
    }
    const max = Number(url.searchParams.get('max') ?? 0);
    const commands =
      reported.length > 0
        ? []
        : Array.from({ length: max }, () => ({
            id: randomUUID(),
            type: 'node.ping',
            input: { padding: 'x'.repeat(max === 1 ? 1 : 6 * 1024 * 1024) },
          }));
    response.end(JSON.stringify({ commands, withdrawn: [], hub: { pollSeconds: 1, heartbeatSeconds: 300 } }));
  });
  await new Promise<void>((done) => hub.listen(0, '127.0.0.1', done));
  const stop = new AbortController();
  try {
    const identity = {
      nodeId: randomUUID(),
      deviceSecret: 'x',
      hub: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`,
      pairedAt: '2026-01-01T00:00:00Z',
    };
    const reasons: string[] = [];
    const run = new Companion({
      folder: new DataFolder(folder),
      identity,
      signal: stop.signal,
      onEvent: (event) => reasons.push('reason' in event ? event.reason : ''),
    }).run();
    await expect.poll(() => reported.length).toBeGreaterThan(0);
    stop.abort();
    await run;
    expect(reasons).toContainEqual(expect.stringContaining('more than 16777216 bytes'));
  } finally {
    stop.abort();
    hub.closeAllConnections();
    hub.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

/** Starts a companion whose hub returns commands, as JSON, in its first answer. */
async function runWithCommands(
  commands: string[],
  options: Partial<ConstructorParameters<typeof Companion>[0]>,
  until: (reported: Map<string, { status?: string; error?: { code?: string } }>) => boolean,
) {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-commands-'));
  const reported = new Map<string, { status?: string; error?: { code?: string } }>();
  let isHandedOut = false;
  const hub = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://hub');
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      response.setHeader('content-type', 'application/json');
      if (url.pathname.endsWith('/result')) {
        const id = url.pathname.split('/').at(-2) as string;
        reported.set(id, JSON.parse(text) as object);
        response.end(JSON.stringify({ id }));
        return;
      }
      const isPoll = url.searchParams.has('max') && Number(url.searchParams.get('max')) >= commands.length;
      const list = isPoll && !isHandedOut ? commands.join(',') : '';
      isHandedOut ||= isPoll;
      response.end(`{"commands":[${list}],"withdrawn":[],"hub":{"pollSeconds":1,"heartbeatSeconds":300}}`);
    });
  });
  await new Promise<void>((done) => hub.listen(0, '127.0.0.1', done));
  const stop = new AbortController();
  try {
    const identity = {
      nodeId: randomUUID(),
      deviceSecret: 'x',
      hub: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`,
      pairedAt: '2026-01-01T00:00:00Z',
    };
    const data = new DataFolder(folder);
    const run = new Companion({
      folder: data,
      identity,
      signal: stop.signal,
      onEvent: () => undefined,
      ...options,
    }).run();
    await expect.poll(() => until(reported)).toBe(true);
    stop.abort();
    await run;
    return reported;
  } finally {
    stop.abort();
    hub.closeAllConnections();
    hub.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

const deep = `${'['.repeat(20_000)}${']'.repeat(20_000)}`;

test.each([
  ['an argument that is not text', '"system.run"', '{"argv":[{"toString":1}]}'],
  ['an argument that is nested too deeply', '"system.run"', `{"argv":[${deep}]}`],
  ['an unknown type and an input that is nested too deeply', '"node.unknown"', `{"field":${deep}}`],
])('a command with %s fails with invalid_input, and the next one runs', async (_what, type, input) => {
  const [malformed, ping] = [randomUUID(), randomUUID()];
  const reported = await runWithCommands(
    [`{"id":"${malformed}","type":${type},"input":${input}}`, `{"id":"${ping}","type":"node.ping","input":{}}`],
    {},
    ({ size }) => size === 2,
  );
  expect(reported.get(malformed)).toMatchObject({ status: 'failed', error: { code: 'invalid_input' } });
  expect(reported.get(ping)).toMatchObject({ status: 'succeeded' });
});

test('an internal error while a command runs is logged, and the companion continues', async () => {
  const events: object[] = [];
  await runWithCommands(
    [`{"id":"${randomUUID()}","type":"node.ping","input":{}}`],
    {
      onEvent: (event) => events.push(event),
      onCommand: () => {
        throw new Error('out of order');
      },
    },
    () => events.some((event) => 'message' in event && event.message === 'out of order'),
  );
  expect(events).toContainEqual({ event: 'fault', message: 'out of order' });
});

test('an upload whose file is removed at its end causes no unhandled error', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-removed-'));
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('uncaughtException', note);
  try {
    const filePath = join(folder, 'artifact');
    const withheld = new AbortController();
    // The owner unshares the file between the call that opens it and its first byte.
    const client = {
      call: async () => {
        withheld.abort(new Error('not allowed any more'));
        rmSync(filePath);
        throw withheld.signal.reason as Error;
      },
    } as unknown as HubClient;
    writeFileSync(filePath, Buffer.alloc(1024 * 1024));
    const finished: FinishedCommand = {
      commandId: randomUUID(),
      result: { status: 'succeeded', output: {} },
      artifacts: [{ name: 'a', contentType: 'text/plain', filePath }],
    };
    const signals = { signal: new AbortController().signal, withheld: withheld.signal };
    await expect(
      new ResultSender(client, randomUUID()).send(finished, newDelivery(false), signals, () => undefined),
    ).rejects.toThrow('not allowed any more');
    await new Promise((done) => setTimeout(done, 100));
    expect(unhandled).toEqual([]);
  } finally {
    process.off('uncaughtException', note);
    rmSync(folder, { recursive: true, force: true });
  }
});

test.each<[string, OwnerChange, string, { path?: string; otherFolder?: string }]>([
  ['pauses', { change: 'pause' }, 'owner_paused', {}],
  ['denies files', { change: 'deny', power: 'files' }, 'owner_denied', {}],
  ['unshares the folder', { change: 'unshare', path: 'shared' }, 'owner_denied', {}],
  [
    'unshares the folder and shares another one of its name',
    { change: 'unshare', path: 'shared' },
    'owner_denied',
    { otherFolder: 'other/shared' },
  ],
  [
    'unshares the folder to which a link leads',
    { change: 'unshare', path: 'linked' },
    'owner_denied',
    { path: 'shared/link', otherFolder: 'linked' },
  ],
])(
  'the upload of a file ends when the owner %s, and status lists the upload until then',
  async (_name, change, reason, { path = 'shared/large', otherFolder }) => {
    const folder = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-withheld-')));
    const [data, id] = [new DataFolder(join(folder, 'data')), randomUUID()];
    for (const name of ['shared', ...(otherFolder === undefined ? [] : [otherFolder])]) {
      mkdirSync(join(folder, name), { recursive: true });
      writeFileSync(join(folder, name, 'large'), Buffer.alloc(2 * 1024 * 1024, 1));
      await changeSettings(data, { change: 'share', path: join(folder, name) });
    }
    symlinkSync(join(folder, 'linked/large'), join(folder, 'shared/link'));
    const waiting = [{ id, type: 'node.files_read', input: { path } }];
    let received = 0;
    const uploading = Promise.withResolvers<void>();
    const closed = Promise.withResolvers<void>();
    const result = Promise.withResolvers<{ status: string; error?: object }>();
    const hub = createServer((request, response) => {
      const url = new URL(request.url ?? '', 'http://hub');
      response.setHeader('content-type', 'application/json');
      if (url.pathname.includes('/artifacts/')) {
        // The upload continues until the companion ends it.
        request.on('data', (chunk: Buffer) => (received += chunk.length));
        request.on('end', () => uploading.resolve());
        response.on('close', () => closed.resolve());
        return;
      }
      let text = '';
      request.on('data', (chunk: Buffer) => (text += chunk.toString()));
      request.on('end', () => {
        if (url.pathname.endsWith('/result')) result.resolve(JSON.parse(text) as { status: string });
        response.end(
          JSON.stringify(
            url.pathname.endsWith('/result')
              ? { id }
              : {
                  commands: url.pathname.endsWith('/commands') ? waiting.splice(0) : [],
                  withdrawn: [],
                  hub: { pollSeconds: 1, heartbeatSeconds: 300 },
                },
          ),
        );
      });
    });
    await new Promise<void>((done) => hub.listen(0, '127.0.0.1', done));
    const stop = new AbortController();
    try {
      const identity = {
        nodeId: randomUUID(),
        deviceSecret: 'x',
        hub: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`,
        pairedAt: '2026-01-01T00:00:00Z',
      };
      const companion = new Companion({
        folder: data,
        identity,
        signal: stop.signal,
        channel: false,
        onEvent: () => undefined,
      });
      const run = companion.run();
      await uploading.promise;
      expect(companion.view.running).toMatchObject([{ id, type: 'node.files_read' }]);
      await changeSettings(data, change.change === 'unshare' ? { ...change, path: join(folder, change.path) } : change);
      companion.settingsChanged();
      await closed.promise;
      expect(await result.promise).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
      expect(received).toBeLessThan(2 * 1024 * 1024);
      await expect.poll(() => companion.view.running).toEqual([]);
      stop.abort();
      await run;
      expect(new AuditLog(data.audit).read(10).at(-1)).toMatchObject({ commandId: id, outcome: 'interrupted', reason });
      expect(readdirSync(data.journal).filter((name) => name !== 'seen.log')).toEqual([]);
    } finally {
      stop.abort();
      hub.closeAllConnections();
      hub.close();
      rmSync(folder, { recursive: true, force: true });
    }
  },
);

test('a file result of an earlier process is not sent when the owner no longer shares the file', async () => {
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'outrigger-withheld-')));
  const [data, id] = [new DataFolder(join(folder, 'data')), randomUUID()];
  mkdirSync(join(data.journal, id), { recursive: true });
  const filePath = join(data.journal, id, 'artifact-file.bin');
  writeFileSync(filePath, 'secret');
  const line = { summary: '/srv/file', approvedBy: null };
  writeFileSync(
    join(data.journal, id, 'finished.json'),
    JSON.stringify({
      commandId: id,
      result: { status: 'succeeded', output: {} },
      artifacts: [{ name: 'file.bin', contentType: 'application/octet-stream', filePath }],
      source: { type: 'node.files_read', acts: false, file: { path: '/srv/file', realPath: '/srv/file' }, line },
    }),
  );
  const result = Promise.withResolvers<string>();
  const hub = createServer((request, response) => {
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      const isResult = request.url?.endsWith('/result') === true;
      if (isResult) result.resolve(text);
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify(
          isResult ? { id } : { commands: [], withdrawn: [], hub: { pollSeconds: 1, heartbeatSeconds: 300 } },
        ),
      );
    });
  });
  await new Promise<void>((done) => hub.listen(0, '127.0.0.1', done));
  const stop = new AbortController();
  try {
    const identity = {
      nodeId: randomUUID(),
      deviceSecret: 'x',
      hub: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`,
      pairedAt: '2026-01-01T00:00:00Z',
    };
    const run = new Companion({
      folder: data,
      identity,
      signal: stop.signal,
      channel: false,
      onEvent: () => undefined,
    }).run();
    expect(JSON.parse(await result.promise)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    expect(existsSync(filePath)).toBe(false);
    stop.abort();
    await run;
  } finally {
    stop.abort();
    hub.closeAllConnections();
    hub.close();
    rmSync(folder, { recursive: true, force: true });
  }
});

test('a denied result on a full disk is reported as failed, and its command is no longer counted (needs the right to mount a tmpfs)', async ({
  skip,
}) => {
  const folder = mountSmallDisk() ?? skip();
  onTestFinished(() => {
    execFileSync('umount', ['-l', folder]);
    rmSync(folder, { recursive: true });
  });
  const [data, id] = [new DataFolder(join(folder, 'data')), randomUUID()];
  await changeSettings(data, { change: 'allow', power: 'browser', withoutSandbox: true });
  mkdirSync(join(data.journal, id), { recursive: true });
  const filePath = join(data.journal, id, 'artifact-file.bin');
  writeFileSync(filePath, Buffer.alloc(1024 * 1024, 1));
  // A second hard link, so that removing the file frees no space.
  linkSync(filePath, join(folder, 'file.bin'));
  writeFileSync(
    join(data.journal, id, 'finished.json'),
    JSON.stringify({
      commandId: id,
      result: { status: 'succeeded', output: {} },
      artifacts: [{ name: 'file.bin', contentType: 'application/octet-stream', filePath }],
      source: { type: 'browser.click', acts: true, line: { summary: 'a click', approvedBy: null } },
    }),
  );
  const uploading = Promise.withResolvers<void>();
  const result = Promise.withResolvers<string>();
  let counted: string | null = null;
  const hub = createServer((request, response) => {
    const url = new URL(request.url ?? '', 'http://hub');
    counted = url.searchParams.get('running') ?? counted;
    let text = '';
    request.on('data', (chunk: Buffer) => (text += chunk.toString()));
    request.on('end', () => {
      // The upload continues until the companion ends it.
      if (url.pathname.includes('/artifacts/')) {
        uploading.resolve();
        return;
      }
      const isResult = url.pathname.endsWith('/result');
      if (isResult) result.resolve(text);
      response.setHeader('content-type', 'application/json');
      response.end(
        JSON.stringify(
          isResult ? { id } : { commands: [], withdrawn: [], hub: { pollSeconds: 1, heartbeatSeconds: 300 } },
        ),
      );
    });
  });
  await new Promise<void>((done) => hub.listen(0, '127.0.0.1', done));
  const stop = new AbortController();
  try {
    const companion = new Companion({
      folder: data,
      identity: {
        nodeId: randomUUID(),
        deviceSecret: 'x',
        hub: `http://127.0.0.1:${(hub.address() as AddressInfo).port}`,
        pairedAt: '2026-01-01T00:00:00Z',
      },
      signal: stop.signal,
      channel: false,
      onEvent: () => undefined,
    });
    const run = companion.run();
    await uploading.promise;
    await expect.poll(() => counted).toBe(id);
    const { bavail, bsize } = statfsSync(folder);
    writeFileSync(join(folder, 'filler'), Buffer.alloc(bavail * bsize));
    await changeSettings(data, { change: 'pause' });
    companion.settingsChanged();
    expect(JSON.parse(await result.promise)).toMatchObject({ status: 'failed', error: { code: 'interrupted' } });
    await expect.poll(() => counted).toBe('');
    expect(readdirSync(data.journal).filter((name) => name !== 'seen.log')).toEqual([]);
    stop.abort();
    await run;
  } finally {
    stop.abort();
    hub.closeAllConnections();
    hub.close();
  }
});

test.skipIf(process.platform !== 'linux')(
  'a companion ends the programs that earlier commands left, when it starts',
  async () => {
    const folder = mkdtempSync(join(tmpdir(), 'outrigger-left-'));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const data = new DataFolder(folder);
    const id = randomUUID();
    mkdirSync(data.journal, { recursive: true });
    writeFileSync(join(data.journal, 'seen.log'), `${randomUUID()}\n${id}\n`);
    const program = spawn('sleep', ['600'], { env: { PATH: '/usr/bin:/bin', [commandMarker]: id }, stdio: 'ignore' });
    const ended = new Promise((done) => program.once('exit', (_code, signal) => done(signal)));
    const stop = new AbortController();
    const identity = {
      nodeId: randomUUID(),
      deviceSecret: 'x',
      hub: 'http://127.0.0.1:9',
      pairedAt: '2026-01-01T00:00:00Z',
    };
    const run = new Companion({ folder: data, identity, signal: stop.signal, onEvent: () => undefined }).run();
    try {
      expect(await ended).toBe('SIGKILL');
    } finally {
      program.kill('SIGKILL');
      stop.abort();
      await run;
    }
  },
);
