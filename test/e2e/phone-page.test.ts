import { Readable } from 'node:stream';
import type { Browser } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { telnyxEvent, telnyxStandIn } from '../fixtures/carriers.ts';
import type { ChatTab } from '../fixtures/chat-tab.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import {
  dial,
  expectAudioBothWays,
  createPhoneUsers,
  level,
  openPhonePage,
  phase,
  shownProblem,
  ready,
  talk,
  iceFragments,
} from '../fixtures/phone-page.ts';
import type { PhoneOpening, PhoneUser } from '../fixtures/phone-page.ts';
import { startProxy } from '../fixtures/proxy.ts';
import { send } from '../fixtures/requests.ts';
import { startSipWebSocketServer } from '../fixtures/sip-websocket-server.ts';
import type { SipWebSocketServer } from '../fixtures/sip-websocket-server.ts';
import { activeMicrophones, startTalkingBrowser } from '../fixtures/voice-tab.ts';

const executable = findPageBrowser()?.path;
const pictures = process.env['PHONE_PICTURES'];

let hub: TestHub;
let server: SipWebSocketServer;
let browser: Browser;

beforeAll(async () => {
  server = await startSipWebSocketServer();
  hub = await startHub({ ...server.env, SIP_DIAL_ALLOW: '+49' });
  if (executable !== undefined) browser = await startTalkingBrowser(executable);
});
afterAll(async () => {
  await browser?.close();
  await hub[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
});

const open = ({ jwt }: PhoneUser, options: Partial<PhoneOpening> = {}): Promise<ChatTab> =>
  openPhonePage(browser, { base: hub.url, session: jwt, ...options });
const picture = async ({ page }: ChatTab, name: string) => {
  if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` });
};
const last = ({ page }: ChatTab) => page.locator('.last').getAttribute('data-outcome');
const statusText = ({ page }: ChatTab) => page.getByRole('status').textContent();

test('the page has no inline code, contains no user data, cannot be framed, and only it may use the microphone', async () => {
  const { ann } = await createPhoneUsers(hub);
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
  test('a call rings and plays on the selected loudspeaker, or on the default one if the selected one is refused', async () => {
    const { ann, ben } = await createPhoneUsers(hub);
    await using tab = await open(ann);
    const { page } = tab;
    await ready(page);
    await page.evaluate(`(() => {
      window.sinks = [];
      HTMLMediaElement.prototype.setSinkId = async (id) => {
        if (id === 'unplugged') throw new DOMException('', 'NotFoundError');
        sinks.push(['call', id]);
      };
      AudioContext.prototype.setSinkId = async (id) => void sinks.push(['ring', id]);
      const devices = ['headset', 'unplugged'].map((id) => ({ kind: 'audiooutput', deviceId: id, label: id }));
      navigator.mediaDevices.enumerateDevices = async () => devices;
      navigator.mediaDevices.dispatchEvent(new Event('devicechange'));
    })()`);
    const sinks = () => page.evaluate('sinks');
    await page.getByText('Devices').click();
    const chosen = page.getByRole('combobox', { name: 'Loudspeaker' });
    await chosen.selectOption('headset');
    await expect.poll(sinks).toEqual([['call', 'headset']]);
    await using callee = await open(ben);
    await ready(callee.page);
    await dial(callee.page, ann.email);
    await expect.poll(sinks).toContainEqual(['ring', 'headset']);
    await chosen.selectOption('unplugged');
    await expect.poll(() => chosen.inputValue()).toBe('');
  });

  test('two members call each other, hear each other, mute, hold, send keys and hang up', async () => {
    const { ann, ben } = await createPhoneUsers(hub);
    await using caller = await open(ann);
    await using callee = await open(ben);
    const [here, there] = [caller.page, callee.page];
    await Promise.all([ready(here), ready(there)]);
    await picture(caller, 'idle');
    expect(await accessibilityViolations(here)).toEqual([]);
    await dial(here, ben.email);
    await expect.poll(() => phase(there)).toBe('incoming');
    await expect.poll(() => phase(here)).toBe('ringing');
    await expect.poll(() => there.getByRole('alert').first().textContent()).toBe(`Incoming call from ${ann.email}`);
    await expect.poll(() => there.title()).toBe(`${ann.email} is calling`);
    await expect.poll(() => there.evaluate('document.activeElement.id')).toBe('peer');
    expect(await accessibilityViolations(there)).toEqual([]);
    await picture(callee, 'incoming');
    // By keyboard: the name is filled in, and the next stop is the answer button.
    await there.keyboard.press('Tab');
    await there.keyboard.press('Enter');
    await expect.poll(async () => [await phase(here), await phase(there)]).toEqual(['talking', 'talking']);
    await expect.poll(() => statusText(caller)).toBe(`${ben.email}: Connected`);
    await expectAudioBothWays(here, there);
    await expect.poll(() => here.locator('.quality').getAttribute('data-quality')).toBe('good');
    await expect
      .poll(() => here.locator('.quality').innerText())
      .toMatch(/Delay \d+\sms · jitter \d+\sms · lost [\d.]+\s%/);
    await picture(caller, 'quality');

    await here.getByRole('button', { name: 'Mute' }).click();
    // The test microphone has pauses, so silence alone proves nothing.
    const isSent = () => here.evaluate('connections.at(-1).getSenders()[0].track.enabled');
    await expect.poll(isSent).toBe(false);
    await expect.poll(() => level(there, 'answer')).toBe(0);
    await here.getByRole('button', { name: 'Mute' }).click();
    await expect.poll(isSent).toBe(true);
    await expect.poll(() => level(there, 'answer')).toBeGreaterThan(30);
    await here.getByRole('button', { name: 'Hold' }).click();
    await expect.poll(() => there.locator('.phase').innerText()).toContain('The other side put you on hold');
    await here.getByRole('button', { name: 'Hold' }).click();
    await expect.poll(() => there.locator('.phase').innerText()).toContain('Connected');
    await expectAudioBothWays(here, there);

    await here.getByRole('button', { name: 'Keypad' }).click();
    await here.getByRole('button', { name: 'Key 4' }).click();
    await here.keyboard.press('#');
    await expect.poll(() => here.locator('output').textContent()).toBe('4#');
    // A new key replaces the queue of DTMF tones, so keys that were not sent yet are passed again, followed by the new
    // one.
    await expect.poll(() => here.evaluate('keys.join()')).toMatch(/^4,4?#$/);
    expect(await accessibilityViolations(here)).toEqual([]);
    await picture(caller, 'talking');

    await here.getByRole('button', { name: 'Hang up' }).click();
    await expect.poll(async () => [await phase(here), await phase(there)]).toEqual([null, null]);
    await expect.poll(() => last(callee)).toBe('callOver');
    await expect.poll(() => statusText(caller)).toMatch(/^ben@.*: Call ended · \d+:\d\d$/);
    await expect.poll(() => here.evaluate('document.activeElement.tagName')).toBe('INPUT');
    expect([caller.complaints, callee.complaints]).toEqual([[], []]);
    const session = (await here.context().cookies()).find(({ name }) => name === 'outrigger_session')?.value as string;
    expect(caller.requests.filter((url) => url.includes(session) || url.includes('token='))).toEqual([]);
    expect(await here.evaluate('document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage })')).toBe('{}');
  });

  test('declined, unavailable, busy and forbidden calls have different messages, and missed calls are listed', async () => {
    const { ann, ben } = await createPhoneUsers(hub);
    await using caller = await open(ann);
    await using callee = await open(ben);
    const [here, there] = [caller.page, callee.page];
    await Promise.all([ready(here), ready(there)]);
    const call = async (whom: string, outcome: string, meanwhile: () => Promise<void> = () => Promise.resolve()) => {
      await dial(here, whom);
      await meanwhile();
      await expect.poll(async () => [await phase(here), await here.locator('.last').count()]).toEqual([null, 1]);
      await expect.poll(() => last(caller)).toBe(outcome);
    };
    await call(ben.email, 'declined', () => there.getByRole('button', { name: 'Reject' }).click());
    await expect.poll(() => last(callee)).toBe('youDeclined');
    expect(await there.locator('.missed').count()).toBe(0);
    await call(ben.email, 'cancelled', async () => {
      await expect.poll(() => phase(there)).toBe('incoming');
      await here.getByRole('button', { name: 'Hang up' }).click();
    });
    await expect.poll(() => there.locator('.missed li').count()).toBe(1);
    await expect.poll(() => there.title()).toBe('(1) Phone');
    await call('112', 'emergencyNotPossible');
    await expect.poll(() => statusText(caller)).toContain('Call from another phone now.');
    await picture(caller, 'emergency');
    await call('+1 (500) 555-0006', 'numberNotAllowed');
    await call('+49 30 1234567', 'noSuchNumber');
    await dial(here, 'somebody');
    await expect.poll(() => here.getByLabel('Number or colleague').getAttribute('aria-invalid')).toBe('true');
    // The result of the previous call is not shown for this one.
    await expect.poll(() => here.locator('.last').count()).toBe(0);
    expect(await accessibilityViolations(here)).toEqual([]);
    // A click on a missed call or a colleague starts a call.
    await there
      .getByRole('region', { name: 'Missed calls' })
      .getByRole('button', { name: `Call ${ann.email}` })
      .click();
    await here.getByRole('button', { name: 'Answer' }).click();
    await expect.poll(() => phase(there)).toBe('talking');
    await using third = await open(ann);
    await ready(third.page);
    await third.page.getByRole('button', { name: `Call ${ben.email}` }).click();
    await expect.poll(() => last(third)).toBe('busy');
    await expect.poll(() => there.locator('.missed li').count()).toBe(2);
    expect(await phase(there)).toBe('talking');
    await there.getByRole('button', { name: 'Clear' }).click();
    await expect.poll(() => there.title()).toBe('Phone');
    await there.getByRole('button', { name: 'Hang up' }).click();
    await expect.poll(() => phase(here)).toBe(null);
    expect([caller.complaints, callee.complaints, third.complaints]).toEqual([[], [], []]);
  });

  test('a call survives a lost connection and gets a new media route, and ends if the other side ended it meanwhile', async () => {
    const { ann, ben } = await createPhoneUsers(hub);
    await using proxy = await startProxy(hub.url);
    proxy.sockets = 'pass';
    await using caller = await open(ann);
    await using callee = await open(ben, { base: proxy.url });
    const [here, there] = [caller.page, callee.page];
    await Promise.all([ready(here), ready(there)]);
    await talk(here, there, ben.email);
    const reconnect = async () => {
      const button = await there.getByRole('button', { name: 'Try now' }).elementHandle();
      proxy.sockets = 'pass';
      // The page may have connected by itself, which removes the button.
      await button?.dispatchEvent('click');
    };
    const before = await iceFragments(there);
    proxy.sockets = 'refuse';
    proxy.cutSockets();
    await expect.poll(() => shownProblem(there)).toBe('lost');
    await expect.poll(() => there.getByRole('alert').last().innerText()).toContain('the call continues');
    await expectAudioBothWays(here, there);
    expect(await phase(there)).toBe('talking');
    await expect.poll(() => there.getByRole('button', { name: 'Hold' }).isDisabled()).toBe(true);
    await picture(callee, 'lost');
    await reconnect();
    await ready(there);
    // Both sides changed their credentials: the media connection was restarted in the same call.
    await expect
      .poll(async () => (await iceFragments(there)).filter((fragment) => before.includes(fragment)))
      .toEqual([]);
    await expect
      .poll(async () => {
        const remote = (await iceFragments(there)).toReversed();
        return (await iceFragments(here)).filter((fragment, at) => fragment !== remote[at]);
      })
      .toEqual([]);
    await expectAudioBothWays(here, there);
    // Requests of the other side arrive as well.
    await here.getByRole('button', { name: 'Hold' }).click();
    await expect.poll(() => there.locator('.phase').innerText()).toContain('put you on hold');

    proxy.sockets = 'refuse';
    proxy.cutSockets();
    await expect.poll(() => shownProblem(there)).toBe('lost');
    await there.getByRole('button', { name: 'Hang up' }).click();
    await expect.poll(() => phase(there)).toBe(null);
    expect(await phase(here)).toBe('talking');
    await reconnect();
    await expect.poll(() => phase(here)).toBe(null);
    await expect.poll(() => last(caller)).toBe('callOver');
  });

  test('the calls of the workspace are listed and called back by a click, and the page says why a call is not possible', async () => {
    const { ann } = await createPhoneUsers(hub);
    const session = hub.client(ann.jwt);
    const telnyx = telnyxStandIn();
    const { url } = await session.call('createCallConnection', {
      body: { provider: 'telnyx', name: 'Main line', publicKey: telnyx.publicKey },
    });
    const at = Date.now() - 60_000;
    const leg = { call_leg_id: 'one', call_session_id: 'one', from: '+4930555', to: '+4940123', direction: 'incoming' };
    await telnyx.send(hub.url, url, telnyxEvent('call.initiated', at, leg));
    await telnyx.send(
      hub.url,
      url,
      telnyxEvent('call.hangup', at + 9_000, { ...leg, hangup_cause: 'originator_cancel' }),
    );
    await using tab = await open(ann, { maySpeak: false });
    const { page } = tab;
    await ready(page);
    const recent = page.getByRole('region', { name: 'Recent calls' });
    await expect.poll(() => recent.locator('li').innerText()).toMatch(/^\+4930555\n.* · missed$/s);
    await recent.getByRole('button', { name: 'Call +4930555' }).click();
    await expect.poll(() => shownProblem(page)).toBe('microphone-denied');
    await expect.poll(() => last(tab)).toBe('microphoneNeeded');
    expect(await accessibilityViolations(page)).toEqual([]);
    await picture(tab, 'denied');
    await dial(page, '112');
    await expect.poll(() => last(tab)).toBe('emergencyNotPossible');

    await session.call('optOutOfHostedSip', {});
    await expect.poll(() => shownProblem(page)).toBe('notOptedIn');
    const link = await page.getByRole('link', { name: 'API reference' }).getAttribute('href');
    expect((await send(hub.url, 'GET', `/${link}`)).status).toBe(200);
    await picture(tab, 'not-opted-in');
    expect(await accessibilityViolations(page)).toEqual([]);
    await session.call('optIntoHostedSip', {});
    await page.getByRole('button', { name: 'Try again' }).click();
    await ready(page);
    await expect.poll(() => page.locator('[data-problem=notOptedIn]').count()).toBe(0);
  });

  test('at 320 pixels, in dark mode and in another language nothing is cut off or hard to read', async () => {
    const { ann, ben } = await createPhoneUsers(hub);
    await using caller = await open(ann, { viewport: { width: 320, height: 640 }, colorScheme: 'dark', locale: 'de' });
    await using callee = await open(ben, { viewport: { width: 1280, height: 600 }, colorScheme: 'dark' });
    const { page } = caller;
    await Promise.all([ready(page), ready(callee.page)]);
    const overhang = () => page.evaluate('document.documentElement.scrollWidth - innerWidth');
    await picture(caller, 'narrow-idle');
    expect(await overhang()).toBe(0);
    await callee.page.getByRole('button', { name: `Call ${ann.email}` }).click();
    await expect.poll(() => phase(page)).toBe('incoming');
    await picture(caller, 'narrow-incoming');
    await page.getByRole('button', { name: 'Annehmen' }).click();
    await expect.poll(() => phase(page)).toBe('talking');
    await expect.poll(() => page.locator('.quality').count()).toBe(1);
    await picture(caller, 'narrow-talking');
    expect(await overhang()).toBe(0);
    await page.getByRole('button', { name: 'Tasten' }).click();
    await picture(caller, 'narrow-keypad');
    expect(await overhang()).toBe(0);
    expect(await accessibilityViolations(page)).toEqual([]);
    await callee.page.getByRole('button', { name: 'Keypad' }).click();
    await picture(callee, 'wide-dark');
    await callee.page.setViewportSize({ width: 1280, height: 800 });
    await picture(callee, 'wide-dark-800');
    for (const size of [
      [667, 320],
      [320, 256],
    ] as const) {
      await page.setViewportSize({ width: size[0], height: size[1] });
      expect(await overhang()).toBe(0);
      await page.getByRole('button', { name: 'Auflegen' }).scrollIntoViewIfNeeded();
      await picture(caller, `small-${size.join('x')}`);
    }
    await page.getByText('Geräte').click();
    // The call continues with another microphone.
    await page.getByRole('combobox', { name: 'Mikrofon' }).selectOption({ index: 1 });
    await callee.page.getByRole('button', { name: 'Keypad' }).click();
    await expectAudioBothWays(callee.page);
    await page.getByRole('button', { name: 'Auflegen' }).click();
  });

  test('the page records from the selected microphone before and during a call, and says when it uses another because that one is missing', async () => {
    const { ann, ben } = await createPhoneUsers(hub);
    await using caller = await open(ann);
    await using callee = await open(ben);
    const { page } = caller;
    await Promise.all([ready(page), ready(callee.page)]);
    await page.getByText('Devices').click();
    const choice = page.getByRole('combobox', { name: 'Microphone' });
    await expect.poll(() => choice.locator('option').count()).toBeGreaterThan(2);
    const names = await choice.locator('option').allTextContents();
    const isSent = () => page.evaluate('connections.at(-1).getSenders()[0].track.label');
    await choice.selectOption({ index: 2 });
    await talk(page, callee.page, ben.email);
    expect([await activeMicrophones(page), await isSent()]).toEqual([[names[2]], names[2]]);
    await choice.selectOption({ index: 1 });
    await expect.poll(isSent).toBe(names[1]);
    await expect.poll(() => activeMicrophones(page)).toEqual([names[1]]);
    await expectAudioBothWays(callee.page);
    await page.getByRole('button', { name: 'Hang up' }).click();
    await expect.poll(() => activeMicrophones(page)).toEqual([]);
    // Simulates a device that was unplugged after it was listed.
    await page.evaluate(`document.querySelector('.settings select').lastElementChild.value = 'unplugged'`);
    await choice.selectOption({ index: names.length - 1 });
    await talk(page, callee.page, ben.email);
    await expect
      .poll(async () => [await shownProblem(page), await choice.inputValue()])
      .toEqual(['microphone-replaced', '']);
    await expect.poll(() => activeMicrophones(page)).toHaveLength(1);
    await page.getByRole('button', { name: 'Hang up' }).click();
  });

  test('in Arabic phone numbers keep their direction, and long lists leave space for the others', async () => {
    const { ann, tenantId } = await createPhoneUsers(hub);
    const lines = Array.from({ length: 12 }, (_, index) => {
      const at = `2026-03-01T10:${10 + index}:00Z`;
      return `twilio,CA${index},inbound,+4930123456,+4940,${index % 3 === 0 ? 'missed' : 'answered'},${at},${at},62`;
    });
    const csv = ['provider,callSid,direction,fromId,toId,result,startedAt,endedAt,durationSecs', ...lines].join('\n');
    const { refused } = await hub.app.calls.importCsv(tenantId, Readable.from([csv]), null);
    expect(refused).toBe(0);
    await using tab = await open(ann, { locale: 'ar-EG', viewport: { width: 1280, height: 800 } });
    const { page } = tab;
    await ready(page);
    const recent = page.getByRole('region', { name: 'المكالمات الأخيرة' });
    await expect.poll(() => recent.locator('li').count()).toBe(8);
    await dial(page, '+4930123456', 'رقم أو زميل');
    await expect.poll(() => last(tab)).toBe('noSuchNumber');
    await expect.poll(() => page.locator('.last').innerText()).toContain('\u2068+4930123456\u2069');
    await picture(tab, 'arabic');
    await recent.getByRole('button', { name: 'عرض المزيد' }).click();
    await expect.poll(() => recent.locator('li').count()).toBe(12);
    await page.setViewportSize({ width: 320, height: 640 });
    expect(await page.evaluate('document.documentElement.scrollWidth - innerWidth')).toBe(0);
    await page.evaluate(`document.querySelector('.lists').scrollIntoView()`);
    await picture(tab, 'arabic-narrow');
    expect(await accessibilityViolations(page)).toEqual([]);
  });

  test('when the session ends, the call ends on both sides, and the page says what to do', async () => {
    const { ann, ben } = await createPhoneUsers(hub);
    await using caller = await open(ann);
    await using callee = await open(ben);
    await Promise.all([ready(caller.page), ready(callee.page)]);
    await talk(caller.page, callee.page, ben.email);
    await hub.client(ann.jwt).call('logOut', {});
    await expect.poll(() => shownProblem(caller.page)).toBe('ended');
    await expect.poll(async () => [await phase(caller.page), await phase(callee.page)]).toEqual([null, null]);
    await caller.page.reload();
    await expect.poll(() => shownProblem(caller.page)).toBe('signedOut');
    expect(await caller.page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe('sign-in?to=/phone');
  });
});
