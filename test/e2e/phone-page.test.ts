import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { findBrowser } from '../../node-agent/runtime/commands/browser/find-browser.ts';
import type { ChatTab } from '../fixtures/chat-tab.ts';
import { barriers } from '../fixtures/companion-window.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { dial, heardBothWays, hirePair, level, openPhonePage, phase, problem, ready, talk, ways } from '../fixtures/phone-page.ts';
import type { PhoneOpening, PhonePerson } from '../fixtures/phone-page.ts';
import { startProxy } from '../fixtures/proxy.ts';
import { send } from '../fixtures/requests.ts';
import { startSipWebSocketServer } from '../fixtures/sip-websocket-server.ts';
import type { SipWebSocketServer } from '../fixtures/sip-websocket-server.ts';
import { startTalkingBrowser } from '../fixtures/voice-tab.ts';

const executable = findBrowser(undefined)?.path;
const pictures = process.env['PHONE_PICTURES'];

let hub: TestHub;
let server: SipWebSocketServer;
let browser: Browser;
let ann: PhonePerson;
let ben: PhonePerson;
let tenantId: string;

beforeAll(async () => {
  server = await startSipWebSocketServer();
  hub = await startHub({ ...server.env, SIP_DIAL_ALLOW: '+49' });
  ({ ann, ben, tenantId } = await hirePair(hub));
  if (executable !== undefined) browser = await startTalkingBrowser(executable);
});
afterAll(async () => {
  await browser?.close();
  await hub[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const open = ({ jwt }: PhonePerson, options: Partial<PhoneOpening> = {}): Promise<ChatTab> =>
  openPhonePage(browser, { base: hub.url, session: jwt, ...options });
const picture = async ({ page }: ChatTab, name: string) => {
  if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` });
};
const last = ({ page }: ChatTab) => page.locator('.last').getAttribute('data-outcome');
const said = ({ page }: ChatTab) => page.getByRole('status').textContent();

test('the page loads nothing inline, holds nothing of anybody, is framed nowhere and listens for itself alone', async () => {
  const { status, headers, text } = await send(hub.url, 'GET', '/phone', {
    headers: { cookie: `outrigger_session=${ann.jwt}` },
  });
  expect(status).toBe(200);
  const policy = headers.get('content-security-policy') ?? '';
  expect(policy).toContain("default-src 'none'; script-src 'self'; style-src 'self';");
  expect(policy).toContain("frame-ancestors 'none'");
  expect(policy).toContain("require-trusted-types-for 'script'; trusted-types 'none'");
  expect(policy).not.toContain('unsafe');
  expect([headers.get('cache-control'), headers.get('permissions-policy'), headers.get('x-frame-options')]).toEqual([
    'no-store',
    'microphone=(self), camera=(), geolocation=()',
    'DENY',
  ]);
  expect(text).not.toContain(ann.jwt);
  expect(text).not.toContain(ann.email);
});

describe.skipIf(executable === undefined)('the softphone (needs Chromium)', () => {
  test('two people call each other, hear each other, mute, hold, send keys and hang up', async () => {
    await using caller = await open(ann);
    await using callee = await open(ben);
    const [here, there] = [caller.page, callee.page];
    await Promise.all([ready(here), ready(there)]);
    await picture(caller, 'idle');
    expect(await barriers(here)).toEqual([]);
    await dial(here, ben.email);
    await expect.poll(() => phase(there)).toBe('incoming');
    await expect.poll(() => phase(here)).toBe('ringing');
    expect(await there.getByRole('alert').first().textContent()).toBe(`Incoming call from ${ann.email}`);
    expect(await there.title()).toBe(`${ann.email} is calling`);
    expect(await there.evaluate('document.activeElement.id')).toBe('peer');
    expect(await barriers(there)).toEqual([]);
    await picture(callee, 'incoming');
    // By the keyboard: the name is there already, and the next stop is the answer.
    await there.keyboard.press('Tab');
    await there.keyboard.press('Enter');
    await expect.poll(async () => [await phase(here), await phase(there)]).toEqual(['talking', 'talking']);
    expect(await said(caller)).toBe(`${ben.email}: Connected`);
    await heardBothWays(here, there);
    await expect.poll(() => here.locator('.quality').getAttribute('data-quality'), { timeout: 8_000 }).toBe('good');
    expect(await here.locator('.quality').innerText()).toMatch(/Delay \d+ ms · jitter \d+ ms · lost [\d.]+ %/);

    await here.getByRole('button', { name: 'Mute' }).click();
    await expect.poll(() => level(there, 'answer')).toBe(0);
    await here.getByRole('button', { name: 'Mute' }).click();
    await expect.poll(() => level(there, 'answer'), { timeout: 8_000 }).toBeGreaterThan(30);
    await here.getByRole('button', { name: 'Hold' }).click();
    await expect.poll(() => there.locator('.phase').innerText()).toContain('The other side put you on hold');
    await here.getByRole('button', { name: 'Hold' }).click();
    await expect.poll(() => there.locator('.phase').innerText()).toContain('Connected');
    await heardBothWays(here, there);

    await here.getByRole('button', { name: 'Keypad' }).click();
    await here.getByRole('button', { name: 'Key 4' }).click();
    await here.keyboard.press('#');
    expect(await here.locator('output').textContent()).toBe('4#');
    await expect.poll(() => here.evaluate('keys')).toEqual(['4', '#']);
    expect(await barriers(here)).toEqual([]);
    await picture(caller, 'talking');

    await here.getByRole('button', { name: 'Hang up' }).click();
    await expect.poll(async () => [await phase(here), await phase(there)]).toEqual([null, null]);
    expect(await last(callee)).toBe('callOver');
    expect(await said(caller)).toMatch(/^ben-.*: Call ended · 0:\d\d$/);
    expect(await here.evaluate('document.activeElement.tagName')).toBe('INPUT');
    expect([caller.complaints, callee.complaints]).toEqual([[], []]);
    const session = (await here.context().cookies()).find(({ name }) => name === 'outrigger_session')?.value as string;
    expect(caller.requests.filter((url) => url.includes(session) || url.includes('token='))).toEqual([]);
    expect(await here.evaluate('document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })')).toBe('{}');
  });
});
