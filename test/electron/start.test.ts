import { spawn } from 'node:child_process';
import { mkdtemp, readFile, readlink, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { askCompanion } from '../../node-agent/runtime/control/client.ts';
import { DataFolder } from '../../node-agent/runtime/data-folder.ts';
import type { LocalSettings } from '../../shared/companion/settings.ts';
import { makePrompt } from '../fixtures/companion-stand-in.ts';
import { killProcesses, processesWith } from '../fixtures/companion.ts';
import { electronArguments, electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { until } from '../fixtures/until.ts';
import { startApp } from './app.ts';
import type { TestApp } from './app.ts';
import { hasDesktop, hasWindowManager, startDesktop } from './desktop.ts';
import type { TestDesktop } from './desktop.ts';
import { startOwnerCompanion } from './owner-companion.ts';

describe.skipIf(electronPath === null || !hasDesktop)(`starting the app ${needsElectron}`, () => {
  let desktop: TestDesktop;
  let app: TestApp;
  beforeAll(async () => {
    desktop = await startDesktop();
    app = await startApp(desktop);
  });
  afterAll(async () => {
    await app?.[Symbol.asyncDispose]();
    await desktop?.[Symbol.asyncDispose]();
  });

  const isThere = (pid: number) => {
    try {
      return process.kill(pid, 0);
    } catch {
      return false;
    }
  };

  const minimise = () =>
    app.electron.evaluate(({ BrowserWindow }) => {
      // Minimizing a window requires a window manager. Hiding the window has the same effect for the user.
      BrowserWindow.getAllWindows()[0]?.hide();
    });

  test('a second start only shows the window of the running app', async () => {
    await minimise();
    expect(await app.isVisible()).toBe(false);
    expect(await app.again()).toBe(0);
    await expect.poll(() => app.isVisible()).toBe(true);
    expect((await app.companion())?.settings.paused).toBe(false);
  });

  test('--pause pauses the running companion without showing the window', async () => {
    await minimise();
    expect(await app.again('--pause')).toBe(0);
    await expect.poll(async () => (await app.companion())?.settings.paused).toBe(true);
    expect(await app.isVisible()).toBe(false);
    await app.call('change', { change: 'resume' });
    expect((await app.companion())?.settings.paused).toBe(false);
  });

  test('--pause writes the settings file immediately, even if the companion hangs', async () => {
    await using other = await startApp(desktop);
    const { pid } = (await other.companion()) as { pid: number };
    process.kill(pid, 'SIGSTOP');
    onTestFinished(() => killProcesses([pid]));
    let hasAnswered = false;
    other.companion().then(
      () => (hasAnswered = true),
      () => undefined,
    );
    expect(await other.again('--pause')).toBe(0);
    expect(await readFile(join(other.dataFolder, 'settings.json'), 'utf8')).toContain('"paused": true');
    expect(hasAnswered).toBe(false);
  });

  test('--pause works without a response of the running app', async () => {
    await using other = await startApp(desktop);
    const companion = (await other.companion()) as { pid: number };
    const main = await other.electron.evaluate(() => process.pid);
    process.kill(main, 'SIGSTOP');
    onTestFinished(() => killProcesses([main, companion.pid]));
    expect(await other.again('--pause')).toBe(0);
    expect(await readFile(join(other.dataFolder, 'settings.json'), 'utf8')).toContain('"paused": true');
    // A second start of Chromium ends an app that does not respond. This must not happen here.
    expect(isThere(main)).toBe(true);
  });

  test('a second start during the first start takes effect after the first start', async () => {
    const link = 'outrigger://pair?hub=https://a.example&code=ABCD-EFGH';
    // If the inspector does not connect, the app is started again, and the process with the second start has ended.
    const secondStartTakesEffect = async () => {
      const home = await mkdtemp(join(tmpdir(), 'outrigger-app-'));
      onTestFinished(() => rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 }));
      const dataFolder = join(home, 'data');
      const isReachedAt = async () => {
        const at = await readlink(join(dataFolder, 'app/SingletonSocket')).catch(() => null);
        const sockets = await readFile('/proc/net/unix', 'utf8');
        return at === null ? 0 : sockets.split('\n').filter((line) => line.endsWith(` ${at}`)).length;
      };
      const starting = startApp(desktop, { dataFolder });
      await until(
        async () => (await isReachedAt()) === 1,
        () => 'nothing started',
      );
      const main = Number((await readlink(join(dataFolder, 'app/SingletonLock'))).split('-').at(-1));
      process.kill(main, 'SIGSTOP');
      const second = spawn(electronPath as string, [...electronArguments(), link], {
        env: { ...desktop.env, OUTRIGGER_COMPANION_HOME: dataFolder },
        stdio: 'ignore',
      });
      // A launch that takes too long kills the app.
      await until(
        async () => (await isReachedAt()) === 2 || !isThere(main),
        () => 'the second start did not come',
      );
      if (isThere(main)) process.kill(main, 'SIGCONT');
      else second.kill('SIGKILL');
      await using other = await starting;
      await expect.poll(() => second.exitCode ?? second.signalCode).not.toBeNull();
      if ((await other.electron.evaluate(() => process.pid)) !== main) return false;
      expect(second.exitCode).toBe(0);
      await expect.poll(async () => (await other.appState()).pairingLink?.hub).toBe('https://a.example');
      return true;
    };
    await until(secondStartTakesEffect, () => 'the app with the second start was never the one that Playwright drives');
  });

  test('--pause without a running app writes the settings for the next start', async () => {
    const home = await mkdtemp(join(tmpdir(), 'outrigger-app-'));
    const dataFolder = join(home, 'data');
    try {
      await using first = await startApp(desktop, { dataFolder });
      await first.kill();
      expect(await first.again('--pause')).toBe(0);
      const settings = JSON.parse(await readFile(join(dataFolder, 'settings.json'), 'utf8')) as LocalSettings;
      expect(settings.paused).toBe(true);
    } finally {
      await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
  });

  test('a pairing link shows its hub, and no request is sent before the owner agrees', async () => {
    let requests = 0;
    const hostile = createServer((_request, response) => {
      requests += 1;
      response.end('{}');
    });
    hostile.on('connection', () => {
      requests += 1;
    });
    await new Promise<void>((done) => hostile.listen(0, '127.0.0.1', done));
    const { port } = hostile.address() as AddressInfo;
    const link = (hub: string) => `outrigger://pair?hub=${encodeURIComponent(hub)}&code=ABCD-EFGH`;
    try {
      await minimise();
      expect(await app.again(link(`http://localhost:${port}`))).toBe(0);
      await expect
        .poll(async () => (await app.appState()).pairingLink)
        .toEqual({
          code: 'ABCD-EFGH',
          hub: `http://localhost:${port}`,
          looksLike: null,
          isEncrypted: false,
          isLocal: true,
          problem: null,
        });
      await expect.poll(() => app.isVisible()).toBe(true);

      expect(await app.again(link('https://аpple.example/<img src=x onerror=alert(1)>'))).toBe(0);
      await expect
        .poll(async () => (await app.appState()).pairingLink)
        .toMatchObject({
          hub: 'https://xn--pple-43d.example/%3Cimg%20src=x%20onerror=alert(1)%3E',
          looksLike: 'аpple.example',
        });

      expect(await app.again(link(`https://bank.example@127.0.0.1:${port}/`))).toBe(0);
      await expect.poll(async () => (await app.appState()).pairingLink?.problem).toContain('user name');
      // The link is dismissed. None of the links had an effect.
      await app.call('app.dismissPairingLink');
      expect((await app.appState()).pairingLink).toBeNull();
      expect(await app.companion()).toMatchObject({ paired: null });
      expect(requests).toBe(0);

      // The companion connects only after the owner pairs.
      await app.call('pair', { code: 'ABCD-EFGH', hub: `http://localhost:${port}`, secretInFile: true });
      expect(requests).toBeGreaterThan(0);
    } finally {
      hostile.closeAllConnections();
      hostile.close();
    }
  });

  test('a pairing link that is too long is refused and does not affect the running app', async () => {
    for (const length of [5_000, 20_000, 60_000])
      expect(await app.again(`outrigger://pair?hub=https://a.example/${'x'.repeat(length)}&code=ABCD-EFGH`)).toBe(2);
    expect((await app.companion())?.pid).toEqual(expect.any(Number));
  });

  test('closing the window without a tray keeps the window open', async () => {
    expect((await app.appState()).hasTray).toBe(false);
    const { isDestroyed, isVisible } = await app.electron.evaluate(({ BrowserWindow }) => {
      const [own] = BrowserWindow.getAllWindows();
      own?.show();
      own?.close();
      return { isDestroyed: own?.isDestroyed(), isVisible: own?.isVisible() };
    });
    expect({ isDestroyed, isVisible }).toEqual({ isDestroyed: false, isVisible: true });
  });

  test.skipIf(!hasWindowManager)('a prompt restores the minimized window without a tray (needs openbox)', async () => {
    await using managed = await startDesktop();
    await managed.startWindowManager();
    const dataFolder = join(managed.home, 'data');
    await using companion = await startOwnerCompanion(dataFolder);
    await using asking = await startApp(managed, { dataFolder });
    await expect.poll(() => asking.isVisible()).toBe(true);
    await asking.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
    await expect.poll(() => asking.isVisible()).toBe(false);
    companion.update((state) => {
      state.prompts = [makePrompt()];
    });
    await expect.poll(() => asking.isVisible()).toBe(true);
  });

  test('the app reports the pause shortcut if the desktop supports shortcuts', async () => {
    expect((await app.appState()).pauseShortcut).toBe('Control+Alt+Shift+P');
  });

  test('quitting the app ends its companion', async () => {
    await using other = await startApp(desktop);
    const { pid } = (await other.companion()) as { pid: number };
    await other.electron.evaluate(({ app: its }) => its.quit()).catch(() => undefined);
    expect(await other.ended).toBe(0);
    // The process ID stays in use for a moment after the end.
    await expect.poll(() => isThere(pid)).toBe(false);
    expect(await other.log()).toContain('runtime stopped');
  });

  test('the app restarts after an uncaught exception with the same data folder', async () => {
    await using other = await startApp(desktop);
    const companion = (await other.companion())?.pid;
    await other.electron
      .evaluate(() => {
        setTimeout(() => {
          throw new Error('planted, with a secret '.concat('x'.repeat(50)));
        }, 10);
      })
      .catch(() => undefined);
    expect(await other.ended).toBe(1);
    const isBack = async () => {
      const state = await askCompanion(new DataFolder(other.dataFolder), 'state', {}).catch(() => null);
      return state !== null && state.pid !== companion;
    };
    try {
      await expect.poll(isBack).toBe(true);
      const log = await other.log();
      expect(log).toMatch(
        /an uncaught exception, the app restarts in 1000 ms: Error: planted, with a secret \[left out\]/,
      );
      expect(log.match(/the app starts: /g)?.length).toBeGreaterThanOrEqual(2);
    } finally {
      killProcesses(processesWith(other.dataFolder));
    }
  });
});
