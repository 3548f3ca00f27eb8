import { execFileSync } from 'node:child_process';
import { randomBytes, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import type { UpdateState } from '../../../shared/companion/app.ts';
import { processesWith } from '../../../test/fixtures/companion.ts';
import { UpdateServer, newKeys, serveRange } from '../../../test/fixtures/update-server.ts';
import { AppImage } from './app-image.ts';
import { FeedUpdater } from './feed-updater.ts';
import type { FeedUpdaterOptions } from './feed-updater.ts';
import { parseKeys } from './feed.ts';

const older = '#!/bin/sh\nexit 0\n';
const newer = randomBytes(1_000_000);
const { publicKey, privateKey } = newKeys();
const never = (signal: AbortSignal) =>
  new Promise<void>((_done, fail) => signal.addEventListener('abort', () => fail(signal.reason as Error)));

let home: string;
let path: string;
let server: UpdateServer;
let updater: FeedUpdater;
let states: UpdateState[];
let exits: (string | null)[];
let isAside: boolean;

function create(change: Partial<FeedUpdaterOptions> & { idle?: FeedUpdaterOptions['port']['whenIdle'] } = {}) {
  const { idle = never, ...options } = change;
  states = [];
  exits = [];
  isAside = false;
  updater = new FeedUpdater({
    current: '1.0.0',
    feedUrl: `${server.url}/linux.json`,
    keys: [publicKey],
    target: 'linux-x64',
    folder: join(home, 'state'),
    image: new AppImage(path, join(home, 'state')),
    now: () => Date.parse('2026-11-20T00:00:00Z'),
    port: {
      onChange: (state) => states.push(state),
      whenIdle: idle,
      releaseInstance: () => {
        isAside = true;
        return Promise.resolve();
      },
      args: () => ['--data-folder=/a hub', '--hidden'],
      exitTo: (program) => exits.push(program),
    },
    ...options,
  });
  return updater;
}

beforeEach(async () => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-updates-'));
  path = join(home, 'companion.AppImage');
  writeFileSync(path, older);
  chmodSync(path, 0o755);
  server = await UpdateServer.start();
});
afterEach(async () => {
  await updater[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  rmSync(home, { recursive: true, force: true });
});

const parts = () => readdirSync(join(home, 'state')).filter((name) => name.endsWith('.part'));
async function refusal(change?: Parameters<typeof create>[0]) {
  await create(change).check();
  expect(readFileSync(path, 'utf8')).toBe(older);
  expect(parts()).toEqual([]);
  expect(updater.state.state).toBe('refused');
  return updater.state.detail;
}

describe('a signed update', () => {
  test('is downloaded without execute permission, and waits until no command runs', async () => {
    server.publish(newer, privateKey);
    await create().check();
    expect(states.map(({ state }) => state)).toEqual(['checking', 'downloading', 'ready']);
    expect(updater.state).toMatchObject({ by: 'app', current: '1.0.0', version: '2.0.0' });
    const [part] = parts();
    expect(readFileSync(join(home, 'state', part as string)).equals(newer)).toBe(true);
    expect(execFileSync('stat', ['-c', '%a', join(home, 'state', part as string)], { encoding: 'utf8' })).toBe('600\n');
    expect(readFileSync(path, 'utf8')).toBe(older);
  });

  test('is installed when no command runs: the new version starts with the same arguments, then the old one exits', async () => {
    // A new version confirms its start by removing this file.
    const confirm = `[ "$*" = '--data-folder=/a hub --hidden' ] && rm '${join(home, 'state/update-pending.json')}'`;
    const confirming = `#!/bin/sh\n${confirm}\nsleep 5\n`;
    server.publish(Buffer.from(confirming), privateKey);
    await create({ idle: () => Promise.resolve() }).check();
    await expect.poll(() => exits).toEqual([null]);
    expect(isAside).toBe(true);
    expect(readFileSync(path, 'utf8')).toBe(confirming);
    expect(readFileSync(`${path}.previous`, 'utf8')).toBe(older);
  });

  test('that does not start is rolled back, the old version restarts, and the update is not installed again', async () => {
    server.publish(Buffer.from('#!/bin/sh\nexit 1\n'), privateKey);
    await create().check();
    await updater.apply();
    expect(exits).toEqual([path]);
    expect(readFileSync(path, 'utf8')).toBe(older);
    await updater[Symbol.asyncDispose]();
    expect(await refusal()).toContain('did not start on this machine');
  });

  test('that hangs in its first start is killed and rolled back', async () => {
    // The start has this folder in its command line or environment.
    server.publish(Buffer.from(`#!/bin/sh\nSTARTED_IN='${home}' exec sleep 300\n`), privateKey);
    await create({ startDeadlineMs: 5_000 }).check();
    await updater.apply();
    expect(exits).toEqual([path]);
    expect(readFileSync(path, 'utf8')).toBe(older);
    await expect.poll(() => processesWith(home)).toEqual([]);
  });

  test('is accepted with any of the keys, so that keys can be rotated', async () => {
    const second = newKeys();
    server.publish(newer, second.privateKey);
    const raw = (key: KeyObject) =>
      Buffer.from(key.export({ format: 'jwk' }).x as string, 'base64url').toString('base64');
    await create({ keys: parseKeys(`${raw(publicKey)}, ${raw(second.publicKey)}`) }).check();
    expect(updater.state.state).toBe('ready');
  });

  test('is only reported where the system installs updates', async () => {
    server.publish(newer, privateKey);
    await create({ image: null, describeManualUpdate: (version) => `Install ${version}.` }).check();
    expect(updater.state).toMatchObject({ by: 'system', state: 'idle', version: '2.0.0', detail: 'Install 2.0.0.' });
    expect(server.requests.map(({ path: asked }) => asked)).toEqual(['/linux.json', '/linux.json.sig']);
  });

  test('with the running version is ignored', async () => {
    server.publish(newer, privateKey, { version: '1.0.0' });
    await create().check();
    expect(updater.state).toMatchObject({ state: 'idle', version: null, detail: null });
  });
});

describe('the updater refuses with a reason', () => {
  test('a modified feed', async () => {
    server.publish(newer, privateKey);
    const feed = (server.files.get('/linux.json') as Buffer).toString();
    server.files.set('/linux.json', Buffer.from(feed.replace('2.0.0', '2.0.1')));
    expect(await refusal()).toContain('is not signed by the makers');
  });

  test('a feed without a signature', async () => {
    server.publish(newer, privateKey);
    server.files.delete('/linux.json.sig');
    expect(await refusal()).toContain('has no signature');
  });

  test('a feed with a signature of another key', async () => {
    server.publish(newer, newKeys().privateKey);
    expect(await refusal()).toContain('is not signed by the makers');
  });

  test('signed content that is not a feed', async () => {
    const bytes = Buffer.from('{"version":"2.0.0"}');
    server.files.set('/linux.json', bytes);
    server.files.set('/linux.json.sig', Buffer.from(sign(null, bytes, privateKey).toString('base64')));
    expect(await refusal()).toContain('does not understand');
  });

  test('a modified file', async () => {
    server.publish(newer, privateKey);
    server.files.set('/companion.AppImage', randomBytes(newer.length));
    expect(await refusal()).toContain('its checksum differs');
  });

  test('a file larger than announced', async () => {
    server.publish(newer, privateKey);
    server.files.set('/companion.AppImage', Buffer.concat([newer, randomBytes(100_000)]));
    expect(await refusal()).toContain('larger than announced');
  });

  test.each([
    ['with an older version', { version: '1.9.0', releasedAt: '2026-11-09T00:00:00Z' }],
    ['with an older release date', { version: '2.0.0', releasedAt: '2026-10-01T00:00:00Z' }],
  ])('a signed feed %s than a feed seen before', async (_which, change) => {
    server.publish(newer, privateKey, { version: '1.0.0', releasedAt: '2026-10-01T00:00:00Z' });
    await create().check();
    server.publish(newer, privateKey, {
      version: '2.0.0',
      releasedAt: '2026-11-05T00:00:00Z',
      minimumVersion: '9.0.0',
    });
    await updater.check();
    await updater[Symbol.asyncDispose]();
    server.publish(newer, privateKey, change);
    expect(await refusal()).toContain('An old announcement was sent again');
  });

  test('a version that cannot follow the running version', async () => {
    server.publish(newer, privateKey, { minimumVersion: '1.5.0' });
    expect(await refusal()).toContain('it needs 1.5.0 or newer');
  });

  test('a file for another platform', async () => {
    server.publish(newer, privateKey, { target: 'linux-arm64' });
    expect(await refusal()).toContain('is for linux-arm64');
  });

  test('a redirect to another host', async () => {
    await using other = await UpdateServer.start();
    other.publish(newer, privateKey);
    server.files.set('/linux.json', (_incoming, response) =>
      response.writeHead(302, { Location: `${other.url}/linux.json` }).end(),
    );
    expect(await refusal()).toContain('was not followed');
    expect(other.requests).toEqual([]);
  });

  test('an unencrypted address', async () => {
    expect(await refusal({ feedUrl: 'http://updates.example.org/linux.json' })).toContain('Updates require https');
  });
});

describe('the updater recovers', () => {
  test('an interrupted download continues where it stopped', async () => {
    server.publish(newer, privateKey);
    let isFirst = true;
    server.files.set('/companion.AppImage', (incoming, response) => {
      if (!isFirst) {
        serveRange(newer, incoming.headers.range, response);
        return;
      }
      isFirst = false;
      response.writeHead(200, { 'Content-Length': newer.length });
      response.write(newer.subarray(0, 400_000), () => setTimeout(() => response.destroy(), 50));
    });
    await create().check();
    expect(updater.state.state).toBe('ready');
    const ranges = server.requests
      .filter(({ path: asked }) => asked === '/companion.AppImage')
      .map(({ range }) => range);
    expect(ranges).toHaveLength(2);
    expect(ranges[1]).toMatch(/^bytes=[1-9]\d*-$/);
  });

  test('a download continues after a restart of the app, also from a server without ranges', async () => {
    const feed = server.publish(newer, privateKey);
    mkdirSync(join(home, 'state'));
    writeFileSync(join(home, 'state', `${feed.sha512.slice(0, 32)}.part`), newer.subarray(0, 123_456));
    server.files.set('/companion.AppImage', (_incoming, response) => serveRange(newer, undefined, response));
    await create().check();
    expect(server.requests.at(-1)?.range).toBe('bytes=123456-');
    expect(updater.state.state).toBe('ready');
  });

  test('a stalled download times out and keeps the received part', async () => {
    server.publish(newer, privateKey);
    server.files.set('/companion.AppImage', (_incoming, response) => {
      response.writeHead(200, { 'Content-Length': newer.length });
      response.write(newer.subarray(0, 200_000));
    });
    create({ deadlines: { silenceMs: 300, wholeMs: 60_000 } });
    // On a busy machine, an earlier request can time out.
    const downloadedParts = async () => {
      await updater.check();
      return parts().length;
    };
    await expect.poll(downloadedParts).toBe(1);
    expect(updater.state).toMatchObject({ state: 'failed', detail: expect.stringContaining('stopped answering') });
  });

  test('a request to a silent server times out', async () => {
    server.files.set('/linux.json', () => undefined);
    await create({ deadlines: { silenceMs: 200, wholeMs: 60_000 } }).check();
    expect(updater.state).toMatchObject({ state: 'failed', detail: expect.stringContaining('stopped answering') });
  });

  test('a check is aborted when the app exits', async () => {
    server.files.set('/linux.json', () => undefined);
    const checking = create().check();
    await expect.poll(() => server.requests).toHaveLength(1);
    await updater[Symbol.asyncDispose]();
    await checking;
    expect(updater.state.state).toBe('checking');
  });

  test('an announcement older than 30 days causes a warning', async () => {
    server.publish(newer, privateKey, { version: '1.0.0', releasedAt: '2026-09-01T00:00:00Z' });
    await create().check();
    expect(updater.state).toMatchObject({ state: 'idle', detail: expect.stringContaining('80 days ago') });
  });

  const canMount = (() => {
    const disk = mountSmall();
    if (disk !== null) unmount(disk);
    return disk !== null;
  })();
  test.skipIf(!canMount)(
    'a full disk is reported, and the app stays unchanged (needs the right to mount a tmpfs)',
    async () => {
      const disk = mountSmall() as string;
      try {
        // The disk has space for the download, but not for a second copy of it.
        path = join(disk, 'companion.AppImage');
        writeFileSync(path, older);
        server.publish(newer, privateKey);
        await create().check();
        expect(updater.state.state).toBe('ready');
        await updater.apply();
        expect(updater.state).toMatchObject({
          state: 'failed',
          detail: expect.stringContaining(`not enough disk space for the update in ${disk}`),
        });
        expect(readFileSync(path, 'utf8')).toBe(older);
        expect(readdirSync(disk)).toEqual(['companion.AppImage']);
        await updater[Symbol.asyncDispose]();
        await create({ folder: join(disk, 'state') }).check();
        expect(updater.state).toMatchObject({
          state: 'failed',
          detail: expect.stringContaining('not enough disk space'),
        });
      } finally {
        await updater[Symbol.asyncDispose]();
        unmount(disk);
      }
    },
  );
});

/** Mounts a file system of 512 KiB. Returns null if this user may not mount. */
function mountSmall(): string | null {
  const folder = mkdtempSync(join(tmpdir(), 'outrigger-small-'));
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=512k', 'tmpfs', folder], { stdio: 'ignore' });
    return folder;
  } catch {
    rmSync(folder, { recursive: true });
    return null;
  }
}

function unmount(folder: string): void {
  execFileSync('umount', [folder]);
  rmSync(folder, { recursive: true });
}
