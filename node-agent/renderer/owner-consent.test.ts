import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CompanionStandIn } from '../../test/fixtures/companion-stand-in.ts';
import { accessibilityViolations, startWindowHost } from '../../test/fixtures/companion-window.ts';
import type { WindowHost } from '../../test/fixtures/companion-window.ts';
import { findPageBrowser } from '../../test/fixtures/page-browser.ts';

const browser = findPageBrowser();

describe.skipIf(browser === null)('consents of the owner in the window (needs Chromium)', () => {
  let host: WindowHost;
  let companion: CompanionStandIn;
  beforeAll(async () => {
    host = await startWindowHost(browser?.path as string);
  });
  afterAll(() => host[Symbol.asyncDispose]());
  beforeEach(() => {
    companion = new CompanionStandIn();
  });

  test('switching asking off needs a confirmation with the warning of the command line, and switching it on does not', async () => {
    companion.state.settings.system.ask = true;
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await page.getByRole('tab', { name: 'Permissions' }).click();
    const ask = page.getByRole('switch', { name: 'Ask me before each program' });
    const dialog = page.getByRole('alertdialog', { name: 'Run programs without asking you?' });
    await ask.click();
    await dialog.getByText('Everyone who can approve at the hub can run any program on this machine.').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
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

  test('allowing a variable that can load code needs a confirmation, and other variables do not', async () => {
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await page.getByRole('tab', { name: 'Permissions' }).click();
    const names = page.getByLabel('Variables that workflows may set').first();
    const dialog = page.getByRole('alertdialog', { name: 'Let workflows set this variable?' });
    await names.fill('API_TOKEN');
    await names.press('Enter');
    await page.getByRole('button', { name: 'Remove API_TOKEN' }).waitFor();
    await names.fill('LD_PRELOAD');
    await names.press('Enter');
    await dialog.getByText('LD_PRELOAD can make an approved program run other code').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    await names.fill('LD_PRELOAD');
    await names.press('Enter');
    await dialog.getByRole('button', { name: 'Allow the variable' }).click();
    await page.getByRole('button', { name: 'Remove API_TOKEN' }).click();
    await expect
      .poll(() => companion.of('change'))
      .toEqual([
        { change: 'variables', mode: 'add', names: ['API_TOKEN'] },
        { change: 'variables', mode: 'add', names: ['LD_PRELOAD'], isRisky: true },
        { change: 'variables', mode: 'remove', names: ['API_TOKEN'] },
      ]);
  });

  test('sharing a home folder needs a confirmation, and cancelling it shares nothing', async () => {
    companion.chosenFolder = '/home/ann';
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await page.getByRole('tab', { name: 'Permissions' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Share all of this?' });
    await page.getByRole('button', { name: 'Share a folder…' }).click();
    await dialog.getByText('/home/ann contains all of your files').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Cancel' }).click();
    await dialog.waitFor({ state: 'detached' });
    expect(companion.of('change')).toEqual([]);
    await page.getByRole('button', { name: 'Share a folder…' }).click();
    await page.getByRole('button', { name: 'Share all of it' }).click();
    await page.getByRole('button', { name: 'Stop sharing /home/ann' }).waitFor();
    expect(companion.of('change')).toEqual([{ change: 'share', path: '/home/ann', isWide: true }]);
  });

  test('edited settings show their differences and can be accepted', async () => {
    companion.state.edited = {
      needsConsent: true,
      detail: 'Another program changed settings.json.',
      hash: 'a'.repeat(64),
      pairing: false,
      changes: ['capture.camera: false → true'],
    };
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await page.getByText('capture.camera: false → true').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Accept these changes' }).click();
    await page.getByText('Your settings do not match the log').waitFor({ state: 'detached' });
    expect(companion.of('change')).toEqual([{ change: 'accept_settings', seen: 'a'.repeat(64) }]);
  });

  test('edited settings can be discarded', async () => {
    companion.state.edited = {
      needsConsent: true,
      detail: 'Another program changed settings.json.',
      hash: 'a'.repeat(64),
      pairing: false,
      changes: ['capture.camera: false → true'],
    };
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Discard' }).click();
    await page.getByText('Your settings do not match the log').waitFor({ state: 'detached' });
    expect(companion.of('change')).toEqual([{ change: 'discard_settings' }]);
  });

  test('an edited pairing can be accepted but not discarded', async () => {
    companion.state.edited = {
      needsConsent: true,
      detail: 'identity.json pairs this machine with another hub.',
      hash: 'a'.repeat(64),
      pairing: true,
      changes: ['pairing: not paired → https://hub.example (node 1)'],
    };
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await page.getByRole('button', { name: 'Accept these changes' }).waitFor();
    expect(await page.getByRole('button', { name: 'Discard' }).count()).toBe(0);
  });

  test('a changed log is set aside only after a confirmation', async () => {
    companion.state.audit = { problem: 'Entries 9 to 12 are missing.', unwritten: 0 };
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await page.getByText('Entries 9 to 12 are missing.').waitFor();
    await page.getByRole('button', { name: 'Start a new log…' }).click();
    expect(companion.of('setAuditAside')).toEqual([]);
    await page.getByRole('button', { name: 'Start a new log', exact: true }).click();
    await page.getByText('Entries 9 to 12 are missing.').waitFor({ state: 'detached' });
    expect(companion.of('setAuditAside')).toEqual([{}]);
  });

  test('the pause button works inside a dialog, and the permissions page says that everything is paused', async () => {
    await using opened = await host.open(companion, { reducedMotion: 'reduce' });
    const { page } = opened;
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.getByRole('button', { name: 'Unpair…' }).click();
    const dialog = page.getByRole('alertdialog', { name: 'Unpair this machine?' });
    await dialog.getByRole('button', { name: 'Pause', exact: true }).click();
    await expect.poll(() => companion.of('change')).toEqual([{ change: 'pause' }]);
    await dialog.getByRole('button', { name: 'Pause', exact: true }).waitFor({ state: 'detached' });
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('tab', { name: 'Permissions' }).click();
    await page.getByText('Nothing below can be used until you resume.').waitFor();
  });

  test('a dialog dims the whole page, also its scrollbar gutter', async () => {
    await using opened = await host.open(companion, { reducedMotion: 'reduce', colorScheme: 'light' });
    const { page } = opened;
    await page.getByRole('tab', { name: 'Settings' }).click();
    await page.setViewportSize({ width: 900, height: 400 });
    await page.evaluate('scrollTo(0, 200)');
    await page.getByRole('button', { name: 'Unpair…' }).click();
    await page.getByRole('alertdialog').waitFor();
    const picture = (await page.screenshot()).toString('base64');
    // Brightness from 0 to 255, in the scrollbar gutter and in the page.
    const [strip, side] = (await page.evaluate(`(async () => {
      const image = Object.assign(new Image(), { src: 'data:image/png;base64,${picture}' });
      await image.decode();
      const canvas = Object.assign(document.createElement('canvas'), { width: image.width, height: image.height });
      const context = canvas.getContext('2d');
      context.drawImage(image, 0, 0);
      return [image.width - 4, image.width - 30].map((x) => context.getImageData(x, 300, 1, 1).data[1]);
    })()`)) as [number, number];
    expect(Math.abs(strip - side)).toBeLessThan(8);
  });
});
