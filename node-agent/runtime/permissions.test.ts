import { chmodSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, onTestFinished, test, vi } from 'vitest';
import type { SystemPermission } from '../../shared/companion/state.ts';
import { findBrowser } from './commands/browser/find-browser.ts';
import { findTool } from './commands/media-tool.ts';
import { HostError } from './host-port.ts';
import type { HostPort } from './host-port.ts';
import { PermissionReader } from './permissions.ts';
import { ProcessGuard } from './process-guard.ts';
import { localSettings } from './settings.ts';

const isLinux = process.platform === 'linux';
const isRoot = process.getuid?.() === 0;
const signal = AbortSignal.timeout(60_000);
afterEach(() => vi.unstubAllEnvs());

function folder(): string {
  const path = mkdtempSync(join(tmpdir(), 'outrigger-permissions-'));
  onTestFinished(() => rmSync(path, { recursive: true, force: true }));
  return path;
}

async function look(settings: Parameters<typeof localSettings.parse>[0] = {}, host?: HostPort) {
  await using guard = new ProcessGuard();
  using reader = new PermissionReader(guard, host);
  return await reader.readPermissions(localSettings.parse(settings), signal, 20_000);
}

/** The app's side of the port, which answers with the given function. */
function hostThat(
  permission: (power: string) => Promise<SystemPermission | null>,
  captures: HostPort['offer']['captures'] = [],
): HostPort & { asked: string[] } {
  const asked: string[] = [];
  return {
    asked,
    offer: { keyStore: null, captures },
    call: async (_method, params) => {
      const { power } = params as { power: string };
      asked.push(power);
      return { permission: await permission(power) } as never;
    },
  };
}

describe('shared folders', () => {
  test('that can be read are granted; without any, the remedy is to share one', async () => {
    const shared = folder();
    expect((await look({ sharedFolders: [shared] })).files).toEqual({ state: 'granted', detail: shared, remedy: null });
    expect((await look()).files).toMatchObject({ state: 'missing', remedy: { action: { kind: 'share_folder' } } });
  });

  test('that do not exist or are not folders are named, with the command to unshare them', async () => {
    const [shared, gone] = [folder(), join(folder(), "it's gone")];
    const file = join(shared, 'file');
    writeFileSync(file, '');
    const { files } = await look({ sharedFolders: [shared, gone, file] });
    expect(files).toMatchObject({
      state: 'missing',
      remedy: { action: { kind: 'copy', command: `outrigger-companion unshare '${gone.replace("'", `'\\''`)}'` } },
    });
    expect(files.detail).toBe(`${gone} is not there. ${file} is not a folder any more.`);
  });

  test('that a link leads elsewhere are denied, with the command to unshare them', async () => {
    const moved = join(folder(), 'moved');
    symlinkSync(folder(), moved);
    expect((await look({ sharedFolders: [moved] })).files).toMatchObject({
      state: 'denied',
      detail: `${moved} leads to another folder now, which you did not share.`,
      remedy: { action: { command: `outrigger-companion unshare '${moved}'` } },
    });
  });

  test.skipIf(isRoot || !isLinux)(
    'that cannot be read are denied (needs Linux and a user other than root)',
    async () => {
      const own = folder();
      chmodSync(own, 0o000);
      onTestFinished(() => chmodSync(own, 0o700));
      expect((await look({ sharedFolders: [own] })).files).toMatchObject({
        state: 'denied',
        remedy: { action: { command: `chmod u+rx '${own}'` } },
      });
      expect((await look({ sharedFolders: ['/root'] })).files).toMatchObject({
        state: 'denied',
        remedy: { action: { command: "outrigger-companion unshare '/root'" } },
      });
    },
  );
});

describe.skipIf(!isLinux)('on Linux', () => {
  test('without ffmpeg, screen, camera and microphone are missing, with the command to install it', async () => {
    vi.stubEnv('PATH', '/nonexistent');
    vi.stubEnv('DISPLAY', ':0');
    const { screen, camera, audio, browser } = await look();
    for (const permission of [screen, camera, audio])
      expect(permission).toMatchObject({
        state: 'missing',
        detail: expect.stringContaining('ffmpeg') as string,
        remedy: { action: { kind: 'copy', command: 'sudo apt-get install ffmpeg' } },
      });
    expect(browser).toMatchObject({
      state: 'missing',
      remedy: { action: { command: 'sudo apt-get install chromium' } },
    });
  });

  test.skipIf(findTool('ffmpeg') === null)('without a desktop there is no screen (needs ffmpeg)', async () => {
    vi.stubEnv('DISPLAY', undefined);
    vi.stubEnv('WAYLAND_DISPLAY', undefined);
    expect((await look()).screen).toMatchObject({
      state: 'missing',
      detail: expect.stringContaining('neither DISPLAY nor WAYLAND_DISPLAY') as string,
      remedy: { text: expect.stringContaining('with DISPLAY set') as string },
    });
  });

  test.skipIf(findTool('ffmpeg') === null || findTool('pactl') === null)(
    'without a sound server there is no microphone (needs ffmpeg and pactl)',
    async () => {
      vi.stubEnv('PULSE_SERVER', `unix:${join(folder(), 'none')}`);
      expect((await look()).audio).toMatchObject({
        state: 'missing',
        detail: expect.stringContaining('No sound server') as string,
      });
    },
  );

  test.skipIf(!isRoot || findBrowser(undefined) === null)(
    'the browser is denied to root until the owner allows it without a sandbox (needs root and a browser)',
    async () => {
      expect((await look()).browser).toMatchObject({
        state: 'denied',
        remedy: { action: { command: 'outrigger-companion allow browser --without-sandbox' } },
      });
      expect((await look({ browser: { withoutSandbox: true } })).browser.state).toBe('granted');
    },
  );
});

test('a browser path in the settings that does not exist is named as missing', async () => {
  const executablePath = join(folder(), 'chrome');
  expect((await look({ browser: { executablePath } })).browser).toMatchObject({
    state: 'missing',
    detail: `There is no browser at ${executablePath}.`,
  });
});

describe('the app around the runtime', () => {
  test('is asked first, and its answer decides if it has one', async () => {
    const denied: SystemPermission = { state: 'denied', detail: 'the app says no', remedy: null };
    const host = hostThat(async (power) => (power === 'screen' ? denied : null));
    const permissions = await look({}, host);
    expect(permissions.screen).toEqual(denied);
    expect(permissions.system.state).toBe('granted');
    expect(host.asked.toSorted()).toEqual(['audio', 'browser', 'camera', 'files', 'screen', 'system']);
  });

  test('needs no ffmpeg for what it captures itself', async () => {
    vi.stubEnv('PATH', '/nonexistent');
    const { screen, camera, audio } = await look(
      {},
      hostThat(async () => null, ['screen', 'camera', 'audio']),
    );
    for (const permission of [screen, camera, audio]) expect(permission.detail).not.toContain('ffmpeg');
    expect(screen.state).toBe('unknown');
  });

  test('may fail, and the runtime then checks by itself', async () => {
    const host = hostThat(() => Promise.reject(new HostError('failed', 'no')));
    expect((await look({}, host)).system.state).toBe('granted');
  });
});

test('a check that hangs delays no call, runs once for many calls, and its result is cached', async () => {
  await using guard = new ProcessGuard();
  const answered = Promise.withResolvers<SystemPermission>();
  const host = hostThat((power) => (power === 'camera' ? answered.promise : Promise.resolve(null)), ['camera']);
  using reader = new PermissionReader(guard, host);
  const ask = (waitMs: number) => reader.readPermissions(localSettings.parse({}), signal, waitMs);
  const early = await Promise.all([ask(50), ask(50), ask(50)]);
  expect(early.map(({ camera }) => camera.state)).not.toContain('granted');
  await expect.poll(async () => (await ask(50)).system.state).toBe('granted');
  expect(host.asked).toHaveLength(6);
  answered.resolve({ state: 'granted', detail: 'the camera', remedy: null });
  expect((await ask(20_000)).camera).toEqual({ state: 'granted', detail: 'the camera', remedy: null });
  expect((await ask(20_000)).camera.state).toBe('granted');
  expect(host.asked).toHaveLength(6);
});

test('a newly shared folder is checked immediately', async () => {
  await using guard = new ProcessGuard();
  using reader = new PermissionReader(guard);
  const ask = (sharedFolders: string[]) =>
    reader.readPermissions(localSettings.parse({ sharedFolders }), signal, 20_000);
  const [first, second] = [folder(), folder()];
  expect((await ask([first])).files.detail).toBe(first);
  expect((await ask([first, second])).files.detail).toBe(`${first}, ${second}`);
});

test('the cached result of other folders is not returned for a folder that does not answer', async () => {
  await using guard = new ProcessGuard();
  using reader = new PermissionReader(guard);
  const ask = (sharedFolders: string[], waitMs: number) =>
    reader.readPermissions(localSettings.parse({ sharedFolders }), signal, waitMs);
  const home = folder();
  expect((await ask([home], 20_000)).files.state).toBe('granted');
  // So many folders that the check takes longer than the wait of 0 ms.
  const gone = Array.from({ length: 5_000 }, (_value, index) => join(home, String(index)));
  expect((await ask(gone, 0)).files.state).not.toBe('granted');
});
