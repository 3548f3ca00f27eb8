import type { Browser, Page, Route } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { addNumberedLogLines } from '../fixtures/stage/automations.ts';

/** Hides or shows a page. All pages of this Chromium count as visible, in whatever order they are. */
const setHidden = (page: Page, isHidden: boolean) =>
  page.evaluate(`{
    Object.defineProperty(document, 'hidden', { configurable: true, get: () => ${isHidden} });
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => '${isHidden ? 'hidden' : 'visible'}' });
    document.dispatchEvent(new Event('visibilitychange'));
  }`);

const isStream = (url: URL) => url.pathname.endsWith('/events');
const isRunList = (url: URL) => url.pathname.endsWith('/automations/runs');

/** Holds the requests to an address until `release`. */
async function hold(page: Page, matches: (url: URL) => boolean) {
  const held: string[] = [];
  const gate = Promise.withResolvers<void>();
  await page.route(matches, async (route) => {
    held.push(route.request().url());
    await gate.promise;
    await route.continue();
  });
  return { held, release: gate.resolve };
}

describe.skipIf(!canOpenDashboard)('live updates of the dashboard (needs Chromium)', () => {
  let hub: TestHub;
  let workspace: TestWorkspace;
  let browser: Browser;
  const workflows = new Map<string, string>();
  beforeAll(async () => {
    hub = await startHub({ RATE_LIMIT_PER_MINUTE: '100000' });
    workspace = await hub.workspace('Harbour');
    browser = await startDashboardBrowser();
    const create = async (name: string, stepsJson: object[]) =>
      workflows.set(
        name,
        (await workspace.session.call('createAutomationWorkflow', { body: { name, stepsJson } as never })).id,
      );
    await create('greet', [{ type: 'log', message: 'Hello' }]);
    await create('pause', [{ type: 'log', message: 'late', delaySeconds: 3600 }]);
    await create('ask twice', [
      { type: 'approval', title: 'First question' },
      { type: 'approval', title: 'Second question' },
    ]);
    await create('log after approval', [
      { type: 'log', message: 'before' },
      { type: 'approval', title: 'Go on?' },
      { type: 'log', message: 'the last line' },
    ]);
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
  });
  const open = (path: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
    openDashboard(browser, path, { hubUrl: hub.url, session: workspace.jwt, ...options });
  const start = async (name: string) => {
    const params = { id: workflows.get(name) as string };
    return startedRun(await workspace.api.call('runAutomationWorkflow', { params, body: {} })).runId;
  };
  const row = (page: Page, id: string) => page.locator('tr').filter({ has: page.locator(`[data-run="${id}"]`) });

  test('a hidden tab has no stream, and continues after its last event when it is shown', async () => {
    await using tab = await open('/app/runs');
    const { page } = tab;
    const opened: (string | undefined)[] = [];
    const ended: string[] = [];
    page.on('request', (request) => {
      if (isStream(new URL(request.url()))) opened.push(request.headers()['last-event-id']);
    });
    page.on('requestfailed', (request) => {
      if (isStream(new URL(request.url()))) ended.push(request.url());
    });
    // The first response can contain the first run. The second one appears by the stream.
    for (let count = 0; count < 2; count += 1) await row(page, await start('greet')).waitFor();
    await setHidden(page, true);
    await expect.poll(() => ended.length).toBe(1);
    const before = opened.length;
    const missed = await start('greet');
    await settledRun(workspace.api, missed);
    expect(opened.length).toBe(before);
    await setHidden(page, false);
    await row(page, missed).waitFor();
    expect(opened.slice(before)).toEqual([expect.stringMatching(/./)]);
  });

  test('what happens between the first response of a list and the first event is shown', async () => {
    await using tab = await open('/app/settings');
    const { page } = tab;
    await page.getByRole('heading', { level: 1 }).waitFor();
    const streams = await hold(page, isStream);
    const reads: { response: Awaited<ReturnType<Route['fetch']>>; route: Route }[] = [];
    const keepFirst = async (route: Route) => {
      reads.push({ response: await route.fetch(), route });
    };
    await page.route(isRunList, keepFirst, { times: 1 });
    await page.goto(`${hub.url}/app/runs`);
    await expect.poll(() => reads.length).toBe(1);
    const missed = await start('greet');
    await settledRun(workspace.api, missed);
    // `ready` has arrived when what else the page shows is read again.
    const ready = page.waitForRequest((request) => request.url().includes('/approval-summaries'));
    streams.release();
    await ready;
    await reads[0]?.route.fulfill({ response: reads[0].response });
    await row(page, missed).waitFor();
  });

  test('after missing events, rows below the first page are read again, too', async () => {
    const old = await start('pause');
    for (let count = 0; count < 110; count += 1) await start('greet');
    await using tab = await open('/app/runs');
    const { page } = tab;
    await page.locator('[data-run]').first().waitFor();
    // The next page is loaded when its rows come near.
    await expect
      .poll(async () => {
        await page.evaluate('scrollTo(0, document.body.scrollHeight)');
        return Number(await page.locator('table').getAttribute('aria-rowcount'));
      })
      .toBeGreaterThan(110);
    await setHidden(page, true);
    await workspace.api.call('cancelAutomationRun', { params: { id: old } });
    await settledRun(workspace.api, old);
    // As after a time for which the hub does not keep events.
    await page.route(isStream, (route) => {
      const { 'last-event-id': _, ...headers } = route.request().headers();
      return route.continue({ headers });
    });
    await setHidden(page, false);
    await expect
      .poll(async () => {
        await page.evaluate('scrollTo(0, document.body.scrollHeight)');
        return row(page, old).getByText('Cancelled').count();
      })
      .toBe(1);
  });

  test('all lines of a log are there after a stream that sent nothing', async () => {
    const runId = await start('log after approval');
    await settledRun(workspace.api, runId);
    await using tab = await open('/app/settings');
    const { page } = tab;
    await page.getByRole('heading', { level: 1 }).waitFor();
    const streams = await hold(page, (url) => url.pathname.endsWith('/automations/logs/live'));
    await page.goto(`${hub.url}/app/runs/${runId}?view=logs`);
    const rows = page.getByRole('region', { name: 'Logs' });
    await rows.getByText('before', { exact: true }).waitFor();
    await expect.poll(() => streams.held.length).toBe(1);
    await addNumberedLogLines(hub.database, runId, 350);
    await page.getByRole('button', { name: 'Approve' }).click();
    await rows.getByText('the last line', { exact: true }).waitFor();
    await page.getByRole('status').getByText('352 lines', { exact: true }).waitFor();
  });

  test('a click that was meant for one approval does not decide the next', async () => {
    const runId = await start('ask twice');
    await settledRun(workspace.api, runId);
    await using tab = await open(`/app/runs/${runId}`);
    const { page } = tab;
    await page.getByText('First question').first().waitFor();
    // The fastest possible click.
    await page.evaluate(`{
      let isClicked = false;
      new MutationObserver(() => {
        if (isClicked || !document.body.innerText.includes('Second question')) return;
        const button = [...document.querySelectorAll('button')].find((each) => each.textContent === 'Approve');
        if (button?.closest('section')?.innerText.includes('Second question')) {
          isClicked = true;
          button.click();
          document.title = 'clicked';
        }
      }).observe(document.body, { childList: true, subtree: true, characterData: true });
    }`);
    const sent = tab.requests.length;
    await page.getByRole('button', { name: 'Approve' }).click();
    await expect.poll(() => page.title()).toBe('clicked');
    await expect.poll(() => page.getByRole('button', { name: 'Approve' }).isEnabled()).toBe(true);
    expect(tab.requests.slice(sent).filter((url) => url.endsWith('/decide')).length).toBe(1);
  });

  test('a deletion whose response was lost is not reported as a failure', async () => {
    const tenantId = workspace.tenantId;
    const { id } = await workspace.session.call('createApiToken', {
      params: { tenantId },
      body: { name: 'old key', product: 'automations', permissions: ['automations:read'] as never },
    });
    await using tab = await open('/app/settings/tokens');
    const { page } = tab;
    let isLost = false;
    await page.route(
      (url) => url.pathname.endsWith(id),
      async (route) => {
        if (isLost || route.request().method() !== 'DELETE') return route.continue();
        isLost = true;
        await route.fetch();
        return route.abort();
      },
    );
    await page.getByRole('button', { name: 'Delete old key' }).click();
    await page
      .getByRole('dialog')
      .getByRole('button', { name: /Delete/ })
      .click();
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    expect(isLost).toBe(true);
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  test('Enter in the search opens a result of the text in the field', async () => {
    await using tab = await open('/app');
    const { page } = tab;
    await page.getByRole('navigation', { name: 'Main menu' }).waitFor();
    await page.keyboard.press('Control+k');
    const field = page.getByRole('combobox', { name: 'Search' });
    await field.fill('greet');
    await page.getByRole('option', { name: /^greet/ }).waitFor();
    const search = await hold(page, (url) => url.pathname.endsWith('/search'));
    await field.fill('pause');
    await field.press('Enter');
    await expect.poll(() => search.held.length).toBeGreaterThan(0);
    search.release();
    await page.getByRole('heading', { level: 1, name: 'pause' }).waitFor();
  });

  describe('with two users in one browser', () => {
    const ann = { email: 'ann@pier.example', password: 'correct horse battery' };
    const bob = { email: 'bob@pier.example', password: 'correct horse battery' };
    let annSession: string;
    let bobSession: string;
    beforeAll(async () => {
      const made = await hub.client().call('signUp', { body: { ...ann, workspaceName: 'Pier' } });
      annSession = made.token;
      await hub.client(annSession).call('addMember', {
        params: { tenantId: made.tenantId },
        body: { ...bob, role: 'agent' } as never,
      });
      ({ token: bobSession } = await hub.client().call('logIn', { body: bob }));
    });
    const signInAs = (page: Page, session: string) =>
      page
        .context()
        .addCookies([{ name: 'outrigger_session', value: session, url: hub.url, httpOnly: true, sameSite: 'Strict' }]);
    const nameOf = async (session: string) => (await hub.client(session).call('readMe')).user.displayName;

    test('a page changes nothing as another user, and goes on after a new sign-in of its user', async () => {
      await using tab = await open('/app/settings/profile', { session: annSession });
      const { page } = tab;
      const field = page.getByLabel('Display name');
      await field.fill('Ann of the pier');
      await signInAs(page, bobSession);
      await page.getByRole('button', { name: 'Save' }).first().click();
      const dialog = page.getByRole('dialog', { name: 'This browser is signed in as another user' });
      await dialog.getByText(ann.email).waitFor();
      expect(await nameOf(bobSession)).toBeNull();
      await dialog.getByLabel('Password', { exact: true }).fill(ann.password);
      await dialog.getByRole('button', { name: 'Sign in' }).click();
      await dialog.waitFor({ state: 'hidden' });
      expect(await field.inputValue()).toBe('Ann of the pier');
      await page.getByRole('button', { name: 'Save' }).first().click();
      await expect.poll(() => nameOf(annSession)).toBe('Ann of the pier');
      await page.getByRole('complementary').getByText('Ann of the pier').waitFor();
    });

    test('a page notices by itself that another user signed in or that its user signed in again', async () => {
      await using tab = await open('/app/settings/profile', { session: annSession });
      const { page } = tab;
      await page.getByLabel('Display name').waitFor();
      await signInAs(page, bobSession);
      const other = await page.context().newPage();
      await other.goto(`${hub.url}/app/settings`);
      const dialog = page.getByRole('dialog', { name: 'This browser is signed in as another user' });
      await dialog.waitFor();
      expect(await other.getByRole('dialog').count()).toBe(0);
      await signInAs(page, annSession);
      await other.reload();
      await dialog.waitFor({ state: 'hidden' });
      // Without a message, the focus is a reason to look.
      await other.close();
      await signInAs(page, bobSession);
      await page.evaluate('dispatchEvent(new Event("focus"))');
      await dialog.getByRole('button', { name: 'Reload' }).click();
      await page.getByRole('complementary').getByText('bob@pier.example').waitFor();
    });

    test('a late refusal of an earlier session opens no dialog', async () => {
      await using tab = await open('/app', { session: annSession });
      const { page } = tab;
      await page.getByRole('navigation', { name: 'Main menu' }).waitFor();
      await page.route(
        (url) => url.pathname.endsWith('/search'),
        (route) => route.fulfill({ status: 401, json: { code: 'unauthenticated', message: 'Sign in first.' } }),
      );
      const checked = page.waitForResponse((response) => response.url().endsWith('/auth/me'));
      await page.keyboard.press('Control+k');
      await page.getByRole('combobox', { name: 'Search' }).fill('greet');
      await checked;
      await page.getByText('Sign in first.').waitFor();
      expect(await page.getByRole('dialog', { name: 'Your session ended' }).count()).toBe(0);
    });
  });
});
