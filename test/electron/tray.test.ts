import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { startApp } from './app.ts';
import type { TestApp } from './app.ts';
import { hasDesktop, startDesktop } from './desktop.ts';
import type { TestDesktop } from './desktop.ts';
import { startTrayHost } from './tray-host.ts';
import type { TrayHost } from './tray-host.ts';

describe.skipIf(electronPath === null || !hasDesktop)(`the tray ${needsElectron}`, () => {
  let desktop: TestDesktop;
  let tray: TrayHost;
  let app: TestApp;
  beforeAll(async () => {
    desktop = await startDesktop();
    tray = await startTrayHost(desktop.env['DBUS_SESSION_BUS_ADDRESS'] as string);
    app = await startApp(desktop);
    await tray.item();
  });
  afterAll(async () => {
    await app?.[Symbol.asyncDispose]();
    tray?.[Symbol.dispose]();
    await desktop?.[Symbol.asyncDispose]();
  });
  const labels = async () => (await tray.menu()).map(({ label }) => label);

  test('says how the companion stands', async () => {
    expect((await app.appState()).hasTray).toBe(true);
    await expect.poll(labels).toEqual(['Not paired', '', 'Pause', 'Open', '', 'Quit']);
    expect(await tray.toolTip()).toContain('Not paired');
  });

  test('pauses and resumes', async () => {
    await tray.click('Pause');
    await expect.poll(async () => (await app.companion())?.settings.paused).toBe(true);
    await expect.poll(labels).toContain('Resume');
    expect(await labels()).toContain('Paused: nothing runs');
    await tray.click('Resume');
    await expect.poll(async () => (await app.companion())?.settings.paused).toBe(false);
    await expect.poll(labels).toContain('Pause');
  });

  test('takes the window in when it is closed, and gives it back', async () => {
    await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
    await expect.poll(() => app.isVisible()).toBe(false);
    await tray.activate();
    await expect.poll(() => app.isVisible()).toBe(true);
    await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
    await expect.poll(() => app.isVisible()).toBe(false);
    await tray.click('Open');
    await expect.poll(() => app.isVisible()).toBe(true);
  });

  test('is where the app begins with --hidden', async () => {
    const items = tray.count();
    await using hidden = await startApp(desktop, { args: ['--hidden'] });
    await expect.poll(() => tray.count()).toBeGreaterThan(items);
    expect(await hidden.isVisible()).toBe(false);
  });

  test('quits', async () => {
    await using other = await startApp(desktop);
    await expect.poll(async () => (await other.appState()).hasTray).toBe(true);
    await tray.click('Quit');
    expect(await other.ended).toBe(0);
  });
});
