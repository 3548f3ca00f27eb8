import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CompanionStandIn } from '../../test/fixtures/companion-stand-in.ts';
import { barriers, startWindowHost } from '../../test/fixtures/companion-window.ts';
import type { WindowHost } from '../../test/fixtures/companion-window.ts';
import { findBrowser } from '../runtime/commands/browser/find-browser.ts';

const browser = findBrowser(undefined);

describe.skipIf(browser === null)('the window confirms (needs Chromium)', () => {
  let host: WindowHost;
  let companion: CompanionStandIn;
  beforeAll(async () => {
    host = await startWindowHost(browser?.path as string);
  });
  afterAll(() => host[Symbol.asyncDispose]());
  beforeEach(() => {
    companion = new CompanionStandIn();
  });

  test('that programs run without asking, in the words of the command line, and turns asking on at once', async () => {
    companion.state.settings.system.ask = true;
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await page.getByRole('tab', { name: 'Permissions' }).click();
    const ask = page.getByRole('switch', { name: 'Ask me before each program' });
    const dialog = page.getByRole('alertdialog', { name: 'Run programs without asking you?' });
    await ask.click();
    await dialog.getByText('Whoever may approve at the hub has a shell on this machine.').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Keep asking me' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(companion.of('change')).toEqual([]);
    expect(await ask.getAttribute('aria-checked')).toBe('true');
    await ask.click();
    await page.getByRole('button', { name: 'Run without asking' }).click();
    await expect.poll(() => ask.getAttribute('aria-checked')).toBe('false');
    await ask.click();
    await expect.poll(() => ask.getAttribute('aria-checked')).toBe('true');
    expect(companion.of('change')).toEqual([
      { change: 'ask', ask: false },
      { change: 'ask', ask: true },
    ]);
  });

  test('that a home folder is shared, and shares nothing when its owner cancels', async () => {
    companion.chosenFolder = '/home/ann';
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await page.getByRole('tab', { name: 'Permissions' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Share all of this?' });
    await page.getByRole('button', { name: 'Share a folder…' }).click();
    await dialog.getByText('/home/ann holds all of your files').waitFor();
    expect(await barriers(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(companion.of('change')).toEqual([]);
    await page.getByRole('button', { name: 'Share a folder…' }).click();
    await page.getByRole('button', { name: 'Share all of it' }).click();
    await page.getByRole('button', { name: 'Stop sharing /home/ann' }).waitFor();
    expect(companion.of('change')).toEqual([{ change: 'share', path: '/home/ann', isWide: true }]);
  });
});
