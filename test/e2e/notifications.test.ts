import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startedRun } from '../../shared/contract/automations/workflows.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { notificationBrowser, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';
import { startPushService } from '../fixtures/push-service.ts';
import type { PushService } from '../fixtures/push-service.ts';
import { settledRun } from '../fixtures/settled-run.ts';
import { until } from '../fixtures/until.ts';

/** Replaces the only part of the browser that needs the push service of its maker. */
const stubSubscribe = (subscription: object) => `PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
  window.subscribedWith = applicationServerKey;
  return { toJSON: () => (${JSON.stringify(subscription)}) };
};`;
const failSubscribe = (name: string) =>
  `PushManager.prototype.subscribe = async () => { throw new DOMException('failed', '${name}'); };`;

describe.skipIf(notificationBrowser === null)('the notifications of a browser (need Chromium)', () => {
  let service: PushService;
  let hub: TestHub;
  let browser: Browser;
  let workspace: TestWorkspace;
  let publicKey = '';
  beforeAll(async () => {
    service = await startPushService(() => publicKey);
    hub = await startHub({ EGRESS_ALLOW_HOSTS: service.host, SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' });
    workspace = await hub.workspace();
    ({ publicKey } = await workspace.session.call('readPushState', {}));
    browser = await startDashboardBrowser(notificationBrowser);
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
    await service?.[Symbol.asyncDispose]();
  });

  async function addMember() {
    const email = `ann.${process.hrtime.bigint()}@example.org`;
    await workspace.session.call('addMember', {
      params: { tenantId: workspace.tenantId },
      body: { email, password: workspace.password, role: 'agent' },
    });
    const { token } = await hub.client().call('logIn', { body: { email, password: workspace.password } });
    return { email, token, session: hub.client(token) };
  }

  /** Opens the page after `script` has run in it. */
  async function open(
    session: string,
    script: string,
    { isAllowed = true, ...options }: BrowserContextOptions & { isAllowed?: boolean } = {},
  ) {
    const tab = await openDashboard(browser, '/app/notify', {
      hubUrl: hub.url,
      session,
      ...options,
      permissions: isAllowed ? ['notifications'] : [],
    });
    await tab.page.addInitScript(script);
    await tab.page.reload();
    return tab;
  }
  const status = (page: Page, name: string) => page.locator(`[data-status=${name}]`).waitFor();

  async function ask(approver: string) {
    const { id } = await workspace.api.call('createAutomationWorkflow', {
      body: { name: 'Invoices', stepsJson: [{ type: 'approval', title: 'Pay <b>it</b>?', approvers: [approver] }] },
    });
    const { runId } = startedRun(await workspace.api.call('runAutomationWorkflow', { params: { id }, body: {} }));
    await settledRun(workspace.api, runId);
    const { data } = await workspace.api.call('listAutomationApprovals', { query: { runId } });
    return data[0]?.id as string;
  }

  test('are turned on by a click, show an approval, open its page, are listed in the profile, and are turned off', async () => {
    const { email, token, session } = await addMember();
    const subscription = service.subscribe();
    await using tab = await open(token, stubSubscribe(subscription));
    const { page } = tab;
    await status(page, 'off');
    expect(await page.evaluate('navigator.serviceWorker.getRegistration("/app/")')).toBeUndefined();
    await page.getByRole('button', { name: 'Turn on notifications' }).click();
    await status(page, 'on');
    expect(await page.evaluate('window.subscribedWith')).toBe(publicKey);
    expect((await session.call('readPushState', {})).subscriptions).toHaveLength(1);
    await page.reload();
    await status(page, 'on');

    const approvalId = await ask(email);
    await until(
      () => service.received.length === 1,
      () => 'the browser was not notified',
    );
    // The browser of the test has no push service, so the message that arrived there is handed to the service worker.
    const protocol = await page.context().newCDPSession(page);
    const registrations = new Promise<string>((found) => {
      protocol.on('ServiceWorker.workerRegistrationUpdated', ({ registrations: [each] }) => {
        if (each !== undefined) found(each.registrationId);
      });
    });
    await protocol.send('ServiceWorker.enable');
    const registrationId = await registrations;
    const deliver = (data: string) =>
      protocol.send('ServiceWorker.deliverPushMessage', { origin: hub.url, registrationId, data });
    const shown = () =>
      page.evaluate(`navigator.serviceWorker.getRegistration('/app/')
        .then((registration) => registration.getNotifications())
        .then((all) => all.map(({ title, body, data }) => ({ title, body, data })))`);
    const notification = {
      title: 'Pay <b>it</b>?',
      body: 'Invoices',
      data: `${hub.url}/app/approvals/${approvalId}`,
    };
    const message = JSON.stringify(service.received[0]?.message);
    await deliver(message);
    await expect.poll(shown).toEqual([notification]);
    // The second message about the same approval replaces the first.
    await deliver(message);
    await expect.poll(shown).toEqual([notification]);

    // Automation cannot click on a notification of the system, so the event is dispatched. Without a click, the browser
    // refuses to open and focus windows, so both are recorded.
    const [worker] = page.context().serviceWorkers();
    const click = () =>
      worker?.evaluate(`(async () => {
        const done = Promise.withResolvers();
        clients.openWindow = async (url) => done.resolve({ opened: url });
        WindowClient.prototype.focus = async function () { done.resolve({ focused: this.url }); };
        const [notification] = await registration.getNotifications();
        dispatchEvent(new NotificationEvent('notificationclick', { notification }));
        return done.promise;
      })()`);
    expect(await click()).toEqual({ opened: notification.data });
    await expect.poll(shown).toEqual([]);
    const approvalTab = await page.context().newPage();
    await approvalTab.goto(notification.data);
    await approvalTab.getByRole('heading', { name: 'Pay <b>it</b>?' }).first().waitFor();
    await deliver(message);
    await expect.poll(shown).toEqual([notification]);
    expect(await click()).toEqual({ focused: notification.data });
    await approvalTab.close();

    // A message leads to no other site, and one that cannot be read is shown too.
    for (const hostile of [
      JSON.stringify({ title: 'a', workflowName: 'b', path: 'https://elsewhere.example/app/' }),
      JSON.stringify({ title: 'a', workflowName: 'b', path: '//elsewhere.example/app/' }),
      JSON.stringify({ title: 'a', workflowName: 'b', path: '/sign-out' }),
      JSON.stringify({ title: 'a', workflowName: 'b', path: '/app/../sign-out' }),
      JSON.stringify({ title: 7, path: 'javascript:alert(1)' }),
      'no JSON',
    ]) {
      await deliver(hostile);
      await expect.poll(shown).toMatchObject([{ data: `${hub.url}/app/` }]);
      expect(await click()).toEqual({ opened: `${hub.url}/app/` });
      await expect.poll(shown).toEqual([]);
    }

    await page.getByRole('link', { name: 'Back to your profile' }).click();
    const section = page.locator('section', { has: page.getByRole('heading', { name: 'Notifications' }) });
    await section.getByText('Chrome · Linux').waitFor();
    await section.getByRole('button', { name: 'Remove: Chrome · Linux' }).click();
    await section.getByText('Notifications are off in all browsers.').waitFor();
    expect((await session.call('readPushState', {})).subscriptions).toEqual([]);
    await section.getByRole('link', { name: 'Notifications in this browser' }).click();
    await status(page, 'off');
    await page.getByRole('button', { name: 'Turn on notifications' }).click();
    await status(page, 'on');
    await page.getByRole('button', { name: 'Turn off notifications' }).click();
    await status(page, 'off');
    expect((await session.call('readPushState', {})).subscriptions).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });

  test('tell why they cannot be turned on', async () => {
    const { token } = await addMember();
    const turnOn = (page: Page) => page.getByRole('button', { name: 'Turn on notifications' }).click();
    {
      await using tab = await open(token, '', { isAllowed: false });
      await status(tab.page, 'denied');
      expect(tab.complaints).toEqual([]);
    }
    {
      await using tab = await open(token, 'delete window.PushManager;');
      await status(tab.page, 'unsupported');
      expect(tab.complaints).toEqual([]);
    }
    {
      await using tab = await open(token, failSubscribe('AbortError'));
      await turnOn(tab.page);
      await status(tab.page, 'noService');
      await turnOn(tab.page);
      await status(tab.page, 'noService');
      expect(tab.complaints).toEqual([]);
    }
    {
      await using tab = await open(token, failSubscribe('NotAllowedError'));
      await turnOn(tab.page);
      await status(tab.page, 'denied');
    }
    {
      await using tab = await open(token, stubSubscribe({ ...service.subscribe(), endpoint: 'https://10.0.0.1/' }));
      await turnOn(tab.page);
      await tab.page.getByRole('alert').getByText('10.0.0.1').waitFor();
      await status(tab.page, 'off');
      await tab.page.context().setOffline(true);
      await turnOn(tab.page);
      await status(tab.page, 'noHub');
      await tab.page.context().setOffline(false);
      await tab.page.getByRole('button', { name: 'Try again' }).click();
      await status(tab.page, 'off');
      expect(tab.complaints).toEqual([]);
    }
  });

  test('need a signed-in user, and end with the session', async () => {
    await using stranger = await openDashboard(browser, '/app/notify', { hubUrl: hub.url, session: null });
    await stranger.page.waitForURL(`${hub.url}/sign-in?to=/app/notify`);
    const { email, token, session } = await addMember();
    await using tab = await open(token, stubSubscribe(service.subscribe()));
    await tab.page.getByRole('button', { name: 'Turn on notifications' }).click();
    await status(tab.page, 'on');
    await session.call('logOut', {});
    const again = await hub.client().call('logIn', { body: { email, password: workspace.password } });
    await tab.page
      .context()
      .addCookies([
        { name: 'outrigger_session', value: again.token, url: hub.url, httpOnly: true, sameSite: 'Strict' },
      ]);
    await tab.page.reload();
    await status(tab.page, 'off');
    expect(tab.complaints).toEqual([]);
  });

  test.each([
    ['light', 1280, 'en-GB', 'ltr', 'Notifications'],
    ['dark', 320, 'de', 'ltr', 'Benachrichtigungen'],
    ['dark', 1280, 'ar', 'rtl', 'الإشعارات'],
    ['light', 320, 'ar', 'rtl', 'الإشعارات'],
  ] as const)(
    'have an accessible page with the %s theme at %i pixels in %s',
    async (colorScheme, width, locale, direction, title) => {
      const { token } = await addMember();
      await using tab = await open(token, stubSubscribe(service.subscribe()), {
        colorScheme,
        locale,
        viewport: { width, height: 700 },
      });
      const { page } = tab;
      expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe(title);
      expect(await page.evaluate('document.documentElement.dir')).toBe(direction);
      const check = async () => {
        expect(await accessibilityViolations(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      };
      await status(page, 'off');
      await check();
      await page.getByRole('button').click();
      await status(page, 'on');
      await check();
      await page.evaluate(failSubscribe('AbortError'));
      await page.getByRole('button').click();
      await status(page, 'off');
      await page.getByRole('button').click();
      await status(page, 'noService');
      await check();
      expect(tab.complaints).toEqual([]);
    },
  );
});
