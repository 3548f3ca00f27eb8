import { chromium } from 'playwright-core';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { avoidPeriodEnd, hourMs } from '../fixtures/avoid-period-end.ts';
import { startShop } from '../fixtures/chat-shop.ts';
import type { Shop } from '../fixtures/chat-shop.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import { chatScene } from '../fixtures/visitor.ts';
import type { ChatScene } from '../fixtures/visitor.ts';

const executable = findPageBrowser()?.path;
let hub: TestHub;
let browser: Browser;
let scene: ChatScene;

beforeAll(async () => {
  hub = await startHub();
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

/** A shop on another site than the hub, so that the browser partitions the storage of the frame. */
const shop = async (head?: string): Promise<Shop> => {
  const made = await startShop({ hubUrl: hub.url, siteKey: scene.siteKey, ...(head === undefined ? {} : { head }) });
  await scene.set({ allowedOrigins: [made.origin], allowAnonymous: true, preChat: { name: 'off', email: 'off' } });
  return made;
};

interface Tab {
  page: Page;
  /** Console errors and warnings. */
  consoleLines: string[];
  /** Paths requested from the hub. */
  hubPaths: string[];
}

async function openTab(context: BrowserContext): Promise<Tab> {
  const page = await context.newPage();
  const [consoleLines, hubPaths]: [string[], string[]] = [[], []];
  page.on('pageerror', (error) => consoleLines.push(`thrown: ${error.message}`));
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) consoleLines.push(message.text());
  });
  page.on('request', (request) => {
    if (request.url().startsWith(hub.url)) hubPaths.push(new URL(request.url()).pathname);
  });
  return { page, consoleLines: consoleLines, hubPaths: hubPaths };
}

const newContext = async () => {
  const context = await browser.newContext({ viewport: { width: 900, height: 700 } });
  // As long as `expect.poll` waits.
  context.setDefaultTimeout(100_000);
  return context;
};
const frameOf = (page: Page) => page.frameLocator('outrigger-chat iframe');
const visibleTexts = (page: Page) => frameOf(page).locator('.bubble').allTextContents();
const badge = (page: Page) => page.locator('outrigger-chat b');
const launcher = (page: Page) => page.getByRole('button', { name: 'Open chat' });
const closeButton = (page: Page) => page.getByRole('button', { name: 'Close chat' }).first();
const hostEvents = (page: Page) => page.evaluate<[string, unknown][]>('heard');
const detailsOf = async (page: Page, name: string) =>
  (await hostEvents(page)).filter(([event]) => event === name).map(([, detail]) => detail);

/** Starts a conversation as an anonymous visitor and returns its id. */
async function begin(page: Page, text: string): Promise<string> {
  // A browser renders little in a background tab.
  await page.bringToFront();
  await launcher(page).click();
  await frameOf(page).getByRole('textbox', { name: 'How can we help?' }).fill(text);
  await frameOf(page).getByRole('button', { name: 'Start chat' }).click();
  await expect.poll(() => visibleTexts(page)).toContain(text);
  let id: string | undefined;
  await expect
    .poll(async () => {
      const { data } = await scene.workspace.session.call('listInboxConversations', {
        params: { tenantId: scene.tenantId },
        query: { view: 'all' },
      });
      id = data.find(({ lastMessage }) => lastMessage?.content === text)?.id;
      return id;
    })
    .toBeDefined();
  return id as string;
}

const reply = (id: string, content: string) =>
  scene.workspace.session.call('sendInboxMessage', { params: { tenantId: scene.tenantId, id }, body: { content } });

describe.skipIf(executable === undefined)('the chat on a site of several pages (needs Chromium)', () => {
  test('the printed snippet shows the launcher and starts a conversation without changes', async () => {
    const { snippet } = await scene.workspace.session.call('getChatSettings', { params: { tenantId: scene.tenantId } });
    await using site = await shop(snippet.replace(/https?:\/\/[^/"]+/, hub.url));
    await using context = await newContext();
    const { page, consoleLines, hubPaths } = await openTab(context);
    await page.goto(`${site.origin}/`);
    await launcher(page).waitFor();
    // Before the chat is opened, only the script is loaded and nothing is stored.
    expect(hubPaths).toEqual(['/widget.js']);
    expect(await page.evaluate('JSON.stringify(localStorage) + JSON.stringify(sessionStorage)')).toBe('{}{}');
    await begin(page, 'By the printed snippet');
    // Screen readers find the field in the main landmark of the frame.
    await expect
      .poll(() => frameOf(page).getByRole('main').getByRole('textbox', { name: 'Write a message' }).count())
      .toBe(1);
    expect(consoleLines).toEqual([]);
  });

  test('a reply that arrives between pages is counted and announced once on the next page', async () => {
    await using site = await shop();
    await using context = await newContext();
    const { page, consoleLines } = await openTab(context);
    await page.goto(`${site.origin}/`);
    const id = await begin(page, 'Do you ship to Chile?');
    await closeButton(page).click();
    await page.goto(`${site.origin}/cart`);
    await reply(id, 'We do.');
    await expect.poll(() => badge(page).textContent()).toBe('1');
    await expect.poll(() => detailsOf(page, 'message')).toMatchObject([{ content: 'We do.' }]);
    // Another message arrives between two pages.
    await page.goto('about:blank');
    await reply(id, 'In five days.');
    await page.goto(`${site.origin}/pay`);
    await expect.poll(() => badge(page).textContent()).toBe('2');
    await expect.poll(() => launcher(page).getAttribute('aria-label')).toBe('Open chat (2 new messages)');
    await expect.poll(() => detailsOf(page, 'message')).toMatchObject([{ content: 'In five days.' }]);
    await expect.poll(async () => (await detailsOf(page, 'unread')).at(-1)).toBe(2);
    expect(await detailsOf(page, 'open')).toEqual([]);
    // No message was marked as read, and the focus is unchanged.
    expect(await page.evaluate('document.activeElement.tagName')).toBe('BODY');
    await page.reload();
    await expect.poll(() => badge(page).textContent()).toBe('2');
    expect(await detailsOf(page, 'message')).toEqual([]);
    await launcher(page).click();
    await expect.poll(() => visibleTexts(page)).toEqual(['Do you ship to Chile?', 'We do.', 'In five days.']);
    await expect.poll(() => badge(page).isHidden()).toBe(true);
    // The page hides the number before the hub stores that the messages were read.
    const visitorReadSeq = async () =>
      (
        await scene.workspace.session.call('getInboxConversation', {
          params: { tenantId: scene.tenantId, id },
        })
      ).visitorReadSeq;
    await expect.poll(visitorReadSeq).toBe(3);
    await closeButton(page).click();
    await expect.poll(() => launcher(page).getAttribute('aria-label')).toBe('Open chat');
    await page.reload();
    await frameOf(page).locator('.bubble').first().waitFor({ state: 'attached' });
    expect(await badge(page).isHidden()).toBe(true);
    expect(consoleLines).toEqual([]);
  });

  test('an open chat stays open on the next page without taking the focus, and a closed one stays closed', async () => {
    await using site = await shop();
    await using context = await newContext();
    const { page } = await openTab(context);
    await page.goto(`${site.origin}/`);
    await begin(page, 'Stay open');
    await page.goto(`${site.origin}/cart`);
    await expect.poll(() => visibleTexts(page)).toEqual(['Stay open']);
    await expect.poll(() => closeButton(page).isVisible()).toBe(true);
    await expect.poll(() => detailsOf(page, 'open')).toHaveLength(1);
    expect(await page.evaluate('document.activeElement.tagName')).toBe('BODY');
    await closeButton(page).click();
    await page.goto(`${site.origin}/pay`);
    await frameOf(page).locator('.bubble').first().waitFor({ state: 'attached' });
    await expect.poll(() => launcher(page).isVisible()).toBe(true);
  });

  test('a conversation that an agent starts reaches a visitor whose last conversation is closed, on an open page and after a page load', async () => {
    await using site = await shop();
    await using context = await newContext();
    const { page, consoleLines } = await openTab(context);
    await page.goto(`${site.origin}/`);
    const first = await begin(page, 'Is my order on its way?');
    const { api, params } = {
      api: scene.workspace.session,
      params: (id: string) => ({ tenantId: scene.tenantId, id }),
    };
    const close = (id: string) =>
      api.call('updateInboxConversation', { params: params(id), body: { status: 'closed' } });
    const visitorId = (await api.call('getInboxConversation', { params: params(first) })).visitor?.id as string;
    const start = (content: string) =>
      api.call('startInboxConversation', { params: { tenantId: scene.tenantId }, body: { visitorId, content } });
    // First on an open page.
    await close(first);
    await frameOf(page).getByText('This conversation was closed.').waitFor();
    const second = await start('Your order has arrived at the post office.');
    await expect.poll(() => visibleTexts(page)).toEqual(['Your order has arrived at the post office.']);
    // Then with the chat closed, between two pages.
    await close(second.id);
    await closeButton(page).click();
    await page.goto('about:blank');
    const third = await start('Did it reach you?');
    await page.goto(`${site.origin}/`);
    await expect.poll(() => badge(page).textContent()).toBe('1');
    await expect.poll(() => detailsOf(page, 'message')).toMatchObject([{ content: 'Did it reach you?' }]);
    await launcher(page).click();
    await expect.poll(() => visibleTexts(page)).toEqual(['Did it reach you?']);
    await frameOf(page).getByRole('textbox', { name: 'Message' }).fill('It did, thank you!');
    await frameOf(page).getByRole('button', { name: 'Send message' }).click();
    await expect
      .poll(async () => (await api.call('getInboxConversation', { params: params(third.id) })).lastMessage?.content)
      .toBe('It did, thank you!');
    expect(consoleLines).toEqual([]);
  });

  test('another tab continues the conversation with a closed chat, and a shutdown in one tab ends it in both', async () => {
    await using site = await shop();
    await using context = await newContext();
    const { page } = await openTab(context);
    const other = await openTab(context);
    await other.page.goto(`${site.origin}/`);
    await page.goto(`${site.origin}/`);
    const id = await begin(page, 'In two tabs');
    await closeButton(page).click();
    // An existing tab and a new one.
    const third = await openTab(context);
    await third.page.goto(`${site.origin}/offers`);
    await reply(id, 'Everywhere');
    for (const tab of [other.page, third.page]) {
      await expect.poll(() => badge(tab).textContent()).toBe('1');
      await expect.poll(() => launcher(tab).isVisible()).toBe(true);
    }
    await launcher(third.page).click();
    await expect.poll(() => visibleTexts(third.page)).toEqual(['In two tabs', 'Everywhere']);
    await page.evaluate("Outrigger('shutdown')");
    for (const tab of [other.page, third.page]) await expect.poll(() => tab.frames().length).toBe(1);
    await third.page.reload();
    await launcher(third.page).waitFor();
    expect(await third.page.evaluate('JSON.stringify(localStorage) + JSON.stringify(sessionStorage)')).toBe('{}{}');
    // The storage of the frame is empty as well: the form appears again.
    await launcher(third.page).click();
    await frameOf(third.page).getByRole('textbox', { name: 'How can we help?' }).waitFor();
  });

  test('a visitor who signs in continues their anonymous conversation, on the same page and after a page load', async () => {
    await using site = await shop();
    for (const isReloaded of [false, true]) {
      await using context = await newContext();
      const { page, consoleLines } = await openTab(context);
      await page.goto(`${site.origin}/`);
      const text = `Before the sign-in, ${isReloaded ? 'then a page load' : 'same page'}`;
      await begin(page, text);
      const externalId = `customer ${isReloaded}`;
      const { token, conversationId: id } = await scene.mint(externalId);
      const moved = async () => {
        await expect
          .poll(async () => (await scene.api.call('listChatMessages', { params: { id } })).data.length, {
            message: 'the message moved',
          })
          .toBe(1);
      };
      if (isReloaded) {
        await closeButton(page).click();
        await page.goto(`${site.origin}/account?token=${token}`);
        await moved();
        await reply(id, 'Welcome back');
        await expect.poll(() => badge(page).textContent()).toBe('1');
        await launcher(page).click();
      } else {
        await frameOf(page).getByRole('textbox', { name: 'Write a message' }).fill('Half a sen');
        await page.evaluate(`Outrigger('boot', { token: ${JSON.stringify(token)} })`);
        await moved();
        await reply(id, 'Welcome back');
      }
      await expect.poll(() => visibleTexts(page)).toEqual([text, 'Welcome back']);
      const shown = () =>
        scene.workspace.session.call('getInboxConversation', { params: { tenantId: scene.tenantId, id } });
      await expect.poll(async () => (await shown()).visitor?.external_id).toBe(externalId);
      if (!isReloaded)
        await expect
          .poll(() => frameOf(page).getByRole('textbox', { name: 'Write a message' }).inputValue())
          .toBe('Half a sen');
      expect(await page.locator('outrigger-chat').count()).toBe(1);
      expect(consoleLines).toEqual([]);
    }
  });

  test.each([
    { way: 'creates its conversation', isAnswered: true },
    { way: 'fails', isAnswered: false },
  ])('a first message that is pending at the sign-in arrives, if its request $way', async ({ way, isAnswered }) => {
    await using site = await shop();
    await using context = await newContext();
    const { page } = await openTab(context);
    const [pending, decided] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    await page.route('**/widget/v1/token', async (route) => {
      if ((route.request().postDataJSON() as { token?: string }).token === undefined) {
        pending.resolve();
        await decided.promise;
        if (!isAnswered) return route.abort();
      }
      return route.continue();
    });
    await page.goto(`${site.origin}/`);
    await launcher(page).click();
    const text = `Pending, and its request ${way}`;
    await frameOf(page).getByRole('textbox', { name: 'How can we help?' }).fill(text);
    await frameOf(page).getByRole('button', { name: 'Start chat' }).click();
    await pending.promise;
    const externalId = `customer whose request ${way}`;
    const { token } = await scene.mint(externalId);
    await page.evaluate(`Outrigger('boot', { token: ${JSON.stringify(token)} })`);
    decided.resolve();
    const params = { tenantId: scene.tenantId };
    const senders = async () => {
      const { data } = await scene.workspace.session.call('listInboxConversations', { params, query: { view: 'all' } });
      const found = data.filter(({ lastMessage }) => lastMessage?.content === text);
      const read = ({ id }: { id: string }) =>
        scene.workspace.session.call('getInboxConversation', { params: { ...params, id } });
      return (await Promise.all(found.map(read))).map(({ visitor }) => visitor?.external_id);
    };
    await expect.poll(senders).toEqual([externalId]);
    await expect.poll(() => visibleTexts(page)).toEqual([text]);
    await expect.poll(() => frameOf(page).getByRole('textbox', { name: 'Write a message' }).inputValue()).toBe('');
  });

  test('an anonymous visitor over a limit sees when to try again, in the language of the page, and the page gets an error', async () => {
    await using limitedHub = await startHub({ ANONYMOUS_VISITORS_PER_ADDRESS_PER_HOUR: '1' });
    const { siteKey, set } = await chatScene(limitedHub);
    await using site = await startShop({ hubUrl: limitedHub.url, siteKey });
    await set({ allowedOrigins: [site.origin], allowAnonymous: true, preChat: { name: 'off', email: 'off' } });
    await avoidPeriodEnd(hourMs, 60_000);
    await limitedHub.client().call('openVisitorSession', { body: { siteKey } });
    await using context = await newContext();
    const { page } = await openTab(context);
    await page.goto(`${site.origin}/?lang=de`);
    await page.getByRole('button', { name: 'Chat öffnen' }).click();
    await frameOf(page).getByRole('textbox', { name: 'Wie können wir helfen?' }).fill('Zu spät');
    await frameOf(page).getByRole('button', { name: 'Chat beginnen' }).click();
    await expect
      .poll(() => frameOf(page).getByRole('alert').textContent())
      .toMatch(/^Gerade beginnen zu viele .* versuchen Sie es in \d+ Minuten? erneut\.$/);
    await expect
      .poll(() => frameOf(page).getByRole('textbox', { name: 'Wie können wir helfen?' }).inputValue())
      .toBe('Zu spät');
    await expect.poll(() => detailsOf(page, 'error')).toMatchObject([{ code: 'rate_limited' }]);
  });

  test('the next page requests unread messages of an identified visitor only after it passed a token', async () => {
    await using site = await shop();
    await using context = await newContext();
    const { page, hubPaths } = await openTab(context);
    const { token, conversationId } = await scene.mint('walking customer');
    await page.goto(`${site.origin}/?token=${token}`);
    await launcher(page).click();
    await frameOf(page).getByRole('textbox', { name: 'Write a message' }).waitFor();
    await closeButton(page).click();
    await page.goto('about:blank');
    hubPaths.length = 0;
    await reply(conversationId, 'For the customer');
    await page.goto(`${site.origin}/cart`);
    await launcher(page).waitFor();
    expect(hubPaths.filter((path) => path !== '/widget.js')).toEqual([]);
    await page.evaluate(`Outrigger('boot', { token: ${JSON.stringify(token)} })`);
    await expect.poll(() => badge(page).textContent()).toBe('1');
  });
});

describe.skipIf(executable === undefined)('what developers read in the console (needs Chromium)', () => {
  const snippetOf = (attributes: string, calls = '') =>
    `<script>window.Outrigger ||= function () { (Outrigger.q ||= []).push(arguments); }; window.codes = []; Outrigger('on', 'error', ({ code }) => codes.push(code)); ${calls}</script>
<script async src="${hub.url}/widget.js" ${attributes}></script>`;

  test.each([
    ['a missing site key', '', '', 'site_key_invalid', /data-site-key is ""/],
    ['an invalid site key', 'data-site-key="my-shop"', '', 'site_key_invalid', /data-site-key is "my-shop"/],
    ['an unknown call', 'KEY', "Outrigger('foo')", 'unknown_call', /no call "foo".*boot/],
    ['a call without a boot', 'KEY data-auto-boot="false"', "Outrigger('open')", 'not_booted', /Outrigger\('boot'\)/],
    ['a token that is not a string', 'KEY', "Outrigger('boot', { token: 7 })", 'token_invalid', /visitorToken/],
    ['an update without a token', 'KEY', "Outrigger('update', {})", 'token_invalid', /visitorToken/],
  ])('%s is reported once, with the remedy', async (_name, attributes, calls, code, text) => {
    await using site = await shop(snippetOf(attributes.replace('KEY', `data-site-key="${scene.siteKey}"`), calls));
    await using context = await newContext();
    const { page, consoleLines } = await openTab(context);
    await page.goto(`${site.origin}/`);
    await expect.poll(() => page.evaluate('codes')).toEqual([code]);
    expect(consoleLines).toEqual([expect.stringMatching(text)]);
  });

  test('a bad and an expired token, an unknown site key and a site that is not allowed are reported once each', async () => {
    const expired = await scene.mint();
    await hub.database.query(
      "UPDATE chat_links SET expires_at = now() - interval '1 second' WHERE conversation_id = $1",
      [expired.conversationId],
    );
    for (const [key, token, code, text] of [
      [scene.siteKey, 'cvt_made_up', 'chat_token_invalid', /POST \/v1\/chat\/sessions/],
      [scene.siteKey, expired.token, 'chat_token_expired', /POST \/v1\/chat\/sessions/],
      ['wgt_of_nobody', null, 'frame_refused', /data-site-key, "wgt_of_nobody".*allowedOrigins/],
    ] as const) {
      const boot = token === null ? '' : `Outrigger('boot', { token: '${token}' })`;
      await using site = await shop(snippetOf(`data-site-key="${key}"`, boot));
      await using context = await newContext();
      const { page, consoleLines } = await openTab(context);
      await page.goto(`${site.origin}/`);
      await launcher(page).click();
      await expect.poll(() => page.evaluate('codes')).toEqual([code]);
      expect(consoleLines.filter((line) => line.startsWith('Outrigger: '))).toEqual([expect.stringMatching(text)]);
    }
  });

  test('with data-auto-boot="false" nothing is shown or reported before the boot call', async () => {
    await using site = await shop(snippetOf(`data-site-key="${scene.siteKey}" data-auto-boot="false"`));
    await using context = await newContext();
    const { page, consoleLines } = await openTab(context);
    await page.goto(`${site.origin}/`);
    await expect.poll(() => page.evaluate('Outrigger.isLoaded')).toBe(true);
    expect(await page.locator('outrigger-chat').count()).toBe(0);
    await page.evaluate("Outrigger('boot')");
    await launcher(page).waitFor();
    expect(consoleLines).toEqual([]);
  });

  test('a new customer who signs in after an anonymous conversation finds it on each later page, with a token of their own', async () => {
    await using site = await shop();
    await using context = await newContext();
    const { page } = await openTab(context);
    await page.goto(`${site.origin}/`);
    const text = 'Asked before I had an account';
    await begin(page, text);
    for (const path of ['account', 'cart', 'pay']) {
      const { token } = await scene.mint('a customer who was never seen before');
      await page.goto(`${site.origin}/${path}?token=${token}`);
      await expect.poll(() => visibleTexts(page), { message: path }).toEqual([text]);
    }
  });

  test('a site that replaces the body instead of loading a page keeps the launcher and the open chat', async () => {
    await using site = await shop();
    await using context = await newContext();
    const { page, consoleLines } = await openTab(context);
    await page.goto(`${site.origin}/`);
    await begin(page, 'Before the next view');
    await page.evaluate(`(() => {
      const body = document.createElement('body');
      body.textContent = 'The next view';
      document.body.replaceWith(body);
    })()`);
    await expect.poll(() => visibleTexts(page)).toEqual(['Before the next view']);
    await closeButton(page).click();
    await launcher(page).click();
    await expect.poll(() => visibleTexts(page)).toEqual(['Before the next view']);
    expect(consoleLines).toEqual([]);
  });

  test('a page with a launcher of its own hides that of the chat, and opens and closes the chat without it', async () => {
    await using site = await shop();
    await using context = await newContext();
    const { page } = await openTab(context);
    await page.goto(`${site.origin}/`);
    await launcher(page).waitFor();
    await page.evaluate("Outrigger('hide')");
    await expect.poll(() => launcher(page).isVisible()).toBe(false);
    await page.evaluate("Outrigger('open')");
    await frameOf(page).getByRole('textbox', { name: 'How can we help?' }).waitFor();
    expect(await launcher(page).isVisible()).toBe(false);
    await frameOf(page).getByRole('button', { name: 'Close chat' }).click();
    await expect.poll(() => page.locator('outrigger-chat iframe').isVisible()).toBe(false);
    await page.evaluate("Outrigger('show')");
    await launcher(page).waitFor();
  });

  test('a tab with an anonymous visitor starts a new session when the visitor signs in in another tab', async () => {
    await using site = await shop();
    await using context = await newContext();
    const [first, second] = [await openTab(context), await openTab(context)];
    await first.page.goto(`${site.origin}/`);
    await begin(first.page, 'Anonymous in this tab');
    const { token } = await scene.mint('customer of the other tab');
    await second.page.bringToFront();
    await second.page.goto(`${site.origin}/account?token=${token}`);
    await expect.poll(() => visibleTexts(second.page)).toEqual(['Anonymous in this tab']);
    await first.page.bringToFront();
    await expect.poll(() => first.page.locator('outrigger-chat iframe').count()).toBe(0);
    await launcher(first.page).click();
    await frameOf(first.page).getByRole('textbox', { name: 'How can we help?' }).waitFor();
  });

  test('the chat uses the language of the page around it', async () => {
    await using site = await shop();
    await using context = await newContext();
    const { page } = await openTab(context);
    await page.goto(`${site.origin}/?lang=de-AT`);
    await page.getByRole('button', { name: 'Chat öffnen' }).click();
    await frameOf(page).getByRole('button', { name: 'Chat beginnen' }).waitFor();
    await expect.poll(() => frameOf(page).locator('html').getAttribute('lang')).toBe('de');
  });

  test('a listener for an unknown event and a listener that is not a function are reported', async () => {
    await using site = await shop();
    await using context = await newContext();
    const { page, consoleLines } = await openTab(context);
    await page.goto(`${site.origin}/`);
    await launcher(page).waitFor();
    await page.evaluate("Outrigger('on', 'unreed', () => 0); Outrigger('on', 'ready', 'a text')");
    await expect
      .poll(() => detailsOf(page, 'error'))
      .toMatchObject([{ code: 'listener_invalid' }, { code: 'listener_invalid' }]);
    expect(consoleLines).toEqual([expect.stringContaining('unread'), expect.stringContaining('unread')]);
  });

  test('a script of type module boots the chat', async () => {
    await using site = await shop(
      `<script type="module" src="${hub.url}/widget.js" data-site-key="${scene.siteKey}"></script>`,
    );
    await using context = await newContext();
    const { page } = await openTab(context);
    await page.goto(`${site.origin}/`);
    await expect.poll(() => launcher(page).isVisible()).toBe(true);
  });
});
