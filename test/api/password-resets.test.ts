import { Client } from 'pg';
import { chromium } from 'playwright-core';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { avoidPeriodEnd, minuteMs } from '../fixtures/avoid-period-end.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { startMailServer } from '../fixtures/mail-server.ts';
import type { MailServer } from '../fixtures/mail-server.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import { send } from '../fixtures/requests.ts';
import { expirePasswordResets } from '../fixtures/stage/core.ts';
import { until } from '../fixtures/until.ts';

const publicUrl = 'https://hub.example.com';
const newPassword = 'an entirely new passphrase';

let hub: TestHub;
let mailServer: MailServer;
beforeAll(async () => {
  mailServer = await startMailServer();
  hub = await startHub({
    SMTP_URL: mailServer.url,
    MAIL_FROM: 'Outrigger <hub@example.com>',
    PUBLIC_URL: publicUrl,
    SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000',
  });
});
afterAll(async () => {
  await hub[Symbol.asyncDispose]();
  await mailServer[Symbol.asyncDispose]();
});

const request = (email: string, headers: Record<string, string> = {}) =>
  send(hub.url, 'POST', '/auth/password/reset-request', { body: { email }, headers });
const reset = (token: string, password = newPassword, url = hub.url) =>
  send(url, 'POST', '/auth/password/reset', { body: { token, password } });
const logIn = (email: string, password: string) => hub.client().call('logIn', { body: { email, password } });

/** The text of a mail, with the line breaks of its encoding removed. */
const textOf = (raw: string) => raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
const mailsTo = (email: string) => mailServer.mails.filter(({ to }) => to.includes(email));

/** Requests a link and returns its token, once the mail is there. */
async function mailedToken(email: string, headers: Record<string, string> = {}): Promise<string> {
  const before = mailsTo(email).length;
  expect((await request(email, headers)).status).toBe(200);
  await until(
    () => mailsTo(email).length > before,
    () => 'no mail came',
  );
  const found = /(\S+)\/reset-password\?token=([\w-]{43})\s/.exec(textOf(mailsTo(email).at(-1)?.raw ?? ''));
  expect(found?.[1]).toBe(publicUrl);
  return found?.[2] as string;
}

describe('A password reset', () => {
  test('sets the password once, ends all sessions on every process, and is audited', async () => {
    await using second = await startHub({}, hub.database);
    const { email, password, jwt, tenantId } = await hub.workspace();
    const elsewhere = (await logIn(email, password)).token;
    expect((await second.client(elsewhere).call('readMe', {})).user.email).toBe(email);
    const token = await mailedToken(email);
    expect(await reset(token, 'too short')).toMatchObject({
      status: 400,
      body: { details: [{ path: 'body.password' }] },
    });
    expect((await reset(token)).status).toBe(200);
    for (const old of [jwt, elsewhere])
      for (const url of [hub.url, second.url])
        expect((await send(url, 'GET', '/auth/me', { headers: { authorization: `Bearer ${old}` } })).status).toBe(401);
    await expect(logIn(email, password)).rejects.toMatchObject({ code: 'invalid_credentials' });
    const session = hub.client((await logIn(email, newPassword)).token);
    const { data } = await session.call('listAuditLog', { params: { tenantId } });
    expect(data.map(({ action }) => action)).toEqual(
      expect.arrayContaining(['member.password_reset_requested', 'member.password_reset']),
    );
    expect(JSON.stringify(data)).not.toContain(token);
    // A used token is invalid on every process.
    for (const url of [hub.url, second.url])
      expect(await reset(token, 'yet another passphrase', url)).toMatchObject({ status: 401 });
    await expect(logIn(email, newPassword)).resolves.toBeDefined();
  });

  test('with one of two links invalidates the other, also when both are used concurrently', async () => {
    const { email } = await hub.workspace();
    const tokens = [await mailedToken(email), await mailedToken(email)];
    const passwords = ['the first new passphrase', 'the second new passphrase'];
    const answers = await Promise.all(tokens.map((token, index) => reset(token, passwords[index])));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 401]);
    const won = passwords[answers.findIndex(({ status }) => status === 200)] as string;
    await expect(logIn(email, won)).resolves.toBeDefined();
  });

  test('fails after its expiry, with another token, or after the user changed the password', async () => {
    const { email, password, session } = await hub.workspace();
    const expired = await mailedToken(email);
    await expirePasswordResets(hub.database);
    expect((await reset(expired)).status).toBe(401);
    expect((await reset('x'.repeat(43))).status).toBe(401);
    const token = await mailedToken(email);
    await session.call('changePassword', { body: { currentPassword: password, newPassword: 'chosen by the user' } });
    expect((await reset(token)).status).toBe(401);
    await expect(logIn(email, 'chosen by the user')).resolves.toBeDefined();
  });

  test('keeps tokens as hashes only', async () => {
    const { email } = await hub.workspace();
    const token = await mailedToken(email);
    const rows = await hub.database.query<{ text: string }>(
      `select row_to_json(r)::text as text from password_resets r
       union all select row_to_json(a)::text from audit_log a`,
    );
    const stored = rows.map(({ text }) => text).join('\n');
    for (const form of [token, Buffer.from(token).toString('hex'), Buffer.from(token, 'base64url').toString('hex')])
      expect(stored).not.toContain(form);
  });

  test('does not affect users of other workspaces', async () => {
    const [one, other] = [await hub.workspace(), await hub.workspace()];
    expect((await reset(await mailedToken(one.email))).status).toBe(200);
    expect((await other.session.call('readMe', {})).user.email).toBe(other.email);
    await expect(logIn(other.email, newPassword)).rejects.toMatchObject({ code: 'invalid_credentials' });
  });

  test('gets the same response for an address without an account, which receives no mail', async () => {
    const { email } = await hub.workspace();
    const answers = [await request(email), await request('nobody@example.org')];
    expect(answers.map(({ status, text }) => ({ status, text }))).toEqual([
      { status: 200, text: '{"requested":true}' },
      { status: 200, text: '{"requested":true}' },
    ]);
    await until(
      () => mailsTo(email).length === 1,
      () => 'no mail came',
    );
    expect(mailsTo('nobody@example.org')).toEqual([]);
  });

  test('is answered before the account is looked up, so that its response time reveals nothing', async () => {
    const { email } = await hub.workspace();
    const client = new Client({ connectionString: hub.database.url });
    await client.connect();
    try {
      // All statements that read the users wait meanwhile.
      await client.query('begin');
      await client.query('lock table users in access exclusive mode');
      expect((await request(email)).status).toBe(200);
      expect((await request('nobody-either@example.org')).status).toBe(200);
    } finally {
      await client.query('rollback');
      await client.end();
    }
    await until(
      () => mailsTo(email).length === 1,
      () => 'no mail came',
    );
  });

  test('has the same limit for addresses with and without an account, and earlier links stay valid', async () => {
    await avoidPeriodEnd(60 * minuteMs);
    const { email } = await hub.workspace();
    const first = await mailedToken(email);
    for (const address of [email, 'unknown@example.org']) {
      const statuses: number[] = [];
      for (let count = address === email ? 1 : 0; count < 4; count += 1) statuses.push((await request(address)).status);
      expect(statuses.at(-1)).toBe(429);
      expect(statuses.slice(0, -1).every((status) => status === 200)).toBe(true);
    }
    expect((await reset(first)).status).toBe(200);
  });

  test('uses the public address in its link, regardless of Host and forwarding headers', async () => {
    const { email } = await hub.workspace();
    await mailedToken(email, {
      host: 'evil.example',
      'x-forwarded-host': 'evil.example',
      forwarded: 'host=evil.example',
    });
    expect(mailsTo(email).at(-1)?.raw).not.toContain('evil');
  });

  test('is rejected by a hub without mail, whose page names the command', async () => {
    await using without = await startHub();
    const { email } = await without.workspace();
    const answer = await send(without.url, 'POST', '/auth/password/reset-request', { body: { email } });
    expect(answer).toMatchObject({ status: 501, body: { code: 'not_available' } });
    expect((await fetch(`${without.url}/forgot-password`).then((page) => page.text())).includes('password')).toBe(true);
    expect(await fetch(`${without.url}/forgot-password`).then((page) => page.text())).toMatch(
      /user.*password.*--email/s,
    );
  });
});

describe('The pages for passwords', () => {
  let browser: Browser;
  let local: TestHub;
  beforeAll(async () => {
    local = await startHub({
      SMTP_URL: mailServer.url,
      MAIL_FROM: 'hub@example.com',
      PUBLIC_URL: 'http://127.0.0.1:9',
      SIGN_IN_RATE_LIMIT_PER_MINUTE: '1000',
    });
    browser = await chromium.launch({
      executablePath: (findPageBrowser() as { path: string }).path,
      args: ['--no-sandbox', '--disable-gpu'],
    });
  });
  afterAll(async () => {
    await browser.close();
    await local[Symbol.asyncDispose]();
  });

  test.each(['light', 'dark'] as const)(
    'set and change a password at 320 px in %s mode without policy violations',
    async (colorScheme) => {
      const { email } = await local.workspace();
      const context = await browser.newContext({ viewport: { width: 320, height: 640 }, colorScheme });
      const page = await context.newPage();
      const complaints: string[] = [];
      page.on('console', (message) => {
        if (message.type() === 'error' && !message.text().includes('status of 4')) complaints.push(message.text());
      });
      const picture = async (name: string) => {
        expect(await page.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(320);
        const folder = process.env['PICTURES_FOLDER'];
        if (folder !== undefined)
          await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png`, fullPage: true });
      };
      await page.goto(local.url);
      await picture('status');
      await page.getByRole('link', { name: 'Forgot your password?' }).click();
      await picture('forgot');
      await page.getByLabel('Email').fill(email.toUpperCase());
      await page.getByRole('button').click();
      await page.getByRole('status').waitFor();
      await picture('requested');
      await until(
        () => mailsTo(email).length === 1,
        () => 'no mail came',
      );
      const token = /\?token=([\w-]{43})/.exec(textOf(mailsTo(email)[0]?.raw ?? ''))?.[1] as string;
      const answer = await page.goto(`${local.url}/reset-password?token=${token}`);
      expect(answer?.headers()).toMatchObject({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' });
      await page.getByLabel('New password', { exact: true }).fill(newPassword);
      await page.getByLabel('New password again').fill(`${newPassword}!`);
      await page.getByRole('button').click();
      await expect.poll(() => page.getByRole('alert').textContent()).toContain('differ');
      await picture('reset');
      await page.getByLabel('New password', { exact: true }).fill(newPassword);
      await page.getByLabel('New password again').fill(newPassword);
      await page.getByRole('button').click();
      await page.getByRole('status').waitFor();
      await page.goto(`${local.url}/reset-password?token=${token}`);
      await expect.poll(() => page.getByRole('alert').textContent()).toContain('used');
      await picture('invalid');

      // `/password` redirects to the sign-in page, which leads back.
      await page.goto(`${local.url}/password`);
      await page.getByLabel('Email').fill(email);
      await page.getByLabel('Password').fill(newPassword);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.waitForURL(`${local.url}/password`);
      const change = async (current: string, next: string) => {
        await page.getByLabel('Current password').fill(current);
        await page.getByLabel('New password', { exact: true }).fill(next);
        await page.getByLabel('New password again').fill(next);
        await page.getByRole('button').click();
      };
      await change('not the current one', 'changed at the page');
      await expect.poll(() => page.getByRole('alert').textContent()).toContain('wrong');
      await picture('change');
      await change(newPassword, 'changed at the page');
      await page.getByRole('status').waitFor();
      await page.getByRole('link', { name: 'Back' }).click();
      await page.getByRole('button', { name: 'Open menu' }).waitFor();
      await picture('signed-in');
      await expect(
        local.client().call('logIn', { body: { email, password: 'changed at the page' } }),
      ).resolves.toBeDefined();
      expect(complaints).toEqual([]);
      await context.close();
    },
  );
});
