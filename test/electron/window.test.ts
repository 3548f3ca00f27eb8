import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { startApp } from './app.ts';
import type { TestApp } from './app.ts';
import { hasDesktop, startDesktop } from './desktop.ts';
import type { TestDesktop } from './desktop.ts';

describe.skipIf(electronPath === null || !hasDesktop)(`the window of the app ${needsElectron}`, () => {
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

  test('the window opens and reaches the companion', async () => {
    expect(await app.isVisible()).toBe(true);
    expect(await app.companion()).toMatchObject({ paired: null, dataFolder: app.dataFolder });
    expect(await app.appState()).toMatchObject({ runtime: { state: 'running' }, hasTray: false, pairingLink: null });
  });

  test('the page runs in a sandbox without Node and has only the preload API', async () => {
    expect(
      await app.page.evaluate(() => ({
        require: typeof (globalThis as { require?: unknown }).require,
        process: typeof (globalThis as { process?: unknown }).process,
        bridge: Object.keys((globalThis as unknown as { companion: object }).companion).toSorted(),
      })),
    ).toEqual({ require: 'undefined', process: 'undefined', bridge: ['call', 'onEvent'] });
    expect(
      await app.electron.evaluate(({ BrowserWindow }) => {
        const contents = BrowserWindow.getAllWindows()[0]?.webContents as unknown as {
          getLastWebPreferences(): Record<string, unknown>;
        };
        const { sandbox, contextIsolation, nodeIntegration, webviewTag } = contents.getLastWebPreferences();
        return { sandbox, contextIsolation, nodeIntegration, webviewTag: webviewTag ?? false };
      }),
    ).toEqual({ sandbox: true, contextIsolation: true, nodeIntegration: false, webviewTag: false });
  });

  test('the content security policy blocks external content and requires Trusted Types', async () => {
    const { headers, address } = await app.page.evaluate(async () => {
      const answer = await fetch(location.href).catch((error: Error) => error);
      return { headers: answer instanceof Error ? 'refused' : 'read', address: location.href };
    });
    expect({ headers, address }).toEqual({ headers: 'refused', address: 'outrigger-app://window/' });
    await app.page.evaluate(() => {
      const seen: string[] = [];
      document.addEventListener('securitypolicyviolation', ({ effectiveDirective }) => seen.push(effectiveDirective));
      const attempt = (act: () => unknown) => {
        try {
          act();
        } catch (error) {
          seen.push((error as Error).name);
        }
      };
      attempt(() =>
        document.body.append(Object.assign(document.createElement('img'), { src: 'https://example.org/x.png' })),
      );
      attempt(() =>
        document.body.append(Object.assign(document.createElement('iframe'), { src: 'https://example.org/' })),
      );
      attempt(() => {
        const form = Object.assign(document.createElement('form'), { action: 'https://example.org/', method: 'post' });
        document.body.append(form);
        form.submit();
      });
      attempt(() => {
        document.createElement('div').innerHTML = '<b>x</b>';
      });
      attempt(() => setTimeout('document.title = 1' as unknown as () => void, 0));
      (globalThis as unknown as { seen: string[] }).seen = seen;
    });
    await expect
      .poll(() => app.page.evaluate(() => (globalThis as unknown as { seen: string[] }).seen))
      .toEqual(
        expect.arrayContaining(['TypeError', 'form-action', 'frame-src', 'img-src', 'require-trusted-types-for']),
      );
  });

  test('the page cannot navigate, open windows or get permissions', async () => {
    const outcome = await app.page.evaluate(async () => {
      const opened = window.open('https://example.org/');
      location.href = 'https://example.org/';
      location.href = 'file:///etc/passwd';
      const denied = (promise: Promise<unknown>) =>
        promise.then(
          () => 'allowed',
          (error: Error) => error.name,
        );
      return {
        opened: opened === null,
        notifications: await Notification.requestPermission(),
        media: await denied(navigator.mediaDevices.getUserMedia({ audio: true })),
        screen: await denied(navigator.mediaDevices.getDisplayMedia()),
        geolocation: (await navigator.permissions.query({ name: 'geolocation' })).state,
      };
    });
    expect(outcome).toMatchObject({ opened: true, notifications: 'denied', geolocation: 'denied' });
    expect(outcome.media).not.toBe('allowed');
    expect(outcome.screen).not.toBe('allowed');
    expect(app.page.url()).toBe('outrigger-app://window/');
    expect(app.electron.windows()).toHaveLength(1);
    await expect.poll(() => app.log()).toContain('navigation refused: https://example.org/');
  });

  test('only declared calls from the main frame of the window are accepted', async () => {
    expect(await app.call('app.nothing')).toMatchObject({ error: { code: 'not_found' } });
    expect(await app.call('app.copy', { text: 7 })).toMatchObject({ error: { code: 'invalid_input' } });
    expect(await app.call('change', { change: 'pause', more: true })).toMatchObject({
      error: { code: 'invalid_input' },
    });
    // A page in another window with the same preload, as an intruding page would have.
    const answer = await app.electron.evaluate(async ({ BrowserWindow, app: its }) => {
      const preload = `${its.getAppPath()}/node-agent/dist/preload.cjs`;
      const other = new BrowserWindow({ show: false, webPreferences: { preload, sandbox: true } });
      await other.loadURL('outrigger-app://window/');
      const answered: unknown = await other.webContents.executeJavaScript("companion.call('app.state', {})");
      other.destroy();
      return answered;
    });
    expect(answer).toMatchObject({ error: { code: 'forbidden' } });
  });

  test('the window lets its user set aside broken settings and a broken pairing', async () => {
    const home = await mkdtemp(join(tmpdir(), 'outrigger-broken-'));
    const dataFolder = join(home, 'data');
    await mkdir(dataFolder);
    for (const name of ['settings.json', 'identity.json']) await writeFile(join(dataFolder, name), '{');
    try {
      await using broken = await startApp(desktop, { dataFolder });
      const { page } = broken;
      for (const file of ['settings', 'identity']) {
        await page.getByRole('alert').getByRole('button', { name: 'Start over…' }).first().click();
        await page.getByRole('alertdialog').getByRole('button', { name: 'Start over' }).click();
        await expect.poll(async () => (await broken.companion())?.broken.map((one) => one.file)).not.toContain(file);
      }
      await expect.poll(() => page.getByRole('alert').count()).toBe(0);
      expect(await broken.companion()).toMatchObject({ problem: null, paired: null, broken: [] });
      expect(await broken.call('change', { change: 'allow', power: 'screen' })).toHaveProperty('result');
    } finally {
      await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    }
  });

  test('the window reloads its page after the page crashes', async () => {
    const window = await app.electron.browserWindow(app.page);
    const read = () =>
      window.evaluate(({ webContents }) => ({
        process: webContents.getOSProcessId(),
        isLoading: webContents.isLoading(),
        isCrashed: webContents.isCrashed(),
      }));
    const { process: before } = await read();
    process.kill(before, 'SIGKILL');
    await expect
      .poll(async () => {
        const { process: current, ...rest } = await read();
        return {
          ...rest,
          isAnother: current !== before,
          isLogged: (await app.log()).includes('the page of the window crashed and is reloaded'),
        };
      })
      .toEqual({ isLoading: false, isCrashed: false, isAnother: true, isLogged: true });
  });
});
