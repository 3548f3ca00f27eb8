import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { UpdateServer, newKeys } from '../../../test/fixtures/update-server.ts';
import { createUpdater } from './create-updater.ts';
import type { Installation } from './create-updater.ts';
import type { SystemSignedUpdates } from './signed-updater.ts';
import type { UpdatePort } from './updater.ts';

let home: string;
const calls: string[] = [];
const port: UpdatePort = {
  onChange: ({ state }) => calls.push(state),
  whenIdle: () => Promise.resolve(),
  releaseInstance: () => {
    calls.push('releases');
    return Promise.resolve();
  },
  args: () => [],
  exitTo: () => calls.push('leaves'),
};
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), 'outrigger-installation-'));
  mkdirSync(join(home, 'resources'));
  calls.length = 0;
});
afterEach(() => rmSync(home, { recursive: true, force: true }));

const { publicKey, privateKey } = newKeys();
const keys = Buffer.from(publicKey.export({ format: 'jwk' }).x as string, 'base64url').toString('base64');
const none = () => Promise.reject(new Error('not expected'));
async function create(
  change: Partial<Installation>,
  build = { keys: '', feedUrl: '' },
  load: () => Promise<SystemSignedUpdates> = none,
  usedPort = port,
) {
  const updater = await createUpdater(
    {
      current: '1.0.0',
      platform: 'linux',
      arch: 'x64',
      appImage: undefined,
      appDir: home,
      resources: join(home, 'resources'),
      isPackaged: true,
      folder: join(home, 'state'),
      ...change,
    },
    usedPort,
    load,
    build,
  );
  onTestFinished(() => updater[Symbol.asyncDispose]());
  return updater;
}

describe('the updater of an installation', () => {
  test('does not update sources, unpacked folders, or builds without a key', async () => {
    expect((await create({ isPackaged: false })).state).toMatchObject({
      by: 'nobody',
      detail: expect.stringContaining('sources'),
    });
    expect((await create({})).state).toMatchObject({ by: 'nobody', detail: expect.stringContaining('by hand') });
    expect((await create({ appImage: join(home, 'x.AppImage') })).state).toMatchObject({
      by: 'nobody',
      detail: 'This build has no update key. Install a newer version by hand.',
    });
    expect((await create({ platform: 'darwin' })).state).toMatchObject({ by: 'nobody' });
  });

  test('ignores inherited variables of another AppImage that started the app', async () => {
    const updater = await create(
      { appImage: join(home, 'editor.AppImage'), appDir: join(home, 'res') },
      { keys, feedUrl: 'https://localhost/linux.json' },
    );
    expect(updater.state).toMatchObject({ by: 'nobody', detail: expect.stringContaining('unpacked by hand') });
  });

  test('updates an AppImage of a build with a key', async () => {
    const updater = await create(
      { appImage: join(home, 'x.AppImage') },
      { keys, feedUrl: 'https://localhost/linux.json' },
    );
    expect(updater.state).toMatchObject({ by: 'app', state: 'idle' });
  });

  test('reports new versions of a Debian package with the command that installs them', async () => {
    writeFileSync(join(home, 'resources/package-type'), 'deb\n');
    expect((await create({})).state).toMatchObject({
      by: 'system',
      detail: expect.stringContaining('sudo apt install'),
    });
    await using server = await UpdateServer.start();
    server.publish(Buffer.from('x'), privateKey);
    const updater = await create({}, { keys, feedUrl: `${server.url}/linux.json` });
    await updater.check();
    expect(updater.state).toMatchObject({
      by: 'system',
      version: '2.0.0',
      detail: expect.stringContaining('sudo apt install ./outrigger-companion_2.0.0_amd64.deb'),
    });
  });

  test.each(['darwin', 'win32'])(
    'uses electron-updater on %s, with the same states, and installs when no command runs',
    async (platform) => {
      writeFileSync(join(home, 'resources/app-update.yml'), '');
      let isAvailable = true;
      // A stand-in for electron-updater, whose installers run only on these systems.
      const updates: SystemSignedUpdates = {
        autoDownload: true,
        autoInstallOnAppQuit: false,
        allowDowngrade: true,
        checkForUpdates: () =>
          isAvailable
            ? Promise.resolve({ isUpdateAvailable: true, updateInfo: { version: '2.0.0' } })
            : Promise.reject(new Error('net::ERR\n  at a stack')),
        downloadUpdate: () => Promise.resolve(calls.push('downloads')),
        quitAndInstall: () => calls.push('installs'),
      };
      const updater = await create({ platform }, undefined, () => Promise.resolve(updates));
      expect(updates).toMatchObject({ autoDownload: false, allowDowngrade: false });
      isAvailable = false;
      await updater.check();
      expect(updater.state).toMatchObject({
        state: 'failed',
        detail: 'The update check failed (net::ERR). It will be retried later.',
      });
      isAvailable = true;
      await updater.check();
      await expect.poll(() => calls.at(-1)).toBe('installs');
      expect(calls).toEqual([
        'checking',
        'failed',
        'checking',
        'downloading',
        'downloads',
        'ready',
        'releases',
        'installs',
      ]);
    },
  );

  test.each([
    ['the companion cannot be stopped', 'releaseInstance', []],
    ['the installer does not start', 'quitAndInstall', ['leaves']],
  ] as const)('reports an update that fails because %s', async (_why, step, expected) => {
    writeFileSync(join(home, 'resources/app-update.yml'), '');
    const fail = () => {
      throw new Error('EACCES\n  at a stack');
    };
    const updates: SystemSignedUpdates = {
      autoDownload: true,
      autoInstallOnAppQuit: false,
      allowDowngrade: true,
      checkForUpdates: () => Promise.resolve({ isUpdateAvailable: true, updateInfo: { version: '2.0.0' } }),
      downloadUpdate: () => Promise.resolve(),
      quitAndInstall: step === 'quitAndInstall' ? fail : () => undefined,
    };
    const updater = await create(
      { platform: 'darwin' },
      undefined,
      () => Promise.resolve(updates),
      step === 'releaseInstance' ? { ...port, releaseInstance: async () => fail() } : port,
    );
    await updater.check();
    await expect
      .poll(() => updater.state)
      .toMatchObject({
        state: 'failed',
        detail: 'The update could not be installed (EACCES). It will be retried later.',
      });
    expect(calls.filter((call) => call === 'leaves')).toEqual(expected);
  });
});
