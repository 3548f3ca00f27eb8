import { Writable } from 'node:stream';
import { pino } from 'pino';
import { chromium } from 'playwright-core';
import type { Browser, Locator, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openTab, startHostSite } from '../fixtures/chat-tab.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { openAgent } from '../fixtures/live-chat.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import { startProxy } from '../fixtures/proxy.ts';
import { send } from '../fixtures/requests.ts';
import { chatScene } from '../fixtures/visitor.ts';
import type { ChatScene } from '../fixtures/visitor.ts';

const executable = findPageBrowser()?.path;
let hub: TestHub;
let browser: Browser;
let scene: ChatScene;
const logged: string[] = [];

beforeAll(async () => {
  const sink = new Writable({
    write(chunk: Buffer, _encoding, done) {
      logged.push(chunk.toString());
      done();
    },
  });
  hub = await startHub({}, undefined, { logger: pino({ level: 'trace' }, sink) });
  scene = await chatScene(hub);
  await scene.agent();
  if (executable !== undefined)
    browser = await chromium.launch({
      executablePath: executable,
      args: ['--no-sandbox', '--disable-gpu', '--disable-quic'],
    });
});
afterAll(async () => {
  await browser?.close();
  await hub[Symbol.asyncDispose]();
});

const pageOf = (token: string | null, base = hub.url, siteKey = scene.siteKey) =>
  `${base}/chat?siteKey=${siteKey}${token === null ? '' : `&token=${token}`}`;
const field = (page: Page) => page.getByRole('textbox', { name: 'Write a message' });
const write = async (page: Page, text: string) => {
  await field(page).fill(text);
  await field(page).press('Enter');
};
const bubbles = (page: Page) => page.locator('.bubble').allTextContents();
const settled = async (page: Page) => {
  await expect.poll(() => page.locator('[role=log]').getAttribute('aria-busy')).toBe('false');
};
const reply = (conversationId: string, content: string) =>
  scene.workspace.session.call('sendInboxMessage', {
    params: { tenantId: scene.tenantId, id: conversationId },
    body: { content },
  });
const written = async (conversationId: string) =>
  (await scene.api.call('listChatMessages', { params: { id: conversationId }, query: { limit: 100 } })).data.map(
    ({ content }) => content,
  );

describe('the chat files that the hub serves', () => {
  test('the chat page allows only the configured origins, has no inline code, and forbids caching and indexing', async () => {
    await scene.set({ allowedOrigins: ['https://www.example.org', 'http://127.0.0.1:81'], title: '<b>&"' });
    const { status, headers, text } = await send(hub.url, 'GET', `/chat?siteKey=${scene.siteKey}&token=secret`);
    expect(status).toBe(200);
    const policy = headers.get('content-security-policy') ?? '';
    expect(policy).toContain('frame-ancestors https://www.example.org http://127.0.0.1:81;');
    expect(policy).toContain("script-src 'self';");
    expect(policy).toContain("require-trusted-types-for 'script'");
    expect(policy).not.toContain('unsafe');
    expect(
      Object.fromEntries(
        ['cache-control', 'referrer-policy', 'x-robots-tag', 'x-frame-options'].map((name) => [
          name,
          headers.get(name),
        ]),
      ),
    ).toEqual({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex, nofollow',
      'x-frame-options': null,
    });
    expect(text).toContain('<title>&lt;b&gt;&amp;&quot;</title>');
    expect(text).not.toContain('secret');
    await scene.set({});
    const { headers: alone } = await send(hub.url, 'GET', `/chat?siteKey=${scene.siteKey}`);
    expect(alone.get('content-security-policy')).toContain("frame-ancestors 'none'");
    const foreign = await send(hub.url, 'GET', '/chat?siteKey=wgt_nobody');
    expect([
      foreign.status,
      foreign.headers.get('content-security-policy')?.includes("frame-ancestors 'none'"),
    ]).toEqual([404, true]);
    // Other pages of the hub keep their headers.
    const { headers: status2 } = await send(hub.url, 'GET', '/');
    expect([status2.get('x-frame-options'), status2.get('cross-origin-resource-policy')]).toEqual([
      'SAMEORIGIN',
      'same-origin',
    ]);
  });

  test('files are compressed; the loader has a short cache time and an ETag, and all others are immutable', async () => {
    const loader = await fetch(`${hub.url}/widget.js`, { headers: { 'accept-encoding': 'br' } });
    const body = await loader.text();
    expect([
      loader.headers.get('content-encoding'),
      loader.headers.get('cache-control'),
      loader.headers.get('cross-origin-resource-policy'),
    ]).toEqual(['br', 'public, max-age=300', 'cross-origin']);
    const tag = loader.headers.get('etag') as string;
    for (const tags of [tag, `W/${tag}`, `"other", W/${tag}`, '*']) {
      const headers = { 'accept-encoding': 'br', 'if-none-match': tags };
      const known = await fetch(`${hub.url}/widget.js`, { headers });
      expect([tags, known.status, await known.text()]).toEqual([tags, 304, '']);
    }
    const plain = await fetch(`${hub.url}/widget.js`, { headers: { 'accept-encoding': 'br;q=0' } });
    expect([plain.headers.get('content-encoding'), await plain.text()]).toEqual([null, body]);
    const { text } = await send(hub.url, 'GET', `/chat?siteKey=${scene.siteKey}`);
    const script = /widget\/assets\/[\w.-]+\.js/.exec(text)?.[0];
    const asset = await fetch(`${hub.url}/${script}`, { headers: { 'accept-encoding': 'gzip' } });
    expect([
      asset.headers.get('content-encoding'),
      asset.headers.get('cache-control'),
      asset.headers.get('content-type'),
    ]).toEqual(['gzip', 'public, max-age=31536000, immutable', 'text/javascript; charset=utf-8']);
    expect((await send(hub.url, 'GET', '/widget/assets/..%2fassets.json')).status).toBe(404);
  });
});

describe.skipIf(executable === undefined)('the chat page of a visitor (needs Chromium)', () => {
  test('a link opens its conversation, removes its token from the address, logs it nowhere, and survives a reload', async () => {
    const { token, conversationId } = await scene.mint();
    await reply(conversationId, 'Welcome aboard');
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token));
    await expect.poll(() => bubbles(page)).toEqual(['Welcome aboard']);
    expect(page.url()).toBe(`${hub.url}/chat?siteKey=${scene.siteKey}`);
    expect(await page.evaluate('JSON.stringify({ ...localStorage })')).toBe('{}');
    expect(
      await page.evaluate('document.cookie + JSON.stringify(sessionStorage) + document.documentElement.outerHTML'),
    ).not.toContain(token);
    expect(tab.requests.filter((url) => url.includes(token))).toEqual([pageOf(token)]);
    await page.reload();
    await expect.poll(() => bubbles(page)).toEqual(['Welcome aboard']);
    expect(tab.complaints).toEqual([]);
    expect(logged.join('')).toContain('/chat');
    expect(logged.join('')).not.toContain(token);
  });

  test('an invalid, revoked or expired link shows an error page without any conversation data', async () => {
    const other = await chatScene(hub);
    const mine = await scene.mint();
    const revoked = await scene.mint();
    const expired = await scene.mint();
    for (const { conversationId } of [mine, revoked, expired]) await reply(conversationId, 'For your eyes only');
    await scene.workspace.session.call('revokeInboxLinks', {
      params: { tenantId: scene.tenantId, id: revoked.conversationId },
    });
    await hub.database.query(
      "UPDATE chat_links SET expires_at = now() - interval '1 second' WHERE conversation_id = $1",
      [expired.conversationId],
    );
    await using tab = await openTab(browser);
    const { page } = tab;
    for (const [url, problem, heading] of [
      [pageOf(mine.token, hub.url, other.siteKey), 'invalid', 'This chat link does not work'],
      [pageOf(`${mine.token.slice(0, -2)}xx`), 'invalid', 'This chat link does not work'],
      [pageOf(revoked.token), 'invalid', 'This chat link does not work'],
      [pageOf(expired.token), 'expired', 'This chat has expired'],
      [pageOf(null), 'needed', 'You need a link to chat'],
    ] as const) {
      // The visitor of a valid link used this tab before.
      await page.goto(pageOf(mine.token));
      await expect.poll(() => bubbles(page)).toEqual(['For your eyes only']);
      if (problem === 'needed') await page.evaluate('sessionStorage.clear()');
      await page.goto(url);
      await expect.poll(() => page.locator('[data-problem]').getAttribute('data-problem')).toBe(problem);
      await expect.poll(() => page.getByRole('heading', { level: 2 }).textContent()).toBe(heading);
      expect(await page.content()).not.toContain('For your eyes only');
      expect(await accessibilityViolations(page)).toEqual([]);
    }
    expect(tab.complaints).toEqual([]);
  });

  test('a new conversation begins with the greeting of the workspace, or a default one in the language of the visitor', async () => {
    const { token } = await scene.mint();
    for (const [greeting, locale, shown] of [
      [undefined, 'de', ['Wie können wir helfen?']],
      ['Ahoy', 'de', ['Ahoy']],
      ['', 'de', []],
    ] as const) {
      await scene.set(greeting === undefined ? {} : { greeting });
      await using tab = await openTab(browser, { locale });
      await tab.page.goto(pageOf(token));
      await tab.page.locator('.log[aria-busy=false]').waitFor();
      await expect.poll(() => tab.page.locator('.greeting').allTextContents()).toEqual(shown);
    }
    await scene.set({});
  });

  test.each([
    [{}, 'de', 'Chatten Sie mit uns'],
    [{}, 'ar', 'تحدّث معنا'],
    [{ title: 'Boats' }, 'de', 'Boats'],
  ])(
    'the title is the one of the workspace, or a default one in the language of the page: %o in %s',
    async (settings, locale, title) => {
      await scene.set(settings);
      await using tab = await openTab(browser, { locale });
      await tab.page.goto(pageOf((await scene.mint()).token));
      await settled(tab.page);
      expect([await tab.page.title(), await tab.page.locator('header bdi').textContent()]).toEqual([title, title]);
      await scene.set({});
    },
  );

  test('a blocked visitor sees that they are blocked, immediately and whenever they open their link again', async () => {
    const { token, conversationId } = await scene.mint();
    const params = { tenantId: scene.tenantId, id: conversationId };
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token));
    await field(page).waitFor();
    const { visitor } = await scene.workspace.session.call('getInboxConversation', { params });
    const id = visitor?.id as string;
    await scene.workspace.session.call('blockInboxVisitor', { params: { ...params, id } });
    await page.locator('[data-problem=blocked]').waitFor();
    await page.goto(pageOf(token));
    await page.locator('[data-problem=blocked]').waitFor();
    expect(await page.getByRole('heading', { level: 2 }).textContent()).toBe('This chat is closed to you');
  });

  test('visitor and agent exchange messages live, with read receipts and presence', async () => {
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token));
    await settled(page);
    await write(page, 'Is anybody there?');
    await expect.poll(() => written(conversationId)).toEqual(['Is anybody there?']);
    await expect.poll(() => page.locator('.fate').textContent()).toBe('Sent');
    await reply(conversationId, 'Yes, I am.');
    await expect.poll(() => bubbles(page)).toEqual(['Is anybody there?', 'Yes, I am.']);
    // An agent without a display name has a neutral name.
    await expect.poll(() => page.locator('.other .meta bdi').textContent()).toBe('Support');
    await scene.workspace.session.call('readInboxConversation', {
      params: { tenantId: scene.tenantId, id: conversationId },
      body: { seq: 1 },
    });
    await expect.poll(() => page.locator('.fate').textContent()).toBe('Read');
    expect(tab.requests.some((url) => url.startsWith('ws:'))).toBe(true);
    expect(tab.complaints).toEqual([]);
  });

  test('outside business hours the page shows no agent as online', async () => {
    await scene.set({ businessHours: { timeZone: 'UTC', periods: [], awayMessage: 'Back on Monday' } });
    try {
      const { token } = await scene.mint();
      await using tab = await openTab(browser);
      const { page } = tab;
      await page.goto(pageOf(token));
      await settled(page);
      await page.getByText('Back on Monday').waitFor();
      await expect.poll(() => page.locator('header .dot, header p').count()).toBe(0);
      await scene.set({});
      await page.reload();
      await expect.poll(() => page.locator('header p').textContent()).toMatch(/Online|Away/);
    } finally {
      await scene.set({});
    }
  });

  test('presence and typing are shown live on both sides, and a sound plays only while the page is hidden', async () => {
    const own = await chatScene(hub);
    const { token, conversationId } = await own.mint();
    const { tenantId, workspace } = own;
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.addInitScript(
      `window.tones = 0; const make = AudioContext.prototype.createOscillator; AudioContext.prototype.createOscillator = function () { window.tones += 1; return make.call(this); };`,
    );
    const tones = () => page.evaluate<number>('tones');
    const sendReply = (content: string) =>
      workspace.session.call('sendInboxMessage', { params: { tenantId, id: conversationId }, body: { content } });
    await page.goto(pageOf(token, hub.url, own.siteKey));
    await settled(page);
    await expect.poll(() => page.locator('header p').textContent()).toBe('Away');
    await workspace.session.call('updateMe', { body: { displayName: 'Ann B.' } });
    const inbox = await openAgent(hub.url, tenantId, workspace.jwt);
    await expect.poll(() => page.locator('header p').textContent()).toBe('Online');

    await field(page).pressSequentially('He');
    // Later frames say that the visitor still types, and that typing has ended.
    await expect
      .poll(() => inbox.frames.find(({ type }) => type === 'typing'))
      .toMatchObject({ conversationId, who: 'visitor', typing: true });
    // The page shows it for 10 seconds.
    const shown = page.getByText('Ann B. is typing').waitFor();
    inbox.send({ type: 'typing', conversationId, typing: true });
    await shown;
    await sendReply('While they look');
    await expect.poll(() => bubbles(page)).toEqual(['While they look']);
    await expect.poll(() => page.locator('.typing').count()).toBe(0);
    await hide(page, true);
    await sendReply('While they do not');
    await expect.poll(() => page.title()).toBe('(1) Chat with us');
    await expect.poll(tones).toBe(2);

    inbox.send({ type: 'presence', presence: 'away' });
    await expect.poll(() => page.locator('header p').textContent()).toBe('Away');
    inbox.end();
  });

  test('two tabs of a visitor show the same messages, and a message read in one is not unread in the other', async () => {
    const { token, conversationId } = await scene.mint();
    await using one = await openTab(browser);
    await using two = await openTab(browser);
    await one.page.goto(pageOf(token));
    await two.page.goto(pageOf(token));
    await settled(one.page);
    await settled(two.page);
    await hide(two.page, true);
    await write(one.page, 'From the first');
    await expect.poll(() => bubbles(two.page)).toEqual(['From the first']);
    await hide(one.page, true);
    await reply(conversationId, 'To both');
    await expect.poll(() => two.page.title()).toBe('(1) Chat with us');
    await hide(one.page, false);
    await expect.poll(() => one.page.title()).toBe('Chat with us');
    await expect.poll(() => two.page.title()).toBe('Chat with us');
  });

  test.each([
    ['an event stream if WebSockets are blocked', false],
    ['polling if WebSockets and event streams are blocked', true],
  ])('messages arrive by %s', async (_name, areStreamsBlocked) => {
    await using proxy = await startProxy(hub.url);
    proxy.fault = ({ path }) =>
      areStreamsBlocked && path.startsWith('/widget/v1/events') ? { answer: { status: 502 } } : undefined;
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token, proxy.url));
    await settled(page);
    await expect
      .poll(() => proxy.requests.filter(({ path }) => path.startsWith('/widget/v1/events')).length)
      .toBeGreaterThan(0);
    await reply(conversationId, 'By another way');
    await expect.poll(() => bubbles(page)).toEqual(['By another way']);
    await write(page, 'And back');
    await expect.poll(() => written(conversationId)).toEqual(['By another way', 'And back']);
  });

  test('a connection that drops silently is detected within 45 seconds, and missed messages appear', async () => {
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    let isSilent = false;
    let sockets = 0;
    await page.routeWebSocket(/\/widget\/v1\/live/, (socket) => {
      sockets += 1;
      const isFirst = sockets === 1;
      const server = socket.connectToServer();
      server.onMessage((message) => (isSilent && isFirst) || socket.send(message));
    });
    await page.clock.install();
    await page.goto(pageOf(token));
    await settled(page);
    await expect.poll(() => sockets).toBe(1);
    // The clock of the page is paused and moved only by the test, so that a slow machine does not matter. The time must
    // be in the future when the pause begins.
    await page.clock.pauseAt((await page.evaluate(() => Date.now())) + 20_000);
    // The connection is alive at the paused time.
    await reply(conversationId, 'Before the silence');
    await expect.poll(() => bubbles(page)).toEqual(['Before the silence']);
    isSilent = true;
    await reply(conversationId, 'Into the void');
    await page.clock.runFor(40_000);
    expect(sockets).toBe(1);
    await page.clock.runFor(10_000);
    await page.clock.resume();
    await expect.poll(() => sockets).toBe(2);
    await expect.poll(() => bubbles(page)).toEqual(['Before the silence', 'Into the void']);
  });

  test('messages sent while the machine slept appear when it wakes', async () => {
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    let isAsleep = false;
    let sockets = 0;
    await page.routeWebSocket(/\/widget\/v1\/live/, (socket) => {
      sockets += 1;
      const server = socket.connectToServer();
      const isUnreachable = () => isAsleep && sockets === 1;
      server.onMessage((message) => isUnreachable() || socket.send(message));
      socket.onMessage((message) => isUnreachable() || server.send(message));
    });
    await page.clock.install();
    await page.goto(pageOf(token));
    await settled(page);
    await expect.poll(() => sockets).toBe(1);
    isAsleep = true;
    await reply(conversationId, 'While you slept');
    // Timers fire at most once, as after a sleep of the machine.
    await page.clock.fastForward('08:00:00');
    await expect.poll(() => bubbles(page)).toEqual(['While you slept']);
    await expect.poll(() => sockets).toBe(2);
    await write(page, 'Good morning');
    await expect.poll(() => written(conversationId)).toEqual(['While you slept', 'Good morning']);
  });

  test('messages sent while the hub was down, and a lost event, appear afterwards', async () => {
    await using proxy = await startProxy(hub.url);
    proxy.sockets = 'pass';
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    let losesMessages = false;
    await page.routeWebSocket(/\/widget\/v1\/live/, (socket) => {
      const server = socket.connectToServer();
      server.onMessage(
        (message) =>
          (losesMessages && /"type":"(?:message|conversation)"/.test(String(message))) || socket.send(message),
      );
    });
    await page.goto(pageOf(token, proxy.url));
    await settled(page);
    proxy.fault = () => ({ answer: { status: 502 } });
    proxy.sockets = 'refuse';
    proxy.cutSockets();
    await page.getByText('Connection lost. Reconnecting…').waitFor();
    await expect.poll(() => page.locator('header .dot').count()).toBe(0);
    await expect.poll(() => page.locator('header p').count()).toBe(0);
    await reply(conversationId, 'While you were away');
    proxy.fault = () => undefined;
    proxy.sockets = 'pass';
    await expect.poll(() => bubbles(page)).toEqual(['While you were away']);
    await expect.poll(() => page.getByText('Connection lost. Reconnecting…').count()).toBe(0);
    losesMessages = true;
    await reply(conversationId, 'Lost on its way');
    await expect.poll(() => bubbles(page)).toEqual(['While you were away', 'Lost on its way']);
  });

  test('messages written while the hub is unreachable are sent once and in order, also after a reload', async () => {
    await using proxy = await startProxy(hub.url);
    proxy.sockets = 'pass';
    const { token, conversationId } = await scene.mint();
    let fault: 'lose request' | 'lose answer' | undefined;
    proxy.fault = ({ path, method }) => (method === 'POST' && path === '/widget/v1/messages' ? fault : undefined);
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token, proxy.url));
    await settled(page);
    fault = 'lose answer';
    await write(page, 'one');
    await expect.poll(() => written(conversationId)).toEqual(['one']);
    fault = 'lose request';
    for (const text of ['two', 'three', 'four']) await write(page, text);
    await page.reload();
    await expect.poll(() => bubbles(page)).toEqual(['one', 'two', 'three', 'four']);
    await write(page, 'five');
    fault = undefined;
    await expect.poll(() => written(conversationId)).toEqual(['one', 'two', 'three', 'four', 'five']);
    await expect.poll(() => page.locator('.fate').allTextContents()).toEqual(['Sent']);
    await expect.poll(() => bubbles(page)).toEqual(['one', 'two', 'three', 'four', 'five']);
  });

  test('hostile text is shown as text, only http and https addresses become links, and typed text causes no request', async () => {
    const { token, conversationId } = await scene.mint();
    const hostile =
      '<img src="https://evil.example/a.png" onerror="document.title=1"><script>document.title=2</script> javascript:alert(1) https://good.example/x?a=1#b';
    await reply(conversationId, hostile);
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token));
    await expect.poll(() => bubbles(page)).toEqual([hostile]);
    const link = page.locator('.bubble a');
    expect(
      await link.evaluateAll((all) =>
        all.map((one) =>
          ['href', 'rel', 'target'].map((name) =>
            (one as unknown as { getAttribute(name: string): string }).getAttribute(name),
          ),
        ),
      ),
    ).toEqual([
      ['https://evil.example/a.png', 'noopener noreferrer nofollow', '_blank'],
      ['https://good.example/x?a=1#b', 'noopener noreferrer nofollow', '_blank'],
    ]);
    const before = tab.requests.length;
    await write(page, hostile);
    await expect.poll(() => bubbles(page)).toEqual([hostile, hostile]);
    await expect.poll(() => page.locator('.fate').textContent()).toBe('Sent');
    // The browser may report the WebSocket only now.
    const ownPaths = [`${hub.url}/widget/v1/`, `${hub.url.replace('http', 'ws')}/widget/v1/`];
    expect(tab.requests.slice(before).filter((url) => !ownPaths.some((path) => url.startsWith(path)))).toEqual([]);
    expect(await page.title()).toBe('Chat with us');
    expect(tab.complaints).toEqual([]);
  });

  test('a missed agent message appears before the message that the visitor writes after it', async () => {
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.routeWebSocket(/\/live/, (socket) => socket.close());
    await page.route(/\/widget\/v1\/events/, (route) => route.abort());
    await page.goto(pageOf(token));
    await settled(page);
    await reply(conversationId, 'Written first');
    await write(page, 'Written second');
    await expect.poll(() => bubbles(page)).toEqual(['Written first', 'Written second']);
  });

  test('a draft is restored after a reload, but not for the next visitor', async () => {
    const [first, second] = [await scene.mint(), await scene.mint()];
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(first.token));
    await settled(page);
    await field(page).fill('Typed by the first');
    await page.reload();
    await expect.poll(() => field(page).inputValue()).toBe('Typed by the first');
    await page.goto(pageOf(second.token));
    await settled(page);
    await expect.poll(() => field(page).inputValue()).toBe('');
  });

  test('a visitor rates a closed conversation, and a new one starts with the draft and the selected files', async () => {
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token));
    await settled(page);
    await write(page, 'Thank you');
    await expect.poll(() => written(conversationId)).toEqual(['Thank you']);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('a plan') });
    await page.getByRole('button', { name: 'Remove plan.txt' }).waitFor();
    await field(page).fill('One more thing');
    await scene.close(conversationId);
    await page.getByText('This conversation was closed.').waitFor();
    await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Start a new conversation');
    const kept = page.getByRole('group', { name: 'Not sent. It goes into the new conversation:' });
    expect(await kept.locator('p').allTextContents()).toEqual([
      'Not sent. It goes into the new conversation:',
      'One more thing',
      'plan.txt',
    ]);
    await page.getByRole('radio', { name: '4 of 5' }).check();
    await page.getByRole('textbox', { name: 'Anything you would like to add?' }).fill('Quick');
    expect(await accessibilityViolations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Send rating' }).click();
    await page.getByText('Thank you for your rating.').waitFor();
    expect(
      await hub.database.query('SELECT score, comment FROM chat_ratings WHERE conversation_id = $1', [conversationId]),
    ).toEqual([{ score: 4, comment: 'Quick' }]);
    await page.getByRole('button', { name: 'Start a new conversation' }).click();
    await expect.poll(() => field(page).inputValue()).toBe('One more thing');
    await page.getByRole('button', { name: 'Remove plan.txt' }).waitFor();
    await expect.poll(() => page.getByRole('progressbar').count()).toBe(0);
    await field(page).press('Enter');
    await expect.poll(() => bubbles(page)).toEqual(['One more thing']);
    await expect.poll(() => page.locator('.row .file .name').allTextContents()).toEqual(['plan.txt']);
    await expect.poll(() => page.locator('.fate').textContent()).toBe('Sent');
    expect(await written(conversationId)).toEqual(['Thank you']);
    expect(tab.complaints).toEqual([]);
  });

  test('a message in transit when its conversation is closed goes into the new one with its file', async () => {
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token));
    await settled(page);
    const closed = Promise.withResolvers<void>();
    await page.route(/\/widget\/v1\/messages$/, async (route) => {
      await closed.promise;
      await route.continue();
    });
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'plan.txt', mimeType: 'text/plain', buffer: Buffer.from('a plan') });
    await page.getByRole('button', { name: 'Remove plan.txt' }).waitFor();
    await expect.poll(() => page.getByRole('progressbar').count()).toBe(0);
    await write(page, 'Just now');
    await scene.close(conversationId);
    closed.resolve();
    const kept = page.getByRole('group', { name: 'Not sent. It goes into the new conversation:' });
    await expect.poll(() => kept.locator('p').allTextContents()).toContain('plan.txt');
    await expect.poll(() => kept.locator('p').allTextContents()).toContain('Just now');
    await page.getByRole('button', { name: 'Start a new conversation' }).click();
    await page.getByRole('button', { name: 'Remove plan.txt' }).waitFor();
    await expect.poll(() => page.getByRole('progressbar').count()).toBe(0);
    await field(page).press('Enter');
    await expect.poll(() => bubbles(page)).toEqual(['Just now']);
    await expect.poll(() => page.locator('.row .file .name').allTextContents()).toEqual(['plan.txt']);
    await expect.poll(() => page.locator('.fate').textContent()).toBe('Sent');
    expect(await written(conversationId)).toEqual([]);
  });

  test('files show their progress, can be cancelled and retried, do not block messages when they fail, and pictures are shown', async () => {
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token));
    await settled(page);
    const choose = page.locator('input[type=file]');
    const picture = Buffer.from(await page.screenshot());
    const delayed = Promise.withResolvers<void>();
    await page.route(/\/widget\/v1\/files\?name=slow/, async (route) => {
      await delayed.promise;
      await route.abort();
    });
    await choose.setInputFiles([
      { name: 'slow.txt', mimeType: 'text/plain', buffer: Buffer.from('slow') },
      { name: 'boat.png', mimeType: 'image/png', buffer: picture },
    ]);
    await page.getByRole('progressbar', { name: 'slow.txt' }).waitFor();
    await page.getByRole('button', { name: 'Cancel slow.txt' }).click();
    await page.getByRole('button', { name: 'Remove boat.png' }).waitFor();
    await choose.setInputFiles({
      name: 'program.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1, 2]),
    });
    await page.getByText('Only pictures, PDF, text and sound can be sent.').waitFor();
    let attempts = 0;
    await page.route(/\/widget\/v1\/files\?name=flaky/, (route) =>
      (attempts += 1) === 1 ? route.abort() : route.continue(),
    );
    await choose.setInputFiles(
      ['flaky', 'two', 'three', 'four'].map((name) => ({
        name: `${name}.txt`,
        mimeType: 'text/plain',
        buffer: Buffer.from(name),
      })),
    );
    await page.getByRole('button', { name: 'Try again: flaky.txt' }).click();
    await expect.poll(() => page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    // Five files including the picture. Refused files do not count.
    await expect.poll(() => page.getByText('A message takes at most').count()).toBe(0);
    await expect.poll(() => page.getByRole('progressbar').count()).toBe(0);
    await page.getByRole('button', { name: 'Send message' }).click();
    await expect
      .poll(() =>
        page
          .locator('.picture img')
          .evaluateAll((all) => all.map((one) => (one as unknown as { naturalWidth: number }).naturalWidth > 0)),
      )
      .toEqual([true]);
    // The page shows a sent message before the hub stores it.
    const storedFiles = async () => {
      const { data } = await scene.api.call('listChatMessages', { params: { id: conversationId } });
      return data.map(({ attachments }) => attachments.map(({ name }) => name));
    };
    await expect.poll(storedFiles).toEqual([['boat.png', 'flaky.txt', 'two.txt', 'three.txt', 'four.txt']]);
    // Refused files disappear when the message is sent.
    await expect.poll(() => page.getByRole('button', { name: 'Remove' }).count()).toBe(0);
    expect(tab.complaints).toEqual([]);
    delayed.resolve();
  });

  test('audio files can be played in the page', async () => {
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token));
    await settled(page);
    await page
      .locator('input[type=file]')
      .setInputFiles({ name: 'bell.wav', mimeType: 'audio/wav', buffer: secondOfSound });
    await page.getByRole('button', { name: 'Remove bell.wav' }).waitFor();
    await expect.poll(() => page.getByRole('progressbar').count()).toBe(0);
    await page.getByRole('button', { name: 'Send message' }).click();
    await expect
      .poll(() =>
        page.locator('audio').evaluateAll((all) => all.map((one) => (one as unknown as { duration: number }).duration)),
      )
      .toEqual([1]);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.complaints).toEqual([]);
    await expect.poll(() => written(conversationId)).toEqual(['']);
  });

  test('a conversation without messages asks for no rating', async () => {
    const { token, conversationId } = await scene.mint();
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token));
    await settled(page);
    await scene.close(conversationId);
    await page.getByRole('button', { name: 'Start a new conversation' }).waitFor();
    expect(await page.getByRole('radio').count()).toBe(0);
  });

  test('of 10,000 messages only those near the viewport are rendered, and the scroll position is stable', async () => {
    const { token, conversationId } = await scene.mint();
    await hub.database.query(
      `INSERT INTO chat_messages (id, tenant_id, conversation_id, position, seq, content, sender_type, created_at)
       SELECT gen_random_uuid(), $1, $2, n, n, 'message ' || n || repeat(' and so on', n % 9), CASE WHEN n % 3 = 0 THEN 'agent' ELSE 'api' END,
         now() - make_interval(secs => 10 * (10000 - n)) FROM generate_series(1, 10000) n`,
      [scene.tenantId, conversationId],
    );
    await hub.database.query('UPDATE chat_conversations SET last_seq = 10000, last_position = 10000 WHERE id = $1', [
      conversationId,
    ]);
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(pageOf(token));
    await expect.poll(async () => (await bubbles(page)).at(-1)).toContain('message 10000');
    const scroller = page.getByRole('region', { name: 'Messages' });
    const oldest = () => page.locator('.chunk').count();
    // A thousand messages are enough to see that the number of rendered ones does not grow.
    for (let chunks = 1; chunks < 20;) {
      await expect
        .poll(async () => {
          await scrollUp(scroller, 1);
          return oldest();
        })
        .toBeGreaterThan(chunks);
      chunks = await oldest();
    }
    await expect.poll(() => page.locator('.message').count()).toBeLessThan(400);
    await scrollUp(scroller, 0.5);
    await expect.poll(() => page.locator('.message').count()).toBeLessThan(600);
    const seen = () =>
      page.evaluate(() => {
        const { document } = globalThis as unknown as {
          document: {
            elementFromPoint(
              x: number,
              y: number,
            ): {
              closest(selector: string): { dataset: { seq: string }; getBoundingClientRect(): { top: number } } | null;
            } | null;
          };
        };
        // Some points show a date instead of a message.
        for (const y of [300, 360, 420]) {
          const row = document.elementFromPoint(240, y)?.closest('.message');
          if (row) return [row.dataset.seq, Math.round(row.getBoundingClientRect().top)];
        }
        return null;
      });
    await expect.poll(seen).not.toBeNull();
    // Each frame may render other messages.
    const afterFrames = () =>
      page.evaluate(
        'new Promise((done) => { let frames = 0; const next = () => ((frames += 1) === 20 ? done() : requestAnimationFrame(next)); next(); })',
      );
    await expect
      .poll(async () => JSON.stringify(await seen()) === JSON.stringify((await afterFrames(), await seen())))
      .toBe(true);
    const before = await seen();
    await reply(conversationId, 'What comes meanwhile');
    await page.getByRole('button', { name: '1 new message' }).waitFor();
    const after = await seen();
    expect(after?.[0]).toBe(before?.[0]);
    // Heights are fractions of pixels.
    expect(Math.abs(Number(after?.[1]) - Number(before?.[1]))).toBeLessThanOrEqual(2);
    await page.getByRole('button', { name: '1 new message' }).click();
    await expect.poll(async () => (await bubbles(page)).at(-1)).toBe('What comes meanwhile');
  });

  describe.each(['light', 'dark'] as const)('in %s', (colorScheme) => {
    test('the page is accessible at 320 pixels, at double scale, with forced colours, reduced motion and right to left', async () => {
      const { token, conversationId } = await scene.mint();
      await reply(conversationId, `A long word: ${'W'.repeat(300)} and https://example.org/${'path/'.repeat(40)}`);
      for (const options of [
        { viewport: { width: 320, height: 640 } },
        { viewport: { width: 640, height: 400 }, deviceScaleFactor: 2 },
        { forcedColors: 'active' as const, reducedMotion: 'reduce' as const },
        { locale: 'ar' },
        { locale: 'ja' },
      ]) {
        await using tab = await openTab(browser, { colorScheme, ...options });
        const { page } = tab;
        await page.goto(pageOf(token));
        await expect.poll(() => page.locator('.bubble').count()).toBe(1);
        expect(await accessibilityViolations(page)).toEqual([]);
        expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
        expect(
          await page.evaluate(
            "document.querySelector('.scroller').scrollWidth <= document.querySelector('.scroller').clientWidth",
          ),
        ).toBe(true);
        if (options.forcedColors === 'active') {
          await field(page).focus();
          expect(
            await page.evaluate(
              'getComputedStyle(document.activeElement).outlineStyle + getComputedStyle(document.activeElement).outlineWidth',
            ),
          ).toBe('solid2px');
        }
        if (options.locale === 'ar')
          await expect
            .poll(() => page.evaluate('document.documentElement.dir + document.documentElement.lang'))
            .toBe('rtlar');
        expect(tab.complaints).toEqual([]);
      }
    });
  });

  test('a visitor without a link starts a conversation if the settings allow it, and gives a name if the settings require one', async () => {
    await scene.set({
      allowAnonymous: true,
      preChat: { name: 'required', email: 'off' },
      greeting: 'Ahoy',
      locale: 'de',
    });
    try {
      await using tab = await openTab(browser);
      const { page } = tab;
      await page.goto(pageOf(null));
      await page.getByText('Ahoy').waitFor();
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await page.getByLabel('Ihre E-Mail-Adresse').count()).toBe(0);
      await page.getByLabel('Ihr Name').fill('Ann');
      await page.getByLabel('Wie können wir helfen?').fill('Haben Sie Seile?');
      await page.getByRole('button', { name: 'Chat beginnen' }).click();
      await expect.poll(() => bubbles(page)).toEqual(['Haben Sie Seile?']);
      await expect.poll(() => page.locator('.fate').textContent()).toBe('Gesendet');
      const visitors = await hub.database.query(
        "SELECT id FROM chat_visitors WHERE tenant_id = $1 AND display_name = 'Ann' AND external_id IS NULL",
        [scene.tenantId],
      );
      expect(visitors).toHaveLength(1);
      // A visitor who came without a link sees no message about links.
      const [{ id }] = visitors as [{ id: string }];
      const [{ conversationId }] = (await hub.database.query(
        'SELECT id AS "conversationId" FROM chat_conversations WHERE visitor_id = $1',
        [id],
      )) as [{ conversationId: string }];
      await scene.workspace.session.call('revokeInboxLinks', {
        params: { tenantId: scene.tenantId, id: conversationId },
      });
      await page.locator('[data-problem=over]').waitFor();
      await expect.poll(() => page.getByRole('heading', { level: 2 }).textContent()).toBe('Dieser Chat ist beendet');
      expect(tab.complaints).toEqual([]);
    } finally {
      await scene.set({});
    }
  });
});

/** Silence with 8 bits at 8 kHz. */
const secondOfSound = (() => {
  const header = Buffer.alloc(44);
  header.write('RIFF', 0, 'latin1');
  header.writeUInt32LE(36 + 8_000, 4);
  header.write('WAVEfmt ', 8, 'latin1');
  for (const [at, value] of [
    [16, 16],
    [24, 8_000],
    [28, 8_000],
    [40, 8_000],
  ] as const)
    header.writeUInt32LE(value, at);
  for (const [at, value] of [
    [20, 1],
    [22, 1],
    [32, 1],
    [34, 8],
  ] as const)
    header.writeUInt16LE(value, at);
  header.write('data', 36, 'latin1');
  return Buffer.concat([header, Buffer.alloc(8_000, 128)]);
})();

/** Scrolls up to a fraction of the height. */
const scrollUp = (scroller: Locator, part: number) =>
  scroller.evaluate((element, by) => {
    const list = element as unknown as { scrollHeight: number; scrollTo(x: number, y: number): void };
    list.scrollTo(0, -list.scrollHeight * by);
  }, part);

/** Simulates another tab in front of this one. */
const hide = (page: Page, isHidden: boolean) =>
  page.evaluate(
    `Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} }); document.dispatchEvent(new Event('visibilitychange'));`,
  );

describe.skipIf(executable === undefined)('the widget (needs Chromium)', () => {
  const frameOf = (page: Page) => page.frameLocator('outrigger-chat iframe');
  const visibleTexts = (page: Page) => frameOf(page).locator('.bubble').allTextContents();
  const hostEvents = async (page: Page) => (await page.evaluate<[string, unknown][]>('heard')).map(([name]) => name);

  test('works under a strict content security policy, loads nothing before it is opened, and shifts no layout', async () => {
    await using site = await startHostSite(hub.url, scene.siteKey, 2);
    await scene.set({ allowedOrigins: [site.origin], colour: '#0a7d4f' });
    const { token, conversationId } = await scene.mint();
    await reply(conversationId, 'Hello from the shop');
    await using tab = await openTab(browser, { viewport: { width: 1000, height: 700 } });
    const { page } = tab;
    await page.addInitScript(
      `window.shifts = 0; new PerformanceObserver((list) => { for (const entry of list.getEntries()) shifts += entry.value; }).observe({ type: 'layout-shift', buffered: true });`,
    );
    await page.goto(`${site.origin}/?token=${token}`);
    const launcher = page.getByRole('button', { name: 'Open chat' });
    await launcher.waitFor();
    // Including the script twice creates one widget.
    expect(await page.locator('outrigger-chat').count()).toBe(1);
    expect(tab.requests.filter((url) => url.startsWith(hub.url))).toEqual([`${hub.url}/widget.js`]);
    expect(await page.evaluate('JSON.stringify(sessionStorage) + JSON.stringify(localStorage) + document.cookie')).toBe(
      '{}{}',
    );
    expect(await accessibilityViolations(page)).toEqual([]);
    await launcher.press('Enter');
    await expect.poll(() => visibleTexts(page)).toEqual(['Hello from the shop']);
    expect(tab.requests.filter((url) => url.includes(token))).toEqual([`${site.origin}/?token=${token}`]);
    await expect.poll(() => frameOf(page).locator('textarea:focus').count()).toBe(1);
    // The site gets the event of a message also while the chat is open.
    await reply(conversationId, 'While it is open');
    await expect.poll(() => visibleTexts(page)).toEqual(['Hello from the shop', 'While it is open']);
    await expect.poll(() => hostEvents(page)).toContain('message');
    await frameOf(page).locator('textarea').fill('From the widget');
    await frameOf(page).locator('textarea').press('Enter');
    await expect
      .poll(() => written(conversationId))
      .toEqual(['Hello from the shop', 'While it is open', 'From the widget']);
    await frameOf(page).locator('textarea').press('Escape');
    await expect
      .poll(() => page.evaluate('document.activeElement.shadowRoot?.activeElement?.ariaLabel'))
      .toBe('Open chat');
    await reply(conversationId, 'While it is closed');
    await expect.poll(() => page.locator('outrigger-chat b').textContent()).toBe('1');
    await page.evaluate("Outrigger('send', 'From the host')");
    await expect.poll(() => written(conversationId)).toContain('From the host');
    await expect
      .poll(() => hostEvents(page))
      .toEqual(expect.arrayContaining(['ready', 'open', 'close', 'unread', 'message']));
    await page.evaluate("Outrigger('on', 'ready', () => heard.push(['ready, late']))");
    expect((await hostEvents(page)).filter((name) => name.startsWith('ready'))).toEqual([
      'ready',
      'ready behind boot',
      'ready, late',
    ]);
    expect(await page.evaluate('shifts')).toBe(0);
    expect(tab.complaints).toEqual([]);
  });

  test('another visitor sees no data of the first, and shutdown removes all data', async () => {
    await using site = await startHostSite(hub.url, scene.siteKey);
    await scene.set({ allowedOrigins: [site.origin] });
    const [first, second] = [await scene.mint(), await scene.mint()];
    await reply(first.conversationId, 'For the first');
    await reply(second.conversationId, 'For the second');
    await using tab = await openTab(browser, { viewport: { width: 1000, height: 700 } });
    const { page } = tab;
    await page.goto(`${site.origin}/?token=${first.token}`);
    await page.getByRole('button', { name: 'Open chat' }).click();
    await expect.poll(() => visibleTexts(page)).toEqual(['For the first']);
    await frameOf(page).locator('textarea').fill('Typed by the first');
    await page.evaluate(`Outrigger('boot', { token: ${JSON.stringify(second.token)} }); Outrigger('open')`);
    await expect.poll(() => page.locator('outrigger-chat').count()).toBe(1);
    await expect.poll(() => visibleTexts(page)).toEqual(['For the second']);
    await expect.poll(() => frameOf(page).locator('textarea').inputValue()).toBe('');
    await page.evaluate("Outrigger('shutdown')");
    await expect.poll(() => page.locator('outrigger-chat').count()).toBe(0);
    expect(await page.evaluate('JSON.stringify(sessionStorage) + JSON.stringify(localStorage)')).toBe('{}{}');
    await expect.poll(() => page.frames().length).toBe(1);
    // Without a token the visitor is anonymous.
    await page.evaluate(
      "Outrigger('on', 'error', ({ code }) => heard.push([code])); Outrigger('boot'); Outrigger('open')",
    );
    await frameOf(page).locator('[data-problem=needed]').waitFor();
    await expect.poll(() => hostEvents(page)).toContain('token_required');
    expect(tab.complaints).toEqual([expect.stringContaining('Outrigger: This chat takes only visitors with a token.')]);
  });

  test('calls before the session starts are sent once it starts, and of two tokens the later one is used', async () => {
    await using site = await startHostSite(hub.url, scene.siteKey);
    await scene.set({ allowedOrigins: [site.origin] });
    const [first, second, third] = [await scene.mint(), await scene.mint(), await scene.mint()];
    await using tab = await openTab(browser);
    const { page } = tab;
    const sockets = new Set<unknown>();
    page.on('websocket', (socket) => {
      sockets.add(socket);
      socket.on('close', () => sockets.delete(socket));
    });
    await page.goto(`${site.origin}/?token=${first.token}`);
    await page.getByRole('button', { name: 'Open chat' }).waitFor();
    await page.evaluate("Outrigger('send', 'One'); Outrigger('send', 'Two')");
    await expect.poll(() => written(first.conversationId)).toEqual(['One', 'Two']);
    await page.evaluate(
      `Outrigger('update', { token: ${JSON.stringify(second.token)} }); Outrigger('update', { token: ${JSON.stringify(third.token)} }); Outrigger('send', 'Three')`,
    );
    await expect.poll(() => written(third.conversationId)).toEqual(['Three']);
    await expect.poll(() => sockets.size).toBe(1);
    expect(await written(second.conversationId)).toEqual([]);
    expect(tab.complaints).toEqual([]);
  });

  test('draft and selected files stay when the site renews the token of the visitor, and do not appear for another visitor', async () => {
    await using site = await startHostSite(hub.url, scene.siteKey);
    await scene.set({ allowedOrigins: [site.origin] });
    const [first, again, other] = [await scene.mint('staying'), await scene.mint('staying'), await scene.mint()];
    await reply(first.conversationId, 'For who stays');
    await reply(other.conversationId, 'For another');
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(`${site.origin}/?token=${first.token}`);
    await page.getByRole('button', { name: 'Open chat' }).click();
    await expect.poll(() => visibleTexts(page)).toEqual(['For who stays']);
    const chosen = frameOf(page).getByRole('button', { name: 'Remove kept.txt' });
    await frameOf(page)
      .locator('input[type=file]')
      .setInputFiles({ name: 'kept.txt', mimeType: 'text/plain', buffer: Buffer.from('kept') });
    await chosen.waitFor();
    await frameOf(page).locator('textarea').fill('Typed before');
    await Promise.all([
      page.waitForResponse((response) => response.url().endsWith('/widget/v1/token')),
      page.waitForResponse((response) => response.url().includes('/widget/v1/files?name=kept.txt')),
      page.evaluate(`Outrigger('update', { token: ${JSON.stringify(again.token)} })`),
    ]);
    await chosen.waitFor();
    await expect.poll(() => frameOf(page).locator('textarea').inputValue()).toBe('Typed before');
    await page.evaluate(`Outrigger('update', { token: ${JSON.stringify(other.token)} })`);
    await expect.poll(() => visibleTexts(page)).toEqual(['For another']);
    await expect.poll(() => frameOf(page).locator('textarea').inputValue()).toBe('');
    await expect.poll(() => chosen.count()).toBe(0);
  });

  test('the site is notified of an expired token, and a new token continues the conversation', async () => {
    await using site = await startHostSite(hub.url, scene.siteKey);
    await scene.set({ allowedOrigins: [site.origin] });
    const { token, conversationId } = await scene.mint('returning');
    await reply(conversationId, 'Welcome back');
    await hub.database.query(
      "UPDATE chat_links SET expires_at = now() - interval '1 second' WHERE conversation_id = $1",
      [conversationId],
    );
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(`${site.origin}/?token=${token}`);
    await page.getByRole('button', { name: 'Open chat' }).click();
    await expect.poll(() => hostEvents(page)).toContain('tokenExpired');
    const renewed = await scene.mint('returning');
    await page.evaluate(`Outrigger('update', { token: ${JSON.stringify(renewed.token)} })`);
    await expect.poll(() => visibleTexts(page)).toEqual(['Welcome back']);
  });

  test('a site that is not allowed cannot show the chat in a frame, and its console shows the remedy', async () => {
    await using site = await startHostSite(hub.url, scene.siteKey);
    await scene.set({ allowedOrigins: ['https://www.example.org'] });
    const { token, conversationId } = await scene.mint();
    await reply(conversationId, 'Not for here');
    await using tab = await openTab(browser);
    const { page } = tab;
    await page.goto(`${site.origin}/?token=${token}`);
    await page.getByRole('button', { name: 'Open chat' }).click();
    await expect.poll(() => tab.complaints.join('\n')).toContain('frame-ancestors');
    await expect.poll(() => page.locator('outrigger-chat p').isVisible()).toBe(true);
    await expect.poll(() => page.locator('outrigger-chat p').textContent()).toBe('The chat can’t be opened here.');
    const failed = (await page.evaluate<[string, { code: string; message: string }][]>('heard')).find(
      ([name]) => name === 'error',
    )?.[1];
    expect(failed?.code).toBe('frame_refused');
    // The script cannot distinguish an unknown site key, a site that is not allowed, and the policy of the site. It
    // lists all three.
    for (const cause of [`data-site-key, "${scene.siteKey}"`, `add ${site.origin} to allowedOrigins`, 'frame-src'])
      expect(failed?.message).toContain(cause);
    expect(await accessibilityViolations(page)).toEqual([]);
    expect(tab.requests.filter((url) => url.includes('/widget/v1/'))).toEqual([]);
    await page.getByRole('button', { name: 'Close chat' }).click();
    // The chat opens after the site is allowed.
    await scene.set({ allowedOrigins: [site.origin] });
    await page.getByRole('button', { name: 'Open chat' }).click();
    await expect.poll(() => visibleTexts(page)).toEqual(['Not for here']);
    await expect.poll(() => page.locator('outrigger-chat p').count()).toBe(0);
  });
});
