import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';

const ann = { email: 'ann@harbour.example', password: 'correct horse battery' };

describe.skipIf(!canOpenDashboard)('the frame of the dashboard (needs Chromium)', () => {
  let hub: TestHub;
  let browser: Browser;
  let session: string;
  beforeAll(async () => {
    hub = await startHub();
    ({ token: session } = await hub.client().call('signUp', { body: { ...ann, workspaceName: 'Harbour Café' } }));
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
  });
  const open = (path: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
    openDashboard(browser, path, { hubUrl: hub.url, session, ...options });

  test('a link to a page of the dashboard opens that page after the sign-in, with its filters', async () => {
    await using tab = await open('/app/runs?status=failed', { session: null });
    const { page } = tab;
    await page.getByLabel('Email').fill(ann.email);
    await page.getByLabel('Password', { exact: true }).fill(ann.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    expect(new URL(page.url()).pathname + new URL(page.url()).search).toBe('/app/runs?status=failed');
    expect(tab.complaints).toEqual([]);
  });

  test('the page of the hub leads signed-in users to the dashboard', async () => {
    await using tab = await open('/');
    await tab.page.getByRole('navigation', { name: 'Main menu' }).waitFor();
    expect(new URL(tab.page.url()).pathname).toBe('/app');
  });

  test.each([
    'https://evil.example/',
    '//evil.example',
    '/app//evil.example',
    '/app/../x',
    '/app\\evil',
    'javascript:1',
  ])('a sign-in never redirects to %s', async (to) => {
    const response = await fetch(`${hub.url}/sign-in?to=${encodeURIComponent(to)}`);
    expect(await response.text()).toContain('<input type="hidden" name="to" value="/">');
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 320],
    ['dark', 320],
  ] as const)('the frame is accessible with the %s theme at %i pixels', async (colorScheme, width) => {
    await using tab = await open('/app/settings', { colorScheme, viewport: { width, height: 700 } });
    const { page } = tab;
    await page.getByRole('heading', { level: 1 }).waitFor();
    if (width < 500) await page.getByRole('button', { name: 'Open menu' }).click();
    await page.getByRole('navigation', { name: 'Main menu' }).waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(tab.complaints).toEqual([]);
  });

  test('a session that ends opens a sign-in dialog over the page, and nothing typed is lost', async () => {
    const { token } = await hub.client().call('logIn', { body: ann });
    await using tab = await open('/app', { session: token });
    const { page } = tab;
    await page.getByRole('navigation', { name: 'Main menu' }).waitFor();
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox', { name: 'Search' }).fill('half a name');
    await hub.client(token).call('logOut');
    // The stream of events reports the end of the session.
    const dialog = page.getByRole('dialog', { name: 'Your session ended' });
    await dialog.getByLabel('Password', { exact: true }).fill('wrong');
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.getByText('Email or password is wrong.').waitFor();
    await dialog.getByLabel('Password', { exact: true }).fill(ann.password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await dialog.waitFor({ state: 'hidden' });
    expect(await page.getByRole('combobox', { name: 'Search' }).inputValue()).toBe('half a name');
  });
});
