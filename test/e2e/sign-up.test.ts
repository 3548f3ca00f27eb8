import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { avoidPeriodEnd, minuteMs } from '../fixtures/avoid-period-end.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { send } from '../fixtures/requests.ts';

const password = 'correct horse battery';
let count = 0;
const newPerson = () => {
  count += 1;
  return { email: `person${count}@harbour.example`, workspaceName: `Harbour ${count}` };
};

describe.skipIf(!canOpenDashboard)('the sign-up page (needs Chromium)', () => {
  let hub: TestHub;
  let closed: TestHub;
  let browser: Browser;
  beforeAll(async () => {
    hub = await startHub({ SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' });
    closed = await startHub({ SIGN_UP: 'closed' }, hub.database);
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await closed?.[Symbol.asyncDispose]();
    await hub?.[Symbol.asyncDispose]();
  });
  const open = (path: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}) =>
    openDashboard(browser, path, { hubUrl: hub.url, session: null, ...options });
  const canSignIn = (email: string) =>
    hub
      .client()
      .call('logIn', { body: { email, password } })
      .then(
        () => true,
        () => false,
      );

  async function fill(page: Page, { email, workspaceName }: ReturnType<typeof newPerson>, again = password) {
    await page.getByLabel('Name of the workspace').fill(workspaceName);
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByLabel('Password again').fill(again);
  }

  test.each([
    ['light', 1280],
    ['dark', 320],
  ] as const)(
    'creates an account by keyboard and opens the page that was asked for, in %s at %i pixels',
    async (colorScheme, width) => {
      const person = newPerson();
      await using tab = await open('/app/runs?status=failed', { colorScheme, viewport: { width, height: 700 } });
      const { page } = tab;
      await page.getByRole('link', { name: 'Create an account' }).click();
      await page.getByRole('heading', { level: 1, name: 'Create an account' }).waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
      await page.keyboard.press('Tab');
      for (const text of [person.workspaceName, person.email, password, password]) {
        await page.keyboard.type(text);
        await page.keyboard.press('Tab');
      }
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
      const { pathname, searchParams } = new URL(page.url());
      expect([pathname, searchParams.get('status')]).toEqual(['/app/runs', 'failed']);
      const [cookie] = await page.context().cookies(hub.url);
      expect(cookie).toMatchObject({ name: 'outrigger_session', httpOnly: true, sameSite: 'Strict' });
      expect(await hub.client(cookie?.value).call('readMe')).toMatchObject({
        workspaceName: person.workspaceName,
        user: { email: person.email, role: 'admin' },
      });
      expect(tab.complaints).toEqual([]);
    },
  );

  test('leads back to the sign-in page, and both keep the page that was asked for', async () => {
    await using tab = await open('/app/nodes?q=a%26b');
    const { page } = tab;
    await page.getByRole('link', { name: 'Create an account' }).click();
    await page.getByRole('link', { name: 'Sign in with an account that you have' }).click();
    await page.getByRole('heading', { level: 1, name: 'Sign in to Outrigger' }).waitFor();
    expect(await page.locator('input[name=to]').inputValue()).toBe('/app/nodes?q=a%26b');
  });

  test.each([
    ['de-AT', 'Konto erstellen', 'Die beiden Passwörter sind verschieden', 'ltr'],
    ['ar', 'إنشاء حساب', 'كلمتا المرور مختلفتان', 'rtl'],
  ])('is written in the language of the browser: %s', async (locale, title, reason, direction) => {
    const viewport = { width: 320, height: 700 };
    await using tab = await open('/sign-in', { locale, viewport });
    const { page } = tab;
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('link', { name: title }).click();
    await page.getByRole('heading', { level: 1, name: title }).waitFor();
    const { email, workspaceName } = newPerson();
    for (const [name, value] of Object.entries({ workspaceName, email, password, repeated: `${password}!` }))
      await page.locator(`input[name=${name}]`).fill(value);
    await page.getByRole('button').click();
    await page.getByRole('alert').getByText(reason).waitFor();
    expect(await page.evaluate('[document.documentElement.lang, getComputedStyle(document.body).direction]')).toEqual([
      locale.slice(0, 2),
      direction,
    ]);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(tab.complaints).toEqual([]);
    expect(await canSignIn(email)).toBe(false);
  });

  test('when the address or the name is taken, the form keeps all fields except the passwords, and the browser is not signed in', async () => {
    const [first, second] = [newPerson(), newPerson()];
    await hub.client().call('signUp', { body: { ...first, password } });
    await using tab = await open('/sign-up');
    const { page } = tab;
    const values = () =>
      page
        .locator('form input:visible')
        .evaluateAll((fields) => (fields as unknown as { value: string }[]).map(({ value }) => value));
    await fill(page, { ...second, email: first.email.toUpperCase() });
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('alert').getByText('already in use; sign in instead').waitFor();
    expect(await values()).toEqual([second.workspaceName, first.email.toUpperCase(), '', '']);
    await fill(page, { ...second, workspaceName: first.workspaceName });
    await page.getByRole('button', { name: 'Create account' }).click();
    await page.getByRole('alert').getByText('A workspace with this name already exists').waitFor();
    expect(await values()).toEqual([first.workspaceName, second.email, '', '']);
    expect(await page.context().cookies(hub.url)).toEqual([]);
    expect(await canSignIn(second.email)).toBe(false);
  });

  test('on a hub with closed sign-up says what to do, creates nothing, and is not offered', async () => {
    const person = newPerson();
    await using tab = await open('/sign-in', { hubUrl: closed.url });
    const { page } = tab;
    await page.getByRole('heading', { level: 1 }).waitFor();
    expect(await page.getByRole('link', { name: 'Create an account' }).count()).toBe(0);
    await page.goto(`${closed.url}/sign-up?to=/app/runs`);
    await page.getByRole('heading', { level: 1, name: 'Sign-up is closed' }).waitFor();
    await page.getByText('invitation link').waitFor();
    expect(await page.getByRole('button').count()).toBe(0);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.getByRole('link').getAttribute('href')).toBe('/sign-in?to=%2Fapp%2Fruns');
    const answer = await post({ ...person, password, repeated: password }, closed.url);
    expect([answer.status, answer.headers.get('set-cookie')]).toEqual([403, null]);
    expect(answer.text).toContain('Sign-up is closed');
    expect(await canSignIn(person.email)).toBe(false);
  });

  test('refuses the form of another site, without a cookie and without an account', async () => {
    const person = newPerson();
    const fields = Object.entries({ ...person, password, repeated: password })
      .map(([name, value]) => `<input name="${name}" value="${value}">`)
      .join('');
    const foreign = createServer((_request, response) => {
      response.setHeader('Content-Type', 'text/html');
      response.end(`<form method="post" action="${hub.url}/sign-up">${fields}<button>go</button></form>`);
    });
    await new Promise<void>((done) => foreign.listen(0, '127.0.0.1', done));
    onTestFinished(() => {
      foreign.closeAllConnections();
      foreign.close();
    });
    await using tab = await open('/sign-up');
    const { page } = tab;
    await page.goto(`http://localhost:${(foreign.address() as AddressInfo).port}/`);
    await page.getByRole('button', { name: 'go' }).click();
    await page.getByRole('alert').getByText('from a page of this hub').waitFor();
    expect(page.url()).toBe(`${hub.url}/sign-up`);
    expect(await page.getByLabel('Email').inputValue()).toBe('');
    expect(await page.context().cookies(hub.url)).toEqual([]);
    expect(await canSignIn(person.email)).toBe(false);
  });

  test('names the user as whom the browser is signed in, and open tabs of this user change nothing for the new one', async () => {
    const [ann, bob] = [newPerson(), newPerson()];
    const { token: session } = await hub.client().call('signUp', { body: { ...ann, password } });
    await using tab = await open('/app/settings/profile', { session });
    const { page } = tab;
    await page.getByLabel('Display name').fill('Ann of the pier');
    const other = await page.context().newPage();
    await other.goto(`${hub.url}/sign-up`);
    await other.getByText(`signed in as ${ann.email}`).waitFor();
    await fill(other, bob);
    await other.getByRole('button', { name: 'Create account' }).click();
    await other.getByRole('complementary').getByText(bob.email).waitFor();
    expect(new URL(other.url()).pathname).toBe('/app');
    await page
      .getByRole('dialog', { name: 'This browser is signed in as another user' })
      .getByText(ann.email)
      .waitFor();
    const [cookie] = await page.context().cookies(hub.url);
    expect((await hub.client(cookie?.value).call('readMe')).user).toMatchObject({
      email: bob.email,
      displayName: null,
    });
    expect((await hub.client(session).call('readMe')).user.email).toBe(ann.email);
  });

  /** Sends the form as a browser does. */
  const post = (fields: Record<string, string>, url = hub.url, address?: string) =>
    send(url, 'POST', '/sign-up', {
      headers: {
        'content-type': 'application/x-www-form-urlencoded',
        origin: url,
        ...(address === undefined ? {} : { 'x-forwarded-for': address }),
      },
      raw: new URLSearchParams(fields).toString(),
    });

  test('accepts what the operation accepts, and redirects only to a page of the hub', async () => {
    const person = newPerson();
    const valid = { ...person, password, repeated: password };
    for (const [reason, wrong] of [
      ['12 to 256', { password: 'elevenchars', repeated: 'elevenchars' }],
      ['12 to 256', { password: 'a'.repeat(257), repeated: 'a'.repeat(257) }],
      ['differ', { repeated: `${password} ` }],
      ['Enter an email address', { email: 'nobody' }],
      ['1 to 200', { workspaceName: '   ' }],
      ['1 to 200', { workspaceName: 'w'.repeat(201) }],
      ['1 to 200', { workspaceName: 'a\0b' }],
    ] as const) {
      const answer = await post({ ...valid, ...wrong });
      expect([answer.status, answer.headers.get('set-cookie')]).toEqual([400, null]);
      expect(answer.text).toMatch(new RegExp(`role="alert"[^>]*>[^<]*${reason}`));
    }
    const hostile = await post({ ...valid, email: 'a"><b>', workspaceName: '"><b>x' });
    expect(hostile.text).not.toContain('<b>x');
    expect(await canSignIn(person.email)).toBe(false);
    const made = await post({ ...valid, email: ` ${person.email.toUpperCase()} `, to: '//evil.example' });
    expect([made.status, made.headers.get('location')]).toEqual([303, '/']);
    expect(await canSignIn(person.email)).toBe(true);
  });

  test('counts against the limit of sign-ins and sign-ups of the operation', async () => {
    await using limited = await startHub(
      { SIGN_IN_RATE_LIMIT_PER_MINUTE: '2', TRUSTED_PROXIES: '127.0.0.1' },
      hub.database,
    );
    await avoidPeriodEnd(minuteMs);
    const { email } = newPerson();
    const address = '203.0.113.77';
    const status = async () => (await post({ email }, limited.url, address)).status;
    expect([await status(), await status(), await status()]).toEqual([400, 400, 429]);
    const operation = await send(limited.url, 'POST', '/auth/signup', {
      headers: { 'x-forwarded-for': address },
      body: { ...newPerson(), password },
    });
    expect(operation.status).toBe(429);
  });

  test('sets a cookie that only this host can set over HTTPS', async () => {
    await using secure = await startHub(
      { PUBLIC_URL: 'https://hub.example.org', SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000' },
      hub.database,
    );
    const answer = await post({ ...newPerson(), password, repeated: password }, secure.url);
    expect(answer.headers.get('set-cookie')).toMatch(
      /^__Host-outrigger_session=[^;]+; Path=\/; .*HttpOnly; Secure; SameSite=Strict/,
    );
  });
});
