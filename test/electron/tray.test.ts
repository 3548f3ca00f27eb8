import { randomUUID } from 'node:crypto';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { makePrompt } from '../fixtures/companion-stand-in.ts';
import { electronPath, needsElectron } from '../fixtures/electron-runtime.ts';
import { until } from '../fixtures/until.ts';
import { startApp } from './app.ts';
import type { TestApp } from './app.ts';
import { hasDesktop, startDesktop } from './desktop.ts';
import type { TestDesktop } from './desktop.ts';
import { startOwnerCompanion } from './owner-companion.ts';
import type { OwnerCompanion } from './owner-companion.ts';
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

  test('the tray menu contains the actions of the companion', async () => {
    expect((await app.appState()).hasTray).toBe(true);
    await expect.poll(labels).toEqual(['Pause', 'Open', '', 'Quit']);
    await expect.poll(() => tray.toolTip()).toContain('Outrigger Companion');
  });

  test('the tray menu pauses and resumes the companion', async () => {
    await tray.click('Pause');
    await expect.poll(async () => (await app.companion())?.settings.paused).toBe(true);
    await expect.poll(labels).toContain('Resume');
    await expect.poll(() => tray.toolTip()).toContain('Paused: nothing runs');
    await tray.click('Resume');
    await expect.poll(async () => (await app.companion())?.settings.paused).toBe(false);
    await expect.poll(labels).toContain('Pause');
  });

  test('closing the window hides it, and the tray shows it again', async () => {
    await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
    await expect.poll(() => app.isVisible()).toBe(false);
    await tray.activate();
    await expect.poll(() => app.isVisible()).toBe(true);
    await app.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
    await expect.poll(() => app.isVisible()).toBe(false);
    await tray.click('Open');
    await expect.poll(() => app.isVisible()).toBe(true);
  });

  test('a start with --hidden shows the tray and no window', async () => {
    const items = tray.count();
    await using hidden = await startApp(desktop, { args: ['--hidden'] });
    await expect.poll(() => tray.count()).toBeGreaterThan(items);
    expect(await hidden.isVisible()).toBe(false);
  });

  describe('with a companion that prompts its owner', () => {
    let home: string;
    let companion: OwnerCompanion;
    let asking: TestApp;
    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), 'outrigger-asking-'));
      companion = await startOwnerCompanion(join(home, 'data'));
      const items = tray.count();
      asking = await startApp(desktop, { args: ['--hidden'], dataFolder: join(home, 'data') });
      await until(
        () => tray.count() > items,
        () => 'nothing came into the tray',
      );
    });
    afterAll(async () => {
      await asking?.[Symbol.asyncDispose]();
      await companion?.[Symbol.asyncDispose]();
      await rm(home, { recursive: true, force: true, maxRetries: 10, retryDelay: 100 });
    });
    const receivedProblems = () =>
      asking.page.evaluate(
        () => (globalThis as unknown as { receivedProblems: string[] | undefined }).receivedProblems?.splice(0) ?? null,
      );

    test('a hidden window receives no state until it is shown, and then the latest state', async () => {
      await asking.page.evaluate(() => {
        const texts: string[] = [];
        Object.assign(globalThis, { receivedProblems: texts });
        (
          globalThis as unknown as {
            companion: { onEvent(listener: (event: { event: string; state: { problem: string } }) => void): void };
          }
        ).companion.onEvent(({ event, state }) => event === 'state' && texts.push(state.problem));
      });
      for (const problem of ['first', 'second'])
        companion.update((state) => {
          state.problem = problem;
        });
      await expect.poll(async () => (await asking.companion())?.problem).toBe('second');
      companion.update((state) => {
        state.problem = null;
        state.connection.isUp = false;
      });
      await expect.poll(async () => (await asking.companion())?.connection.isUp).toBe(false);
      expect(await receivedProblems()).toEqual([]);
      await tray.click('Open');
      await expect.poll(() => asking.isVisible()).toBe(true);
      await expect.poll(receivedProblems).toEqual([null]);
      companion.update((state) => {
        state.problem = 'seen';
        state.connection.isUp = true;
      });
      await expect.poll(receivedProblems).toEqual(['seen']);
    });

    test('Pause in an open tray menu still works after the state of the companion changed', async () => {
      const [pause] = await tray.menu();
      const picture = await tray.picture();
      companion.update((state) => {
        state.problem = null;
        state.running = [{ id: randomUUID(), type: 'node.ping', summary: '', startedAt: new Date().toISOString() }];
      });
      await expect.poll(async () => (await asking.companion())?.running.length).toBe(1);
      await expect.poll(() => tray.picture()).not.toBe(picture);
      expect(pause?.label).toBe('Pause');
      await tray.clickItem(pause!);
      await expect
        .poll(() => readFile(join(home, 'data/settings.json'), 'utf8').catch(() => ''))
        .toContain('"paused": true');
      companion.update((state) => {
        state.running = [];
        state.settings.paused = false;
      });
    });

    test('each new prompt shows the window without focus and changes the tray icon', async () => {
      const takesIn = async () => {
        await asking.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
        await expect.poll(() => asking.isVisible()).toBe(false);
      };
      await takesIn();
      await asking.electron.evaluate(({ BrowserWindow }) => {
        const [own] = BrowserWindow.getAllWindows();
        if (own === undefined) return;
        const calls: string[] = [];
        Object.assign(globalThis, { calls });
        for (const name of ['show', 'focus', 'showInactive', 'flashFrame'] as const) {
          const before = own[name].bind(own) as (on: boolean) => void;
          own[name] = (on?: boolean) => {
            calls.push(name);
            before(on as boolean);
          };
        }
      });
      const picture = await tray.picture();
      companion.update((state) => {
        state.prompts = [makePrompt()];
      });
      await expect.poll(() => asking.isVisible()).toBe(true);
      await expect.poll(() => tray.picture()).not.toBe(picture);
      await expect
        .poll(() => asking.electron.evaluate(() => (globalThis as unknown as { calls: string[] }).calls))
        .toEqual(['showInactive', 'flashFrame']);
      // The same prompt does not show the window again, but a new prompt does.
      await takesIn();
      companion.update((state) => {
        state.running = [];
      });
      companion.update((state) => {
        state.prompts = [...state.prompts, makePrompt()];
      });
      await expect.poll(() => asking.isVisible()).toBe(true);
    });

    test('the allow button is disabled for a moment after the window is shown', async () => {
      const allow = asking.page.getByRole('button', { name: 'Allow once' });
      await expect.poll(() => allow.getAttribute('aria-disabled')).toBe('false');
      await asking.electron.evaluate(({ BrowserWindow }) => BrowserWindow.getAllWindows()[0]?.close());
      await expect.poll(() => asking.isVisible()).toBe(false);
      await allow.evaluate((button) => {
        const states: (string | null)[] = [];
        Object.assign(globalThis, { states });
        new MutationObserver(() => states.push(button.getAttribute('aria-disabled'))).observe(button, {
          attributeFilter: ['aria-disabled'],
        });
      });
      await tray.click('Open');
      // The window is shown before it gets the focus, which can disable the button once more.
      await expect
        .poll(() => asking.page.evaluate(() => (globalThis as unknown as { states: string[] }).states.slice(0, 2)))
        .toEqual(['true', 'false']);
    });
  });

  test('the tray menu quits the app', async () => {
    const items = tray.count();
    await using other = await startApp(desktop);
    await expect.poll(() => tray.count()).toBeGreaterThan(items);
    await tray.click('Quit');
    expect(await other.ended).toBe(0);
  });
});
