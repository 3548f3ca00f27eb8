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
    calls.push('stands aside');
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
const none = () => Promise.reject(new Error('nobody asks for it'));
async function create(
  change: Partial<Installation>,
  build = { keys: '', feedUrl: '' },
  load: () => Promise<SystemSignedUpdates> = none,
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
    port,
    load,
    build,
  );
  onTestFinished(() => updater[Symbol.asyncDispose]());
  return updater;
}

describe('who updates an installation', () => {
  test('nobody, where it runs from its sources, was unpacked by hand, or was built without a key', async () => {
    expect((await create({ isPackaged: false })).state).toMatchObject({
      by: 'nobody',
      detail: expect.stringContaining('sources'),
    });
    expect((await create({})).state).toMatchObject({ by: 'nobody', detail: expect.stringContaining('by hand') });
    expect((await create({ appImage: join(home, 'x.AppImage') })).state).toMatchObject({
      by: 'nobody',
      detail: 'This build has no update key; get a newer one by hand.',
    });
    expect((await create({ platform: 'darwin' })).state).toMatchObject({ by: 'nobody' });
  });

  test('nobody, where it was started by an AppImage of something else, whose variables it inherited', async () => {
    const updater = await create(
      { appImage: join(home, 'editor.AppImage'), appDir: join(home, 'res') },
      { keys, feedUrl: 'https://localhost/linux.json' },
    );
    expect(updater.state).toMatchObject({ by: 'nobody', detail: expect.stringContaining('unpacked by hand') });
  });

  test('the app itself, where it is an AppImage of a build with a key', async () => {
    const updater = await create(
      { appImage: join(home, 'x.AppImage') },
      { keys, feedUrl: 'https://localhost/linux.json' },
    );
    expect(updater.state).toMatchObject({ by: 'app', state: 'idle' });
  });

  test('the system, where it is a Debian package: the owner is told of a new version, and of the command', async () => {
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
    'electron-updater on %s, in the same states, and applied when nothing runs',
    async (platform) => {
      writeFileSync(join(home, 'resources/app-update.yml'), '');
      let isThere = true;
      // Stands in for electron-updater, whose installers run on those systems alone.
      const updates: SystemSignedUpdates = {
        autoDownload: true,
        autoInstallOnAppQuit: false,
        allowDowngrade: true,
        checkForUpdates: () =>
          isThere
            ? Promise.resolve({ isUpdateAvailable: true, updateInfo: { version: '2.0.0' } })
            : Promise.reject(new Error('net::ERR\n  at a stack')),
        downloadUpdate: () => Promise.resolve(calls.push('downloads')),
        quitAndInstall: () => calls.push('installs'),
      };
      const updater = await create({ platform }, undefined, () => Promise.resolve(updates));
      expect(updates).toMatchObject({ autoDownload: false, allowDowngrade: false });
      isThere = false;
      await updater.check();
      expect(updater.state).toMatchObject({
        state: 'failed',
        detail: 'No update could be got (net::ERR); looked for again later.',
      });
      isThere = true;
      await updater.check();
      await expect.poll(() => calls.at(-1)).toBe('installs');
      expect(calls).toEqual([
        'checking',
        'failed',
        'checking',
        'downloading',
        'downloads',
        'ready',
        'stands aside',
        'installs',
      ]);
    },
  );
});
