import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { openTab } from '../fixtures/chat-tab.ts';
import type { ChatTab } from '../fixtures/chat-tab.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { adminKey, startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { startModelServer } from '../fixtures/model-server.ts';
import type { ModelServer } from '../fixtures/model-server.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import { startProxy } from '../fixtures/proxy.ts';
import { send } from '../fixtures/requests.ts';
import { startSpeechServer, tone } from '../fixtures/speech-server.ts';
import type { SpeechServer } from '../fixtures/speech-server.ts';
import { openVoice } from '../fixtures/voice-page.ts';
import type { AudioPiece } from '../fixtures/voice-tab.ts';
import {
  activeMicrophones,
  listenToPage,
  currentVolume,
  audioPieces,
  waitUntilAudible,
  waitUntilQueued,
  waitUntilSilent,
  startTalkingBrowser,
  watchMicrophones,
} from '../fixtures/voice-tab.ts';

const executable = findPageBrowser()?.path;
const pictures = process.env['VOICE_PICTURES'];
const question = 'When do you open tomorrow?';
const answer = 'We open at nine in the morning. On Sundays we are closed, but the terrace is open from ten.';
/** Longer than any wait of the tests. */
const longSpeech = { sound: [tone(20, 24_000)] };

let hub: TestHub;
let model: ModelServer;
let speech: SpeechServer;
let browser: Browser;
const person = { email: 'ann@harbour.example', password: 'correct horse battery' };
let jwt: string;

beforeAll(async () => {
  model = await startModelServer();
  speech = await startSpeechServer();
  hub = await startHub({
    AI_BASE_URL: model.baseUrl,
    AI_MODEL: 'scripted',
    STT_BASE_URL: speech.baseUrl,
    STT_MODEL: 'ears',
    TTS_BASE_URL: speech.baseUrl,
    TTS_MODEL: 'mouth',
  });
  ({ token: jwt } = await hub.client().call('signUp', { body: { ...person, workspaceName: 'Harbour Café' } }));
  if (executable !== undefined) browser = await startTalkingBrowser(executable);
});
afterAll(async () => {
  await browser?.close();
  await hub[Symbol.asyncDispose]();
  await speech[Symbol.asyncDispose]();
  await model[Symbol.asyncDispose]();
});
beforeEach(() => {
  model.reply = () => answer;
  speech.requests.length = 0;
  speech.reply = ({ kind }) => (kind === 'transcription' ? question : { sound: [tone(0.6, 24_000)] });
});

interface Opening extends BrowserContextOptions {
  session?: string;
  base?: string;
}

/** Opens the page in a tab of a signed-in user. */
async function open({ session = jwt, base = hub.url, ...options }: Opening = {}) {
  const tab = await openTab(browser, { viewport: { width: 900, height: 760 }, ...options });
  const context = tab.page.context();
  await context.addCookies([
    { name: 'outrigger_session', value: session, url: base, httpOnly: true, sameSite: 'Strict' },
  ]);
  await listenToPage(tab.page);
  await watchMicrophones(tab.page);
  await tab.page.goto(`${base}/voice`);
  return tab;
}

const activity = (page: Page) => page.locator('.activity').getAttribute('data-activity');
const ready = async (page: Page) => {
  await expect.poll(() => activity(page)).toBe('ready');
};
const transcript = (page: Page) => page.locator('.turn .bubble').allTextContents();
const write = async (page: Page, text: string) => {
  await page.getByRole('textbox', { name: 'Write a message' }).fill(text);
  await page.keyboard.press('Enter');
};
const level = async (page: Page) => Number(await page.locator('.level').getAttribute('aria-valuenow'));
const problem = (page: Page) => page.locator('[data-problem]').first().getAttribute('data-problem');
const picture = async ({ page }: ChatTab, name: string) => {
  if (pictures !== undefined) await page.screenshot({ path: `${pictures}/${name}.png` });
};

test('the page has no inline code, contains no user data, cannot be framed, and only it may use the microphone', async () => {
  const { status, headers, text } = await send(hub.url, 'GET', '/voice', {
    headers: { cookie: `outrigger_session=${jwt}` },
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
  expect(text).not.toContain(jwt);
  expect(text).not.toContain(person.email);
});

describe.skipIf(executable === undefined)('the voice page (needs Chromium)', () => {
  test('a user signs in, holds the button to speak, and sees and hears the answer with the duration of each stage', async () => {
    // Longer than a slow page can be busy, so that it notices the sound.
    speech.reply = ({ kind }) => (kind === 'transcription' ? question : { sound: [tone(2, 24_000)] });
    await using tab = await openTab(browser, { viewport: { width: 900, height: 760 } });
    const { page } = tab;
    await listenToPage(page);
    await page.goto(`${hub.url}/voice`);
    await page.getByRole('link', { name: 'Sign in' }).click();
    await page.getByLabel('Email').fill(person.email);
    await page.getByLabel('Password').fill(person.password);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await ready(page);
    expect(page.url()).toBe(`${hub.url}/voice`);

    const button = page.getByRole('button', { name: 'Hold to talk' });
    await button.hover();
    await page.mouse.down();
    await expect.poll(() => activity(page)).toBe('listening');
    // The recording starts before the question, not in its last word.
    await expect.poll(() => level(page)).toBe(0);
    await expect.poll(() => level(page)).toBeGreaterThan(40);
    await picture(tab, 'listening');
    await expect.poll(() => level(page)).toBe(0);
    const audible = waitUntilAudible(page);
    await page.mouse.up();
    await audible;
    await expect.poll(() => transcript(page)).toEqual([question, answer]);
    await ready(page);

    // The server received the sound of the microphone.
    const transcription = speech.requests.find(({ kind }) => kind === 'transcription') as { file: Buffer };
    const samples = Array.from({ length: (transcription.file.length - 44) >> 1 }, (_none, at) =>
      transcription.file.readInt16LE(44 + at * 2),
    );
    expect(samples.length).toBeGreaterThan(16_000);
    expect(Math.max(...samples)).toBeGreaterThan(4_000);
    expect(speech.requests.filter(({ kind }) => kind === 'speech')).toHaveLength(2);
    const stages = await page.locator('.latency dt').allTextContents();
    expect(stages).toEqual(['Transcribed', 'First words', 'First audio', 'Total to first audio', 'Played here after']);
    for (const shown of await page.locator('.latency dd').allTextContents()) expect(shown).toMatch(/^[\d,]+ ms$/);
    expect(await accessibilityViolations(page)).toEqual([]);
    await picture(tab, 'answered');

    // The page has no access to a token, and stores nothing.
    const session = (await page.context().cookies()).find(({ name }) => name === 'outrigger_session')?.value as string;
    expect(tab.requests.filter((url) => url.includes(session) || url.includes('token='))).toEqual([]);
    expect(
      await page.evaluate(
        'document.cookie + JSON.stringify({ ...localStorage, ...sessionStorage }) + JSON.stringify(history.state)',
      ),
    ).toBe('{}null');
    expect(tab.complaints).toEqual([]);
  });

  test('the page is linked from the dashboard, links back, and signs the user out everywhere', async () => {
    const own = await hub.workspace();
    await using tab = await open({ session: own.jwt });
    const { page } = tab;
    await ready(page);
    await page.getByRole('link', { name: 'Outrigger' }).click();
    await page.getByRole('link', { name: 'Talk to the agent' }).click();
    await ready(page);
    await picture(tab, 'signed-in');
    await page.getByRole('button', { name: 'Sign out' }).click();
    await expect.poll(() => problem(page)).toBe('signedOut');
    expect(await page.context().cookies()).toEqual([]);
    expect(await page.getByRole('button', { name: 'Sign out' }).count()).toBe(0);
    await expect(own.session.call('readMe', {})).rejects.toMatchObject({ status: 401 });
    await page.getByRole('link', { name: 'Outrigger' }).click();
    await page.getByRole('link', { name: 'Sign in with a password' }).click();
    await page.getByLabel('Email').waitFor();
    expect(tab.complaints).toEqual([]);
  });

  test('an answer plays without gaps and stops at once by its button, by Escape and by new speech, which is transcribed', async () => {
    speech.reply = () => longSpeech;
    await using tab = await open();
    const { page } = tab;
    await ready(page);
    for (const [index, stop] of [
      () => page.getByRole('button', { name: 'Stop the answer' }).click(),
      () => page.keyboard.press('Escape'),
      () => write(page, 'Something else'),
    ].entries()) {
      await write(page, 'When do you open?');
      await expect.poll(() => currentVolume(page)).toBeGreaterThan(0.05);
      if (index === 0) {
        await expect.poll(() => page.locator('.talk').innerText()).toBe('Hold to interrupt');
        // A piece that arrives in time starts where the previous one ends.
        const starts = async () => {
          const pieces = await audioPieces(page);
          return pieces.slice(1).flatMap(({ arrivesAt, startsAt }, at) => {
            const { endsAt } = pieces[at] as AudioPiece;
            return arrivesAt < endsAt - 0.1 ? [{ startsAt, endsAt }] : [];
          });
        };
        await expect.poll(async () => (await starts()).length).toBeGreaterThan(3);
        for (const { startsAt, endsAt } of await starts()) expect(startsAt).toBeCloseTo(endsAt, 6);
      }
      await waitUntilQueued(page);
      await stop();
      if (index < 2) expect(await waitUntilSilent(page)).toBeGreaterThan(0);
      await expect.poll(() => page.locator('.fate').allTextContents()).toHaveLength(index + 1);
    }
    await page.getByText('Settings').click();
    await waitUntilQueued(page);
    await page.getByRole('switch', { name: 'Speak answers aloud' }).click();
    expect(await waitUntilSilent(page)).toBeGreaterThan(0);
    await expect.poll(() => page.locator('[role=log]').getAttribute('aria-live')).toBe('polite');
    expect(new Set(await page.locator('.fate').allTextContents())).toEqual(new Set(['Interrupted']));
    expect(tab.complaints).toEqual([]);
  });

  test('hands-free mode records from the switch on, the hub detects speech, and speech during an answer interrupts it', async () => {
    speech.reply = ({ kind }) => (kind === 'transcription' ? question : longSpeech);
    await using tab = await open();
    const { page } = tab;
    await ready(page);
    await page.getByRole('switch', { name: 'Hands-free' }).click();
    await expect.poll(() => currentVolume(page)).toBeGreaterThan(0.05);
    expect((await transcript(page))[0]).toBe(question);
    await expect.poll(() => page.locator('#hint').getAttribute('class')).toContain('hint');
    await picture(tab, 'hands-free');
    await expect.poll(() => page.locator('.fate').allTextContents()).toContain('Interrupted');
    await page.getByRole('button', { name: 'Stop listening' }).click();
    // On a busy machine, another question can begin before the page stops listening.
    await expect
      .poll(async () => {
        const texts = await transcript(page);
        return [texts.length > 2, ...texts.slice(-2)];
      })
      .toEqual([true, question, answer]);
    await page.getByRole('button', { name: 'Start listening' }).waitFor();
    expect(tab.complaints).toEqual([]);
  });

  test('without a microphone the page says why, and written messages are still answered', async () => {
    await using tab = await open();
    const { page } = tab;
    await ready(page);
    const refuse = (name: string) =>
      page.evaluate(
        `navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException('', '${name}')); undefined;`,
      );
    await page.getByRole('button', { name: 'Hold to talk' }).focus();
    for (const [kind, title, become] of [
      ['denied', 'The microphone is blocked', () => refuse('NotAllowedError')],
      ['absent', 'No microphone was found', () => refuse('NotFoundError')],
      ['busy', 'The microphone is in use', () => refuse('NotReadableError')],
      [
        'insecure',
        'The microphone needs a secure connection',
        () => page.evaluate(`Object.defineProperty(navigator, 'mediaDevices', { value: undefined }); undefined;`),
      ],
    ] as const) {
      await become();
      await page.keyboard.press(' ');
      await expect.poll(() => problem(page)).toBe(`microphone-${kind}`);
      await expect.poll(() => page.getByRole('heading', { level: 2 }).first().textContent()).toBe(title);
      if (kind === 'denied') {
        expect(await accessibilityViolations(page)).toEqual([]);
        await picture(tab, 'denied');
      }
    }
    await write(page, 'Good day');
    await expect.poll(() => transcript(page)).toEqual(['Good day', answer]);
    expect(tab.complaints).toEqual([]);
  });

  test('the page records from the selected microphone', async () => {
    await using tab = await open();
    const { page } = tab;
    await ready(page);
    await page.getByText('Settings').click();
    const choice = page.getByRole('combobox', { name: 'Microphone' });
    await expect.poll(() => choice.locator('option').count()).toBeGreaterThan(2);
    const names = await choice.locator('option').allTextContents();
    await page.getByRole('switch', { name: 'Hands-free' }).click();
    for (const index of [2, 1]) {
      await choice.selectOption({ index });
      await expect.poll(() => activeMicrophones(page)).toEqual([names[index]]);
    }
  });

  test('the page records from a microphone that is selected while another one is being opened', async () => {
    await using tab = await open();
    const { page } = tab;
    await ready(page);
    await page.getByText('Settings').click();
    const choice = page.getByRole('combobox', { name: 'Microphone' });
    await expect.poll(() => choice.locator('option').count()).toBeGreaterThan(2);
    const names = await choice.locator('option').allTextContents();
    await page.evaluate(`(() => {
      const { mediaDevices } = navigator;
      const getUserMedia = mediaDevices.getUserMedia.bind(mediaDevices);
      const chosen = new Promise((done) => document.addEventListener('change', () => setTimeout(done, 100)));
      mediaDevices.getUserMedia = async (constraints) => {
        await chosen;
        return getUserMedia(constraints);
      };
    })()`);
    await page.getByRole('switch', { name: 'Hands-free' }).click();
    await choice.selectOption({ index: 2 });
    await expect.poll(() => activeMicrophones(page)).toEqual([names[2]]);
  });

  test('a user without or with a lost entitlement sees an error, and the transcript stays', async () => {
    const own = await hub.workspace();
    const entitle = (isEntitled: boolean) =>
      hub
        .client(adminKey)
        .call('putEntitlements', { params: { tenantId: own.tenantId }, body: { business_phone: isEntitled } });
    await using tab = await open({ session: own.jwt });
    const { page } = tab;
    await ready(page);
    await write(page, 'Good day');
    await expect.poll(() => transcript(page)).toEqual(['Good day', answer]);
    await entitle(false);
    await expect.poll(() => problem(page)).toBe('notEntitled');
    await expect.poll(() => transcript(page)).toEqual(['Good day', answer]);
    // The upgrade request is refused, and browsers do not show its status to the page.
    await page.reload();
    await expect.poll(() => problem(page)).toBe('notEntitled');
    await entitle(true);
    await page.reload();
    await ready(page);
    await own.session.call('logOut', {});
    await expect.poll(() => problem(page)).toBe('ended');
    await expect.poll(() => page.getByRole('link', { name: 'Sign in' }).getAttribute('href')).toBe('sign-in?to=/voice');
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.reload();
    await expect.poll(() => problem(page)).toBe('signedOut');
  });

  test('a third page only says that two are open, and continues by itself once one is closed', async () => {
    const own = await hub.workspace();
    const holders = await Promise.all([openVoice(hub.url, own.jwt), openVoice(hub.url, own.jwt)]);
    for (const { send: sendFrame, wait } of holders) {
      sendFrame({ type: 'text', data: 'Good day' });
      await wait('done');
    }
    await using tab = await open({ session: own.jwt });
    const { page } = tab;
    await page.evaluate(`(() => {
      window.told = new Set();
      const look = () => document.querySelectorAll('[data-problem]').forEach((place) => window.told.add(place.dataset.problem));
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, attributes: true });
      look();
    })()`);
    await expect.poll(() => problem(page)).toBe('busyHub');
    await page.evaluate('window.told.clear()');
    let sockets = 0;
    page.on('websocket', () => (sockets += 1));
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => sockets).toBeGreaterThan(1);
    await expect.poll(() => page.locator('.problems section').count()).toBe(1);
    await expect.poll(() => page.locator('.activity').count()).toBe(0);
    holders.forEach((holder) => holder.end());
    await ready(page);
    expect(await page.evaluate('[...window.told]')).toEqual([]);
    expect(await page.locator('[data-problem]').count()).toBe(0);
  });

  test('without a model or speech provider the page says who can set it up', async () => {
    await using bare = await startHub({}, hub.database);
    await using tab = await open({ base: bare.url });
    const { page } = tab;
    await expect.poll(() => problem(page)).toBe('notConfigured');
    expect(await page.getByRole('button', { name: 'Hold to talk' }).isDisabled()).toBe(true);
    await expect.poll(() => activity(page)).toBe('unavailable');
    let sockets = 0;
    page.on('websocket', () => (sockets += 1));
    await page.getByRole('button', { name: 'Try again' }).click();
    await expect.poll(() => sockets).toBe(1);
    await expect.poll(() => problem(page)).toBe('notConfigured');
    await write(page, 'Good day');
    await expect.poll(() => page.locator('.fate.failure').count()).toBe(1);
    await expect.poll(() => problem(page)).toBe('notConfigured');
    await expect.poll(() => activity(page)).toBe('unavailable');
    await expect.poll(() => transcript(page)).toEqual(['Good day']);
    expect(await accessibilityViolations(page)).toEqual([]);
    await picture(tab, 'not-configured');
  });

  test('an answer is shown without Markdown characters, as it is spoken', async () => {
    model.reply = () => 'In **winter** from ten, see [another plan](https://plans.example/winter) or `#2`.';
    await using tab = await open();
    const { page } = tab;
    await ready(page);
    await write(page, 'When is it **winter**?');
    await expect
      .poll(() => transcript(page))
      .toEqual(['When is it **winter**?', 'In winter from ten, see another plan or #2.']);
  });

  test('errors are shown in the language of the page, without technical details', async () => {
    model.reply = () => ({ status: 400, error: { message: 'bad', code: 'bad_thing' } });
    await using tab = await open({ locale: 'de' });
    const { page } = tab;
    await ready(page);
    await page.locator('.write input').fill('Guten Tag');
    await page.keyboard.press('Enter');
    await expect
      .poll(() => page.locator('.fate.failure').allTextContents())
      .toEqual([expect.stringContaining('Der Assistent konnte nicht antworten.')]);
    expect(await page.locator('main').innerText()).not.toMatch(/scripted|400|bad/);
  });

  test('a lost connection is reported, stops the answer, and is restored by itself', async () => {
    speech.reply = () => longSpeech;
    await using proxy = await startProxy(hub.url);
    proxy.sockets = 'pass';
    await using tab = await open({ base: proxy.url });
    const { page } = tab;
    await ready(page);
    await write(page, 'Good day');
    await waitUntilQueued(page);
    proxy.sockets = 'refuse';
    proxy.cutSockets();
    expect(await waitUntilSilent(page)).toBeGreaterThan(0);
    await expect.poll(() => problem(page)).toBe('lost');
    await expect.poll(() => page.locator('.fate').allTextContents()).toEqual(['Interrupted']);
    await expect.poll(() => page.getByRole('button', { name: 'Hold to talk' }).isDisabled()).toBe(true);
    await picture(tab, 'lost');
    proxy.sockets = 'pass';
    await ready(page);
    await write(page, 'And again');
    await expect.poll(() => currentVolume(page)).toBeGreaterThan(0.05);
  });

  test('on a low screen the whole page scrolls, the transcript keeps its space, and nothing overlaps', async () => {
    await using tab = await open({ locale: 'de' });
    const { page } = tab;
    await ready(page);
    for (const [width, height] of [
      [450, 380],
      [667, 320],
      [320, 256],
      [320, 568],
    ] as const) {
      await page.setViewportSize({ width, height });
      await picture(tab, `${width}x${height}-empty`);
      await expect.poll(() => page.evaluate('document.querySelector(".scroller").scrollTop')).toBe(0);
    }
    await page.locator('.write input').fill('Wann öffnen Sie?');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.turn[data-done=true]').count()).toBe(1);
    for (const [width, height, isOpen] of [
      [450, 380, false],
      [667, 320, false],
      [320, 256, false],
      [320, 568, true],
    ] as const) {
      await page.setViewportSize({ width, height });
      if (isOpen) await page.locator('summary').click();
      await page.locator('.talk').scrollIntoViewIfNeeded();
      await picture(tab, `${width}x${height}`);
      const [transcription, dockTop, dockBottom, dockHidden, cardBottom, wide] = await page.evaluate<number[]>(`(() => {
        const [scroller, dock, card] = ['.scroller', '.dock', '.voice'].map((name) => document.querySelector(name));
        const box = (element) => element.getBoundingClientRect();
        return [scroller.clientHeight, box(dock).top - box(scroller).bottom, box(dock).bottom, dock.scrollHeight - dock.clientHeight, box(card).bottom, document.documentElement.scrollWidth - innerWidth];
      })()`);
      expect(transcription).toBeGreaterThanOrEqual(150);
      expect([Math.round(dockTop as number), dockHidden, wide]).toEqual([0, 0, 0]);
      expect(dockBottom).toBeLessThanOrEqual((cardBottom as number) + 0.5);
      expect((await page.locator('.talk').boundingBox())?.height).toBeGreaterThanOrEqual(60);
    }
  });

  test.each([
    ['light-320', { viewport: { width: 320, height: 640 } }],
    ['arabic-320', { locale: 'ar', viewport: { width: 320, height: 640 }, colorScheme: 'dark' }],
    ['german-contrast', { locale: 'de', forcedColors: 'active', reducedMotion: 'reduce' }],
  ] as const)('the page is accessible and usable by keyboard: %s', async (name, options) => {
    await using tab = await open(options);
    const { page } = tab;
    await ready(page);
    await picture(tab, `${name}-ready`);
    await page.locator('.write input').fill('When do you open?');
    await page.keyboard.press('Enter');
    await expect.poll(() => page.locator('.turn[data-done=true] .latency').count()).toBe(1);
    await picture(tab, `${name}-answered`);
    await page.locator('summary').focus();
    await page.keyboard.press('Enter');
    await page.locator('.fields').waitFor();
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    expect(await page.evaluate('document.documentElement.dir')).toBe(name.startsWith('arabic') ? 'rtl' : 'ltr');
    const reached = new Set<string>();
    await page.locator('.write input').focus();
    for (let steps = 0; steps < 14; steps += 1) {
      await page.keyboard.press('Shift+Tab');
      reached.add(await page.evaluate<string>('document.activeElement.className || document.activeElement.type'));
    }
    expect([...reached]).toEqual(expect.arrayContaining(['talk', 'checkbox', 'scroller']));
    await picture(tab, `${name}-settings`);
    expect(tab.complaints).toEqual([]);
  });
});
