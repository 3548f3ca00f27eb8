import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { CompanionStandIn } from '../../test/fixtures/companion-stand-in.ts';
import { accessibilityViolations, startWindowHost } from '../../test/fixtures/companion-window.ts';
import type { WindowHost } from '../../test/fixtures/companion-window.ts';
import { findPageBrowser } from '../../test/fixtures/page-browser.ts';

const browser = findPageBrowser();

describe.skipIf(browser === null)('the window of a broken companion (needs Chromium)', () => {
  let host: WindowHost;
  let companion: CompanionStandIn;
  beforeAll(async () => {
    host = await startWindowHost(browser?.path as string);
  });
  afterAll(() => host[Symbol.asyncDispose]());
  beforeEach(() => {
    companion = new CompanionStandIn();
  });

  test('names the broken file with its path, and sets it aside only after a confirmation', async () => {
    const path = '/home/ann/.outrigger-companion/settings.json';
    companion.state.problem = `${path} is broken; mend it.`;
    companion.state.broken = [{ file: 'settings', path, detail: 'It is broken at paused, which must be a boolean.' }];
    await using opened = await host.open(companion);
    const { page } = opened;
    const notice = page.getByRole('alert').filter({ hasText: "Your permissions can't be read" });
    await notice.waitFor();
    expect(await notice.textContent()).toContain(`${path}It is broken at paused`);
    await notice.getByRole('button').click();
    const dialog = page.getByRole('alertdialog', { name: 'Start over with everything off?' });
    await dialog.waitFor();
    await expect.poll(() => accessibilityViolations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    expect(companion.of('setAside')).toEqual([]);
    await notice.getByRole('button').click();
    await dialog.getByRole('button', { name: 'Start over' }).click();
    await notice.waitFor({ state: 'detached' });
    expect(companion.of('setAside')).toEqual([{ file: 'settings' }]);
  });

  test('pairs again when the current pairing does not work, after the owner agrees to forget that hub', async () => {
    companion.state.problem = 'The hub does not know this machine any more.';
    await using opened = await host.open(companion);
    const { page } = opened;
    await page.getByRole('button', { name: 'Pair again…' }).click();
    await page.getByLabel('Address of the hub').fill('https://other.example.org');
    await page.getByLabel('Pairing code').fill('ABCD-EFGH');
    const pair = page.getByRole('button', { name: 'Pair', exact: true });
    expect(await pair.isDisabled()).toBe(true);
    await page.getByText('Forget that hub and connect to this one').click();
    await pair.click();
    await expect.poll(() => companion.of('pair')).toMatchObject([{ hub: 'https://other.example.org', force: true }]);
  });
});
