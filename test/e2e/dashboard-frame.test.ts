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

  test.each([
    ['with a filter', '/app/runs?status=failed', 'Runs'],
    ['with special characters', '/app/runs?q=a*b%20(c)', 'Runs'],
    ['with a long cursor', `/app/nodes?cursor=${'x'.repeat(2_000)}`, 'Nodes'],
  ])('a link %s opens its page after the sign-in', async (_which, path, title) => {
    await using tab = await open(path, { session: null });
    const { page } = tab;
    await page.getByLabel('Email').fill(ann.email);
    await page.getByLabel('Password', { exact: true }).fill(ann.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    const { pathname, searchParams } = new URL(page.url());
    const wanted = new URL(path, hub.url);
    expect([pathname, [...searchParams].flat()[1]]).toEqual([wanted.pathname, [...wanted.searchParams].flat()[1]]);
  });

  test('pages of objects have one heading while they load, when they fail, and when they do not exist', async () => {
    await using tab = await open('/app/no-such-page');
    const { page } = tab;
    const headings = () => page.locator('main').getByRole('heading', { level: 1 }).allInnerTexts();
    await expect.poll(headings).toEqual(['This page does not exist']);
    const missing = '01890000-0000-7000-8000-000000000000';
    const main = page.getByRole('main');
    for (const [path, title, list] of [
      ['runs', 'There is no run with this id', 'Runs'],
      ['agents', 'There is no AI agent with this id', 'AI agents'],
      ['sequences', 'There is no sequence with this id', 'Sequences'],
      ['sessions', 'There is no session with this id', 'Sessions'],
      ['schedules', 'There is no schedule with this id', 'Schedules'],
      ['workflows', 'There is no workflow with this id', 'Workflows'],
      ['approvals', 'There is no approval with this id', 'Approvals'],
      ['nodes', 'There is no node with this id', 'Nodes'],
      ['packs', 'There is no pack with this id', 'Packs'],
      ['settings', 'The settings have no part with this name', 'Settings'],
    ] as const)
      for (const id of [missing, 'not-an-id']) {
        await page.goto(`${hub.url}/app/${path}/${id}`);
        await expect.poll(headings, { message: `${path}/${id}` }).toEqual([title]);
        const link = main.getByRole('link', { name: `Go to ${list}`, exact: true });
        expect(await link.getAttribute('href')).toBe(`/app/${path}`);
        expect(await main.getByRole('button').count(), path).toBe(0);
        expect(await main.getByRole('alert').count(), path).toBe(0);
        if (path === 'runs' && id === missing) expect(await accessibilityViolations(page)).toEqual([]);
      }
    for (const [path, title] of [
      ['workflows', 'There is no workflow with this id'],
      ['sequences', 'There is no sequence with this id'],
      ['nodes', 'There is no node with this id'],
    ] as const) {
      let reads = 0;
      await page.route(`**/v1/automations/*/${missing}`, (route) => {
        reads += 1;
        return reads === 1 ? route.continue() : undefined;
      });
      await page.goto(`${hub.url}/app/${path}/${missing}`);
      await expect.poll(headings).toEqual([title]);
      // As for somebody who comes back to the tab.
      await page.evaluate(`dispatchEvent(new Event('visibilitychange'))`);
      await expect.poll(() => reads).toBeGreaterThan(1);
      expect(await headings()).toEqual([title]);
      await page.unrouteAll();
    }
    await page.route('**/v1/automations/nodes/*', () => undefined);
    await page.goto(`${hub.url}/app/nodes/${missing}`);
    await expect.poll(headings).toEqual(['Node']);
    await page.unrouteAll();
    tab.expectComplaint(/^console: MissingScript/);
    await page.route(/agents-page.*\.js$/, (route) => route.abort());
    await page.goto(`${hub.url}/app/agents`);
    await expect.poll(headings).toEqual(['Outrigger was updated']);
    expect(await page.title()).toBe('Outrigger was updated · Harbour Café');
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  test('a browser that blocks cookies and storage says so instead of leading to the sign-in', async () => {
    await using tab = await open('/sign-in', { session: null });
    const { page } = tab;
    await page.addInitScript(`
      for (const name of ['localStorage', 'sessionStorage'])
        Object.defineProperty(window, name, { get() { throw new DOMException('blocked', 'SecurityError'); } });`);
    await page.goto(`${hub.url}/app/runs`);
    expect(await page.getByRole('alert').innerText()).toContain('This browser blocks cookies.');
  });

  test('a browser with full storage shows the page in the language of the account', async () => {
    const { jwt, session: user } = await hub.workspace();
    await user.call('updateMe', { body: { preferences: { language: 'de' } } });
    await using tab = await open('/sign-in', { session: jwt });
    const { page } = tab;
    await page.addInitScript(
      `Storage.prototype.setItem = () => { throw new DOMException('full', 'QuotaExceededError'); };`,
    );
    await page.goto(`${hub.url}/app`);
    await page.getByRole('button', { name: 'Ausblenden' }).click();
    await expect.poll(() => page.getByRole('heading', { name: 'Ihre ersten Minuten' }).count()).toBe(0);
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
  });

  test('? lists the keys of the pages, and is a character in a field', async () => {
    await using tab = await open('/app/runs');
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    await page.keyboard.press('?');
    const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await dialog.getByText('Next and previous row').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'hidden' });
    await page.keyboard.press('Control+k');
    const search = page.getByRole('combobox', { name: 'Search' });
    await search.pressSequentially('who?');
    expect(await search.inputValue()).toBe('who?');
    expect(await dialog.count()).toBe(0);
  });

  test('offline, a banner says so, and changes that were missed appear when the browser is online again', async () => {
    const api = hub.client(session);
    const { id } = await api.call('createAutomationWorkflow', {
      body: { name: 'while offline', stepsJson: [{ type: 'log', message: 'x' }] },
    });
    await using tab = await open('/app/runs');
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    await page.context().setOffline(true);
    const banner = page.getByText('No live updates at the moment.');
    await banner.waitFor();
    await api.call('runAutomationWorkflow', { params: { id } });
    await page.context().setOffline(false);
    await banner.waitFor({ state: 'hidden' });
    const row = page.getByRole('link', { name: 'while offline' }).first();
    await expect.poll(() => row.isVisible(), { timeout: 60_000 }).toBe(true);
  });

  test('a page whose script cannot be loaded while the hub is silent says so, and opens when the hub responds', async () => {
    await using tab = await open('/app/runs');
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
    await page.context().setOffline(true);
    tab.expectComplaint(/A script of the page is missing/);
    await page.getByRole('link', { name: 'Workflows' }).first().click();
    await page.getByRole('heading', { level: 1, name: 'The hub does not respond' }).waitFor();
    expect(await page.getByText('Outrigger was updated').count()).toBe(0);
    await page.context().setOffline(false);
    await page.getByRole('heading', { level: 1, name: 'Workflows' }).waitFor();
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

  test('another language changes the texts without a reload, and typed text stays', async () => {
    const user = await hub.workspace();
    await using editor = await open('/app/workflows/new', { session: user.jwt });
    const draft = '{ "name": "Half a workflow"';
    await editor.page.getByLabel('Workflow as JSON').fill(draft);
    await editor.page.getByRole('complementary').getByLabel('Language').selectOption('de');
    await editor.page.getByRole('heading', { level: 1, name: 'Neuer Workflow' }).waitFor();
    expect(await editor.page.getByLabel('Workflow als JSON').inputValue()).toBe(draft);
    await expect.poll(() => editor.page.title()).toContain('Neuer Workflow');
    await editor.page.getByRole('complementary').getByLabel('Sprache').selectOption('en');
    await editor.page.getByRole('heading', { level: 1, name: 'New workflow' }).waitFor();
    expect(await editor.page.getByLabel('Workflow as JSON').inputValue()).toBe(draft);

    await using settings = await open('/app/settings/profile', { session: user.jwt });
    const { page } = settings;
    const name = page.locator('main input[autocomplete="name"]');
    await name.fill('Ada');
    await page.getByRole('main').getByLabel('Language').selectOption('ar');
    const written = () => page.evaluate('[document.documentElement.lang, document.documentElement.dir]');
    await expect.poll(written).toEqual(['ar', 'rtl']);
    expect(await name.inputValue()).toBe('Ada');
    await name.fill('');
    // A page that was not open before has the new language.
    await page.locator('nav a[href="/app/runs"]').click();
    await page.getByRole('heading', { level: 1, name: 'عمليات التشغيل' }).waitFor();
    await page.reload();
    await page.getByRole('heading', { level: 1, name: 'عمليات التشغيل' }).waitFor();
  });

  test('another language whose texts cannot be loaded reloads the page, and typed text stays', async () => {
    const user = await hub.workspace();
    await using tab = await open('/app/workflows/new', { session: user.jwt });
    const { page } = tab;
    const draft = '{ "name": "Half a workflow"';
    await page.getByLabel('Workflow as JSON').fill(draft);
    // Unlike a missing file, a script that throws does not also complain in the console.
    const broken = { contentType: 'text/javascript', body: 'throw new Error()' };
    await page.route('**/assets/dashboard-*.js', (route) => route.fulfill(broken), { times: 1 });
    const loaded = page.waitForEvent('load');
    await page.getByRole('complementary').getByLabel('Language').selectOption('de');
    await loaded;
    await page.getByRole('heading', { level: 1, name: 'Neuer Workflow' }).waitFor();
    await expect.poll(() => page.getByLabel('Workflow als JSON').inputValue()).toBe(draft);
  });
});
