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
import { agePushSubscription, expireSessions, stopPushSubscription } from '../fixtures/stage/core.ts';
import { until } from '../fixtures/until.ts';

/** Replaces the only part of the browser that needs the push service of its maker. It keeps the subscription. */
const stubSubscribe = (subscription: object) => `
const stored = () => {
  const subscription = JSON.parse(localStorage.getItem('test.subscription'));
  return subscription && {
    toJSON: () => subscription,
    unsubscribe: async () => { localStorage.removeItem('test.subscription'); return true; },
  };
};
PushManager.prototype.getSubscription = async () => stored();
PushManager.prototype.subscribe = async ({ applicationServerKey }) => {
  window.subscribedWith = applicationServerKey;
  localStorage.setItem('test.subscription', ${JSON.stringify(JSON.stringify(subscription))});
  return stored();
};`;
const browserSubscription = (page: Page) => page.evaluate(() => localStorage.getItem('test.subscription'));
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
    const { id } = await workspace.session.call('addMember', {
      params: { tenantId: workspace.tenantId },
      body: { email, password: workspace.password, role: 'agent' },
    });
    const { token } = await hub.client().call('logIn', { body: { email, password: workspace.password } });
    return { id, email, token, session: hub.client(token) };
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
    const [worker] = page.context().serviceWorkers();
    await worker?.evaluate(`{
      self.shows = 0;
      const show = registration.showNotification.bind(registration);
      registration.showNotification = (...args) => show(...args).finally(() => (self.shows += 1));
    }`);
    let delivered = 0;
    /**
     * Hands a message to the service worker and waits until it is shown. Meanwhile nothing lists the notifications: the
     * browser removes those from its list that are stored and not yet visible.
     */
    const deliver = async (data: string) => {
      await protocol.send('ServiceWorker.deliverPushMessage', { origin: hub.url, registrationId, data });
      delivered += 1;
      await expect.poll(() => worker?.evaluate('self.shows')).toBe(delivered);
    };
    const shown = () =>
      page.evaluate(`navigator.serviceWorker.getRegistration('/app/')
        .then((registration) => registration.getNotifications())
        .then((all) => all.map(({ title, body, data }) => ({ title, body, data })))`);
    const notification = {
      title: 'Outrigger',
      body: 'An approval waits for your decision.',
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
    await expect.poll(shown).toEqual([]);

    // A message leads to no other site, and one that cannot be read is shown too.
    const home = { ...notification, data: `${hub.url}/app/` };
    for (const hostile of [
      JSON.stringify({ path: 'https://elsewhere.example/app/' }),
      JSON.stringify({ path: '//elsewhere.example/app/' }),
      JSON.stringify({ path: '/sign-out' }),
      JSON.stringify({ path: '/app/../sign-out' }),
      JSON.stringify({ title: 'Your <b>password</b>', language: '__proto__', path: 'javascript:alert(1)' }),
      'no JSON',
    ]) {
      await deliver(hostile);
      expect(await shown()).toEqual([home]);
      expect(await click()).toEqual({ opened: home.data });
      await expect.poll(shown).toEqual([]);
    }

    // The notification has the language of the profile.
    await deliver(JSON.stringify({ path: '/app/', language: 'de' }));
    await expect.poll(shown).toMatchObject([{ body: 'Eine Freigabe wartet auf Ihre Entscheidung.' }]);
    expect(await click()).toEqual({ opened: home.data });

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
  });

  test('tell why they cannot be turned on', async () => {
    const { token, session } = await addMember();
    const turnOn = (page: Page) => page.getByRole('button', { name: 'Turn on notifications' }).click();
    {
      await using tab = await open(token, '', { isAllowed: false });
      await status(tab.page, 'denied');
    }
    {
      await using tab = await open(token, 'delete window.PushManager;');
      await status(tab.page, 'unsupported');
    }
    {
      await using tab = await open(token, failSubscribe('AbortError'));
      await turnOn(tab.page);
      await status(tab.page, 'noService');
      await turnOn(tab.page);
      await status(tab.page, 'noService');
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
    }
    expect((await session.call('readPushState', {})).subscriptions).toEqual([]);
  });

  /** Turns the notifications of a new browser on. */
  async function turnOnNewBrowser(member: Awaited<ReturnType<typeof addMember>>, subscription = service.subscribe()) {
    const tab = await open(member.token, stubSubscribe(subscription));
    await tab.page.getByRole('button', { name: 'Turn on notifications' }).click();
    await status(tab.page, 'on');
    const [found] = (await member.session.call('readPushState', {})).subscriptions;
    return { tab, subscription, id: found?.id ?? '' };
  }
  /** Signs the user of an email address in to the browser. */
  async function signIn(page: Page, email: string) {
    const { token } = await hub.client().call('logIn', { body: { email, password: workspace.password } });
    const cookie = { name: 'outrigger_session', value: token, url: hub.url, httpOnly: true };
    await page.context().addCookies([{ ...cookie, sameSite: 'Strict' }]);
    return hub.client(token);
  }
  const messagesTo = (endpoint: string) => service.received.filter(({ path }) => endpoint.endsWith(path));

  test('need a signed-in user, continue after the session, and end when the user signs out in the browser', async () => {
    await using stranger = await openDashboard(browser, '/app/notify', { hubUrl: hub.url, session: null });
    await stranger.page.waitForURL(`${hub.url}/sign-in?to=/app/notify`);
    const member = await addMember();
    const { tab: opened, id } = await turnOnNewBrowser(member);
    await using tab = opened;
    const { page } = tab;
    await agePushSubscription(hub.database, id, { days: 50 });
    await expireSessions(hub.database, member.id);
    const session = await signIn(page, member.email);
    await page.reload();
    await status(page, 'on');
    // The dashboard renews the subscription.
    await page.goto(`${hub.url}/app/runs`);
    const age = async () => {
      const [found] = (await session.call('readPushState', {})).subscriptions;
      return Date.now() - Date.parse(found?.renewedAt ?? '');
    };
    await expect.poll(age).toBeLessThan(86_400_000);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${hub.url}/sign-in`);
    expect(await browserSubscription(page)).toBeNull();
    const again = await signIn(page, member.email);
    expect((await again.call('readPushState', {})).subscriptions).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });

  test('end in a browser in which they were removed elsewhere, or in which another user signs in', async () => {
    for (const end of [
      async (member: Awaited<ReturnType<typeof addMember>>, id: string) => {
        await member.session.call('deletePushSubscription', { params: { id } });
      },
      async (_member: Awaited<ReturnType<typeof addMember>>, _id: string, page: Page) => {
        await signIn(page, (await addMember()).email);
      },
    ]) {
      const member = await addMember();
      const { tab: opened, id } = await turnOnNewBrowser(member);
      await using tab = opened;
      expect(await browserSubscription(tab.page)).not.toBeNull();
      await end(member, id, tab.page);
      await tab.page.goto(`${hub.url}/app/runs`);
      await expect.poll(() => browserSubscription(tab.page)).toBeNull();
      await tab.page.goto(`${hub.url}/app/notify`);
      await status(tab.page, 'off');
    }
  });

  test('reach a new endpoint of the browser, which the next visit or the service worker reports', async () => {
    const member = await addMember();
    const { tab: opened, subscription, id } = await turnOnNewBrowser(member);
    await using tab = opened;
    const { page } = tab;
    const isReached = (endpoint: string) =>
      until(
        () => messagesTo(endpoint).length === 1,
        () => 'the new endpoint was not notified',
      );
    const atVisit = service.subscribe();
    await page.evaluate((value) => localStorage.setItem('test.subscription', value), JSON.stringify(atVisit));
    await page.goto(`${hub.url}/app/runs`);
    await expect
      .poll(() => page.evaluate(() => localStorage.getItem('outrigger.notifications')))
      .toContain(atVisit.endpoint);
    await ask(member.email);
    await isReached(atVisit.endpoint);

    const [worker] = page.context().serviceWorkers();
    /** The browser cannot be made to change its endpoint, so the event is dispatched. */
    const change = (from: { endpoint: string }, to: { endpoint: string }) =>
      worker?.evaluate(`(async () => {
        const options = { applicationServerKey: new Uint8Array(65).buffer };
        PushManager.prototype.getSubscription = async () => null;
        PushManager.prototype.subscribe = async () => ({
          toJSON: () => (${JSON.stringify(to)}),
          unsubscribe: async () => { self.unsubscribed = true; return true; },
        });
        self.unsubscribed = false;
        const event = new ExtendableEvent('pushsubscriptionchange');
        Object.defineProperty(event, 'oldSubscription', { value: { endpoint: ${JSON.stringify(from.endpoint)}, options } });
        dispatchEvent(event);
      })()`);
    const byWorker = service.subscribe();
    await change(atVisit, byWorker);
    await expect
      .poll(() => hub.database.query('select endpoint from push_subscriptions where id = $1', [id]))
      .toEqual([{ endpoint: byWorker.endpoint }]);
    await ask(member.email);
    await isReached(byWorker.endpoint);
    expect(messagesTo(subscription.endpoint)).toEqual([]);
    expect((await member.session.call('readPushState', {})).subscriptions).toMatchObject([{ id }]);
    // Notifications that were removed meanwhile end in the browser.
    await member.session.call('deletePushSubscription', { params: { id } });
    await change(byWorker, service.subscribe());
    await expect.poll(() => worker?.evaluate('self.unsubscribed')).toBe(true);
    expect((await member.session.call('readPushState', {})).subscriptions).toEqual([]);
  });

  test('are renewed by one page when many load together, and not again by each page', async () => {
    const { tab: opened, subscription } = await turnOnNewBrowser(await addMember());
    await using tab = opened;
    const { page } = tab;
    const other = await page.context().newPage();
    await other.addInitScript(stubSubscribe(subscription));
    // Counts the renewals that are done or were not necessary.
    for (const each of [page, other])
      await each.addInitScript(`
        window.renewals = 0;
        const { request } = LockManager.prototype;
        LockManager.prototype.request = async function (...values) {
          await request.apply(this, values);
          if (values[0] === 'outrigger.notifications') window.renewals += 1;
        };`);
    const renewals = (each: Page) => each.evaluate('window.renewals');
    let sent = 0;
    const released = Promise.withResolvers<void>();
    await page.context().route('**/auth/me/push-subscriptions/renew', async (route) => {
      sent += 1;
      await released.promise;
      await route.continue();
    });
    await page.goto(`${hub.url}/app/runs`);
    await expect.poll(() => sent).toBe(1);
    await other.goto(`${hub.url}/app/runs`);
    await expect.poll(() => renewals(other)).toBe(1);
    expect(sent).toBe(1);
    released.resolve();
    await expect.poll(() => renewals(page)).toBe(1);
    await other.reload();
    await expect.poll(() => renewals(other)).toBe(1);
    expect(sent).toBe(1);
    await other.evaluate(() => {
      const stored = JSON.parse(localStorage.getItem('outrigger.notifications') ?? '{}') as { renewedAt: number };
      stored.renewedAt -= 60_000;
      localStorage.setItem('outrigger.notifications', JSON.stringify(stored));
    });
    await other.reload();
    await expect.poll(() => renewals(other)).toBe(1);
    expect(sent).toBe(2);
    expect(tab.complaints).toEqual([]);
  });

  test('get another endpoint where that of the browser belongs to another user', async () => {
    const [first, next] = [service.subscribe(), service.subscribe()];
    const { session: thief } = await addMember();
    await thief.call('createPushSubscription', { body: { ...service.subscribe(), endpoint: first.endpoint } });
    const member = await addMember();
    await using tab = await open(
      member.token,
      `${stubSubscribe(next)}
       const { subscribe } = PushManager.prototype;
       localStorage.setItem('test.subscription', ${JSON.stringify(JSON.stringify(first))});
       PushManager.prototype.subscribe = (options) => stored() ?? subscribe(options);`,
    );
    await tab.page.getByRole('button', { name: 'Turn on notifications' }).click();
    await status(tab.page, 'on');
    await ask(member.email);
    await until(
      () => messagesTo(next.endpoint).length === 1,
      () => 'the browser was not notified',
    );
    expect(messagesTo(first.endpoint)).toEqual([]);
  });

  test('say in the browser and in the profile that the push service refuses them, and are turned on again', async () => {
    const member = await addMember();
    const { tab: opened, id } = await turnOnNewBrowser(member);
    await using tab = opened;
    const { page } = tab;
    await stopPushSubscription(hub.database, id);
    await page.reload();
    await status(page, 'stopped');
    await page.getByText('The push service refuses the messages of this hub.').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('link', { name: 'Back to your profile' }).click();
    await page.getByText('Stopped, because the push service refused every message for days.').waitFor();
    await page.getByRole('link', { name: 'Notifications in this browser' }).click();
    await page.getByRole('button', { name: 'Turn on notifications' }).click();
    await status(page, 'on');
    expect((await member.session.call('readPushState', {})).subscriptions).toMatchObject([
      { isStopped: false, refusedSince: null },
    ]);
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
    },
  );
});
