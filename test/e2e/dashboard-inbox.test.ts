import type { Browser, Page } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { startChatModel } from '../fixtures/chat-model.ts';
import type { ChatModel } from '../fixtures/chat-model.ts';
import { accessibilityViolations } from '../fixtures/companion-window.ts';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import type { DashboardTab } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { openAgent, openVisitor } from '../fixtures/live-chat.ts';
import { addMessages } from '../fixtures/stage/chat.ts';

const password = 'correct horse battery';
const hostile = '<img src=x onerror=alert(1)>\u202Etxt.exe https://a.example/b?c=1 javascript:alert(2)';

interface Visitor {
  conversationId: string;
  visitorId: string;
  token: string;
  say: (content: string) => Promise<unknown>;
  hears: () => Promise<string[]>;
}

describe.skipIf(!canOpenDashboard)('the inbox of the dashboard (needs Chromium)', () => {
  let hub: TestHub;
  let model: ChatModel;
  let browser: Browser;
  let tenantId: string;
  let ann: string;
  let ben: string;
  let benId: string;
  let key: string;
  let writes = 0;
  beforeAll(async () => {
    model = await startChatModel();
    hub = await startHub({ RATE_LIMIT_PER_MINUTE: '1000000', ...model.env });
    const workspace = await hub.workspace('Harbour');
    ({ tenantId, jwt: ann } = workspace);
    key = workspace.keys.chat as string;
    await workspace.session.call('updateMe', { body: { displayName: 'Ann' } });
    const member = { email: 'ben@harbour.example', password };
    ({ id: benId } = await workspace.session.call('addMember', {
      params: { tenantId },
      body: { ...member, role: 'agent' },
    }));
    ({ token: ben } = await hub.client().call('logIn', { body: member }));
    await hub.client(ben).call('updateMe', { body: { displayName: 'Ben' } });
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
    await model?.[Symbol.asyncDispose]();
  });

  const open = (path: string, options: Partial<Parameters<typeof openDashboard>[2]> = {}): Promise<DashboardTab> =>
    openDashboard(browser, path, { hubUrl: hub.url, session: ann, ...options });
  const openConversation = (id: string, options?: Parameters<typeof open>[1]) =>
    open(`/app/inbox?conversation=${id}`, options);

  async function visitor(name: string): Promise<Visitor> {
    const { visitorToken, conversationId, siteKey } = await hub
      .client(key)
      .call('createChatSession', { body: { externalId: `${name} ${(writes += 1)}`, displayName: name } });
    const { token, visitorId } = await hub.client().call('openVisitorSession', {
      body: { siteKey, token: visitorToken },
    });
    const api = hub.client(token);
    return {
      conversationId,
      visitorId,
      token,
      say: (content) => api.call('sendVisitorMessage', { body: { content, clientId: `m${(writes += 1)}` } }),
      hears: async () => {
        const { data } = await api.call('listVisitorMessages', { query: {} });
        return data.filter(({ senderType }) => senderType === 'agent').map(({ content }) => content);
      },
    };
  }
  const replyAs = (session: string, id: string, content: string) =>
    hub.client(session).call('sendInboxMessage', { params: { tenantId, id }, body: { content } });
  const conversationOf = (id: string) => hub.client(ann).call('getInboxConversation', { params: { tenantId, id } });

  const reply = (page: Page) => page.getByRole('textbox', { name: 'Reply to the visitor' });
  const messages = (page: Page) => page.getByRole('log', { name: 'Messages' });
  const row = (page: Page, name: string) =>
    page.getByRole('list', { name: 'Conversations' }).getByRole('link').filter({ hasText: name });
  const sendButton = (page: Page) => page.getByRole('button', { name: 'Send', exact: true });

  test('a message of a visitor appears by itself, the agent answers, and both see the other typing', async () => {
    const maria = await visitor('Maria');
    await using tab = await open('/app/inbox');
    const { page } = tab;
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    await maria.say('Is the ferry running?');
    await row(page, 'Maria').click();
    await messages(page).getByText('Is the ferry running?').waitFor();
    const chat = await openVisitor(hub.url, maria.token);
    // A page repeats it, because agents whose connection is not open yet miss it.
    await expect
      .poll(
        () => {
          chat.send({ type: 'typing', typing: true });
          return page.getByText('Maria is typing…').isVisible();
        },
        { interval: 1_000 },
      )
      .toBe(true);
    await reply(page).pressSequentially('Yes, at 10:30.');
    await expect
      .poll(() => chat.frames.some((frame) => frame.type === 'typing' && frame.who === 'agent' && frame.typing))
      .toBe(true);
    await page.keyboard.press('Control+Enter');
    await messages(page).getByText('Yes, at 10:30.').waitFor();
    await expect.poll(() => maria.hears()).toEqual(['Yes, at 10:30.']);
    expect(await reply(page).inputValue()).toBe('');
    await expect.poll(async () => (await conversationOf(maria.conversationId)).unreadCount).toBe(0);
    chat.send({ type: 'read', seq: 2 });
    await page.getByText('Read by the visitor').waitFor();
    chat.end();
    // The address names the conversation.
    expect(new URL(page.url()).searchParams.get('conversation')).toBe(maria.conversationId);
  });

  test('a text stays with its conversation, survives a reload, and is never sent to another visitor', async () => {
    const [one, other] = [await visitor('One'), await visitor('Other')];
    await one.say('first');
    await other.say('second');
    await using tab = await openConversation(one.conversationId);
    const { page } = tab;
    await reply(page).fill('For One only');
    await row(page, 'Other').click();
    await messages(page).getByText('second').waitFor();
    expect(await reply(page).inputValue()).toBe('');
    await row(page, 'One').getByText('Draft').waitFor();
    await reply(page).fill('For Other');
    await sendButton(page).click();
    await messages(page).getByText('For Other').waitFor();
    await expect.poll(() => other.hears()).toEqual(['For Other']);
    expect(await one.hears()).toEqual([]);
    await expect.poll(async () => (await conversationOf(one.conversationId)).draft?.content).toBe('For One only');
    // Another browser of the same agent has the draft too.
    await using elsewhere = await openConversation(one.conversationId);
    await expect.poll(() => reply(elsewhere.page).inputValue()).toBe('For One only');
    await row(page, 'One').click();
    await expect.poll(() => reply(page).inputValue()).toBe('For One only');
    // A text that the hub does not have yet is kept by the browser.
    await page.route('**/draft', (route) => route.abort());
    await reply(page).fill('For One only, changed');
    await page.reload();
    await expect.poll(() => reply(page).inputValue()).toBe('For One only, changed');
  });

  test('after a lost connection, the reply of a colleague shows above the text before Send works', async () => {
    const maria = await visitor('Offline');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    const presence = page.getByRole('combobox', { name: 'Your presence' });
    await presence.waitFor();
    await page.context().setOffline(true);
    await page.evaluate("dispatchEvent(new Event('offline'))");
    await reply(page).fill('My answer');
    await page.getByText('Not connected.').waitFor();
    expect(await presence.inputValue()).toBe('');
    await page
      .getByRole('status')
      .filter({ hasText: /^Not connected$/ })
      .waitFor();
    expect(await sendButton(page).isDisabled()).toBe(true);
    // The banner of the page is above the inbox, which fills the rest.
    const banner = page.getByText('No live updates at the moment.');
    await banner.waitFor();
    const edges = () =>
      page.evaluate<[number, number]>(`(() => {
        const inbox = document.querySelector('h1').parentElement.getBoundingClientRect();
        const banner = document.querySelector('main > [role=status]').getBoundingClientRect();
        return [Math.round(inbox.top - banner.bottom), Math.round(innerHeight - inbox.bottom)];
      })()`);
    const [above, below] = await edges();
    expect(above).toBeGreaterThan(0);
    expect(below).toBeGreaterThanOrEqual(0);
    expect(below).toBeLessThan(4);
    await replyAs(ben, maria.conversationId, 'Ben was faster');
    await page.context().setOffline(false);
    await page.getByText('Ben replied while you were writing.').waitFor();
    await messages(page).getByText('Ben was faster').waitFor();
    expect(await reply(page).inputValue()).toBe('My answer');
    await expect.poll(() => sendButton(page).isEnabled()).toBe(true);
    await sendButton(page).click();
    await expect.poll(() => maria.hears()).toEqual(['Ben was faster', 'My answer']);
    await expect.poll(() => presence.inputValue()).toBe('online');
  });

  test('when the hub refuses a reply because of a newer one, the newer one shows and nothing is lost', async () => {
    const maria = await visitor('Refused');
    await maria.say('Hello?');
    await using tab = await open('/app');
    const { page } = tab;
    // Frames of the hub do not arrive, as with a frame that is lost.
    await page.routeWebSocket(/\/chat\/live/, (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((message) => server.send(message));
      server.onMessage(() => undefined);
    });
    await page.goto(`${hub.url}/app/inbox?conversation=${maria.conversationId}`);
    await messages(page).getByText('Hello?').waitFor();
    await reply(page).fill('My answer');
    await replyAs(ben, maria.conversationId, 'Ben was faster');
    await sendButton(page).click();
    await page.getByText('Ben replied while you were writing.').waitFor();
    await messages(page).getByText('Ben was faster').waitFor();
    expect(await reply(page).inputValue()).toBe('My answer');
    expect(await maria.hears()).toEqual(['Ben was faster']);
    await sendButton(page).click();
    await expect.poll(() => maria.hears()).toEqual(['Ben was faster', 'My answer']);
    // An assignment that a colleague made meanwhile is not taken over either.
    await hub.client(ben).call('assignInboxConversation', {
      params: { tenantId, id: maria.conversationId },
      body: { userId: benId },
    });
    await messages(page).focus();
    await page.keyboard.press('a');
    await page
      .getByRole('alert')
      .getByText(/assign/)
      .waitFor();
    expect((await conversationOf(maria.conversationId)).assignedUserId).toBe(benId);
  });

  test('the keyboard does everything', async () => {
    const [one, two] = [await visitor('Key one'), await visitor('Key two')];
    await two.say('second');
    await one.say('first');
    await using tab = await open('/app/inbox?view=unassigned', { keepsUndo: true });
    const { page } = tab;
    const { keyboard } = page;
    const heading = (name: string) => page.getByRole('heading', { level: 2, name }).first();
    await row(page, 'Key one').waitFor();
    await keyboard.press('j');
    await heading('Key one').waitFor();
    await keyboard.press('j');
    await heading('Key two').waitFor();
    await keyboard.press('k');
    await heading('Key one').waitFor();
    await keyboard.press('n');
    await page.getByRole('textbox', { name: 'Private note for colleagues' }).waitFor();
    await keyboard.type('Check the wind e j');
    await keyboard.press('Control+Enter');
    await messages(page).getByText('Check the wind e j').waitFor();
    await keyboard.press('Escape');
    await keyboard.press('#');
    await page.getByRole('button', { name: 'Urgent' }).click();
    await expect.poll(async () => (await conversationOf(one.conversationId)).priority).toBe('urgent');
    await page.getByRole('dialog').waitFor({ state: 'hidden' });
    await keyboard.press('s');
    // The first choice has the focus, and arrow keys move it.
    const focused = () => page.evaluate<string>('document.activeElement.textContent');
    await expect.poll(focused).toContain('For 1 hour');
    await keyboard.press('ArrowDown');
    expect(await focused()).toContain('For 3 hours');
    await keyboard.press('ArrowUp');
    await keyboard.press('Enter');
    const snoozed = page.getByText(/^Conversation snoozed until /).locator('..');
    await snoozed.waitFor();
    expect((await conversationOf(one.conversationId)).snoozedUntil).not.toBeNull();
    // The next conversation of the view opens.
    await heading('Key two').waitFor();
    await row(page, 'Key one').waitFor({ state: 'hidden' });
    // The message would cover the buttons below.
    await snoozed.getByRole('button', { name: 'Close' }).click();
    // A conversation that opened by itself takes keys after a moment, or after a deliberate act.
    await keyboard.press('Tab');
    await keyboard.press('a');
    await expect.poll(async () => (await conversationOf(two.conversationId)).assignedUserId).not.toBeNull();
    await keyboard.press('e');
    await page.getByText('Conversation resolved').waitFor();
    expect((await conversationOf(two.conversationId)).status).toBe('resolved');
    const resolved = page.getByText('Conversation resolved').locator('..');
    await resolved.getByRole('button', { name: 'Undo' }).click();
    await expect.poll(async () => (await conversationOf(two.conversationId)).status).toBe('open');
    expect(await one.hears()).toEqual([]);
    await keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).getByRole('switch').click();
    await keyboard.press('Escape');
    await keyboard.press('/');
    await keyboard.type('wind');
    const results = page.getByRole('list', { name: 'Search results' }).getByRole('link');
    await expect.poll(() => results.allTextContents()).toEqual([expect.stringContaining('Check the wind')]);
    await results.click();
    await messages(page).getByText('Check the wind e j').waitFor();
    await page.getByRole('button', { name: 'Reply', exact: true }).click();
    await reply(page).fill('Enter sends now');
    await keyboard.press('Enter');
    await expect.poll(() => one.hears()).toEqual(['Enter sends now']);
    // Enter sends the first message to a known visitor, too.
    await keyboard.press('Escape');
    await keyboard.press('c');
    await page.getByRole('combobox', { name: 'Find a visitor' }).fill('Key two');
    await keyboard.press('Enter');
    await page.getByRole('dialog', { name: 'Write to Key two' }).waitFor();
    await keyboard.type('Are you there?');
    await keyboard.press('Enter');
    await page.getByText('This visitor has a conversation that is not closed').waitFor();
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Are you there?');
  });

  test('keys act once and only on the open conversation, and a slow answer opens nothing', async () => {
    const [one, two, three] = [await visitor('Slow one'), await visitor('Slow two'), await visitor('Slow three')];
    for (const each of [await visitor('Slow four'), three, two, one]) await each.say('Hello?');
    const statuses = () =>
      Promise.all([one, two, three].map(async (each) => (await conversationOf(each.conversationId)).status));
    await using tab = await open('/app/inbox');
    const { page } = tab;
    const { keyboard } = page;
    const heading = (name: string) => page.getByRole('heading', { level: 2, name }).first();
    const opened = () => new URL(page.url()).searchParams.get('conversation');
    // The details of all three are known, so that nothing delays a repeated key.
    for (const name of ['Slow three', 'Slow two', 'Slow one']) {
      await row(page, name).click();
      await heading(name).waitFor();
    }
    await messages(page).focus();
    await keyboard.down('e');
    await heading('Slow two').waitFor();
    // Playwright sends repeated events for a key that is down.
    for (let count = 0; count < 3; count += 1) await keyboard.down('e');
    await keyboard.up('e');
    await heading('Slow two').waitFor();
    expect(await statuses()).toEqual(['resolved', 'open', 'open']);

    await page.getByText('Conversation resolved').waitFor({ state: 'hidden' });
    let release = () => undefined as unknown;
    const released = new Promise<void>((done) => (release = done));
    await page.route(`**/conversations/${two.conversationId}`, async (route) => {
      if (route.request().method() === 'PATCH') await released;
      await route.continue();
    });
    // As fast as possible: the page has not shown the effect of the first key yet.
    await page.evaluate(`{
      const press = () => document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'e', bubbles: true }));
      press();
      press();
    }`);
    await row(page, 'Slow three').click();
    await heading('Slow three').waitFor();
    await row(page, 'Slow four').click();
    await heading('Slow four').waitFor();
    await reply(page).fill('A reply');
    release();
    // One message, though the key was pressed twice.
    await page.getByText('Conversation resolved').waitFor();
    expect(await statuses()).toEqual(['resolved', 'resolved', 'open']);
    await row(page, 'Slow two').waitFor({ state: 'hidden' });
    expect(await reply(page).inputValue()).toBe('A reply');
    expect(await heading('Slow four').isVisible()).toBe(true);
    expect(opened()).not.toBe(three.conversationId);
    await reply(page).fill('');

    // Before the conversation is there, a key changes none.
    await page.route(`**/conversations/${three.conversationId}`, (route) => route.abort());
    await page.goto(`${hub.url}/app/inbox?conversation=${three.conversationId}`);
    await page.getByRole('button', { name: 'Try again' }).waitFor();
    const changes: string[] = [];
    page.on('request', (request) => {
      if (request.method() !== 'GET' && request.url().includes('/conversations/')) changes.push(request.url());
    });
    await keyboard.press('e');
    await keyboard.press('?');
    await page.getByRole('dialog', { name: 'Keyboard shortcuts' }).waitFor();
    expect(changes).toEqual([]);
  });

  test('a conversation that starts after the agent has closed the dialog does not open', async () => {
    const [late, other] = [await visitor('Late start'), await visitor('Other work')];
    await late.say('Hello?');
    await other.say('Hello?');
    await hub.client(ann).call('updateInboxConversation', {
      params: { tenantId, id: late.conversationId },
      body: { status: 'closed' },
    });
    await using tab = await open('/app/inbox');
    const { page } = tab;
    const gate = Promise.withResolvers<void>();
    const isStart = (url: URL, method: string) => method === 'POST' && url.pathname.endsWith('/chat/conversations');
    await page.route('**/chat/conversations', async (route) => {
      if (isStart(new URL(route.request().url()), route.request().method())) await gate.promise;
      await route.continue();
    });
    await page.getByRole('button', { name: 'New conversation' }).click();
    await page
      .getByRole('dialog')
      .getByRole('option', { name: /Late start/ })
      .click();
    await page.getByRole('dialog').getByRole('textbox', { name: 'Message' }).fill('We found your order.');
    await page.getByRole('dialog').getByRole('button', { name: 'Send', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click();
    await row(page, 'Other work').click();
    await reply(page).fill('A reply');
    const started = page.waitForResponse((response) => isStart(new URL(response.url()), response.request().method()));
    gate.resolve();
    expect((await started).status()).toBeLessThan(300);
    await row(page, 'Late start').waitFor();
    expect(await reply(page).inputValue()).toBe('A reply');
    expect(new URL(page.url()).searchParams.get('conversation')).toBe(other.conversationId);
  });

  test('a sent reply does not return, and what is added meanwhile or before leaving stays', async () => {
    const maria = await visitor('Twice');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    await using elsewhere = await open('/app/inbox');
    const { page } = tab;
    const file = (name: string) => ({ name, mimeType: 'text/plain', buffer: Buffer.from(name) });
    const attach = (name: string) => page.setInputFiles('input[type=file]', file(name));
    const remove = (name: string) => page.getByRole('button', { name: `Remove ${name}` });
    const leaveAndReturn = async () => {
      const navigation = page.getByRole('navigation', { name: 'Main menu' });
      await navigation.getByRole('link', { name: 'Runs' }).click();
      await page.getByRole('heading', { level: 1, name: 'Runs' }).waitFor();
      await navigation.getByRole('link', { name: 'Inbox' }).click();
      await row(page, 'Twice').click();
      await messages(page).getByText('Hello?').waitFor();
    };
    await reply(page).fill('Once only');
    await page.getByText('Draft saved').waitFor();
    // The page and another one read the draft from the hub.
    await page.reload();
    await row(elsewhere.page, 'Twice').click();
    for (const each of [page, elsewhere.page]) await expect.poll(() => reply(each).inputValue()).toBe('Once only');
    await attach('map.txt');
    await remove('map.txt').waitFor();
    await leaveAndReturn();
    await remove('map.txt').waitFor();
    expect(await reply(page).inputValue()).toBe('Once only');
    await remove('map.txt').click();

    let release = () => undefined as unknown;
    const released = new Promise<void>((done) => (release = done));
    await page.route('**/messages', async (route) => {
      if (route.request().method() === 'POST') await released;
      await route.continue();
    });
    await sendButton(page).click();
    await attach('late.txt');
    await remove('late.txt').waitFor();
    release();
    await expect.poll(() => maria.hears()).toEqual(['Once only']);
    expect(await reply(page).inputValue()).toBe('');
    await remove('late.txt').click();
    // The other page had the same text.
    await messages(elsewhere.page).getByText('Once only').waitFor();
    await expect.poll(() => reply(elsewhere.page).inputValue()).toBe('');
    await leaveAndReturn();
    await messages(page).getByText('Once only').waitFor();
    expect(await reply(page).inputValue()).toBe('');
    expect(await row(page, 'Twice').getByText('Draft').isVisible()).toBe(false);
  });

  /** Delays requests until the returned function is called. */
  async function hold(page: Page, url: string | RegExp, method: string) {
    let release = () => undefined as unknown;
    const released = new Promise<void>((done) => (release = done));
    await page.route(url, async (route) => {
      if (route.request().method() === method) await released;
      await route.continue().catch(() => undefined);
    });
    return release;
  }
  const note = (page: Page) => page.getByRole('textbox', { name: 'Private note for colleagues' });
  const heading = (page: Page, name: string) => page.getByRole('heading', { level: 2, name }).first();
  const statusOf = async (each: Visitor) => (await conversationOf(each.conversationId)).status;
  /** Waits until the messages have neither scrolled nor grown in 20 animation frames. */
  const untilAtRest = (page: Page) =>
    page.evaluate(`(async () => {
      const log = document.querySelector('[role=log]');
      for (let still = 0, before = ''; still < 20; ) {
        await new Promise(requestAnimationFrame);
        const now = [log.scrollTop, log.scrollHeight].join();
        still = now === before ? still + 1 : 0;
        before = now;
      }
    })()`);
  /** Types as fast as a person. */
  const typing = { delay: 40 };

  test('a reply that begins while the hub resolves the conversation reaches its own visitor', async () => {
    const [one, two] = [await visitor('Resolved one'), await visitor('Resolved two')];
    for (const each of [two, one]) await each.say('Hello?');
    await using tab = await openConversation(one.conversationId);
    const { page } = tab;
    const { keyboard } = page;
    await messages(page).getByText('Hello?').waitFor();
    await row(page, 'Resolved two').waitFor();
    const release = await hold(page, `**/conversations/${one.conversationId}`, 'PATCH');
    await keyboard.press('e');
    await keyboard.press('r');
    await keyboard.type('Nr. 4711 kommt morgen,', typing);
    release();
    await page.getByText('Conversation resolved').waitFor();
    await keyboard.type(' see you', typing);
    expect(await reply(page).inputValue()).toBe('Nr. 4711 kommt morgen, see you');
    await keyboard.press('Control+Enter');
    await expect.poll(() => one.hears()).toEqual(['Nr. 4711 kommt morgen, see you']);
    expect(await two.hears()).toEqual([]);
    expect(await statusOf(two)).toBe('open');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('a text that goes on in a conversation that opened by itself is no command', async () => {
    const [one, two] = [await visitor('Text one'), await visitor('Text two')];
    for (const each of [two, one]) await each.say('Hello?');
    await using tab = await openConversation(one.conversationId);
    const { page } = tab;
    const { keyboard } = page;
    await messages(page).getByText('Hello?').waitFor();
    await row(page, 'Text two').waitFor();
    // The keys come as soon as the other conversation is there, however slow this machine is.
    await page.evaluate(`(() => {
      const press = (key) => (document.activeElement ?? document.body).dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
      window.typed = new Promise((done) => {
        const look = () => {
          if (!document.querySelector('h2')?.textContent.startsWith('Text two')) return requestAnimationFrame(look);
          for (const key of 'r see the nest') press(key);
          done(true);
        };
        look();
      });
    })()`);
    await keyboard.press('e');
    await page.evaluate('window.typed');
    expect(await statusOf(two)).toBe('open');
    expect(await page.getByRole('dialog').count()).toBe(0);
    expect(await page.evaluate('document.activeElement.tagName')).toBe('H2');
    // A deliberate act ends that.
    await keyboard.press('Tab');
    await keyboard.press('r');
    await keyboard.type('Hello');
    expect(await reply(page).inputValue()).toBe('Hello');
  });

  test('a text that is typed outside of a field is no command, also when its first letter is none', async () => {
    const one = await visitor('Typed at nothing');
    await one.say('Hello?');
    await using tab = await openConversation(one.conversationId);
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    await page.keyboard.press('Tab');
    await page.evaluate(`for (const key of 'Please see') (document.activeElement ?? document.body).dispatchEvent(
      new KeyboardEvent('keydown', { key, bubbles: true }))`);
    await page.keyboard.press('Tab');
    // The next command shows that the letters before had time to act.
    await page.keyboard.press('s');
    await page.getByRole('dialog', { name: 'Snooze' }).waitFor();
    expect(await statusOf(one)).toBe('open');
    expect(await page.getByRole('dialog').count()).toBe(1);
  });

  test('what the agent writes before the conversation is loaded becomes the reply', async () => {
    const [one, two] = [await visitor('Early one'), await visitor('Early two')];
    for (const each of [two, one]) await each.say('Hello?');
    await hub.client(ann).call('putInboxDraft', {
      params: { tenantId, id: two.conversationId },
      body: { content: 'From the hub' },
    });
    await using tab = await openConversation(one.conversationId);
    const { page } = tab;
    const { keyboard } = page;
    await messages(page).getByText('Hello?').waitFor();
    await row(page, 'Early two').waitFor();
    const release = await hold(page, `**/conversations/${two.conversationId}`, 'GET');
    await keyboard.press('j');
    await keyboard.press('r');
    await keyboard.type('Hi there, see', typing);
    release();
    await heading(page, 'Early two').waitFor();
    await keyboard.type(' you', typing);
    await expect.poll(() => reply(page).inputValue()).toBe('From the hub\n\nHi there, see you');
    expect([await statusOf(one), await statusOf(two)]).toEqual(['open', 'open']);
    expect(await page.getByRole('dialog').count()).toBe(0);
    // Without a pause between the keys, too.
    await keyboard.press('Escape');
    await keyboard.press('k');
    await keyboard.press('j');
    await keyboard.press('k');
    await keyboard.press('r');
    await keyboard.type('seen');
    await expect.poll(() => reply(page).inputValue()).toBe('seen');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('keys that follow each other immediately act on the conversation that the key before opened', async () => {
    const [one, two, three] = [await visitor('Quick one'), await visitor('Quick two'), await visitor('Quick three')];
    for (const each of [three, two, one]) await each.say('Hello?');
    await using tab = await openConversation(one.conversationId);
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    await row(page, 'Quick three').waitFor();
    // As keys that wait while the page is busy: only microtasks run between them.
    const press = (...keys: string[]) =>
      page.evaluate(`(async () => {
        for (const key of ${JSON.stringify(keys)}) {
          document.body.dispatchEvent(new KeyboardEvent('keydown', { key, bubbles: true }));
          for (let tasks = 0; tasks < 10; tasks += 1) await null;
        }
      })()`);
    await press('j', 'j');
    await heading(page, 'Quick three').waitFor();
    await press('k', 'r');
    await page.keyboard.type('see you');
    await heading(page, 'Quick two').waitFor();
    await expect.poll(() => reply(page).inputValue()).toBe('see you');
    expect(await Promise.all([one, two, three].map(statusOf))).toEqual(['open', 'open', 'open']);
  });

  test('after Send by pointer or by Tab, the next words go into the field', async () => {
    const maria = await visitor('Sent');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    await reply(page).fill('one');
    await sendButton(page).click();
    await page.keyboard.type('he went');
    await expect.poll(() => reply(page).inputValue()).toBe('he went');
    await sendButton(page).focus();
    await page.keyboard.press('Enter');
    await page.keyboard.type('see you');
    await expect.poll(() => reply(page).inputValue()).toBe('see you');
    await expect.poll(() => maria.hears()).toEqual(['one', 'he went']);
    expect(await statusOf(maria)).toBe('open');
    expect(await page.getByRole('dialog').count()).toBe(0);
  });

  test('a note never becomes a reply: each has its own text and files', async () => {
    model.answer = () => ({ reply: 'We decide at 18:00.', reason: 'the weather' });
    const maria = await visitor('Noted');
    await maria.say('Does it sail?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    const { keyboard } = page;
    await page.getByRole('button', { name: 'Suggest a reply' }).click();
    await page.getByRole('region', { name: 'Suggestion' }).getByText('We decide at 18:00.').waitFor();
    await messages(page).focus();
    await keyboard.press('n');
    await keyboard.type('This customer lies');
    await page.setInputFiles('input[type=file]', { name: 'a.txt', mimeType: 'text/plain', buffer: Buffer.from('a') });
    await page.getByRole('button', { name: 'Remove a.txt' }).waitFor();
    await keyboard.press('Escape');
    await keyboard.press('u');
    expect(await note(page).inputValue()).toBe('This customer lies');
    await keyboard.press('r');
    expect(await reply(page).inputValue()).toBe('');
    expect(await page.getByRole('button', { name: 'Remove a.txt' }).count()).toBe(0);
    await keyboard.type('Yes');
    await keyboard.press('Control+Enter');
    await expect.poll(() => maria.hears()).toEqual(['Yes']);
    await page.getByRole('button', { name: 'Note Draft' }).click();
    expect(await note(page).inputValue()).toBe('This customer lies');
    await page.getByText('Draft saved').waitFor();
    await page.reload();
    await expect.poll(() => note(page).inputValue()).toBe('This customer lies');
    await keyboard.press('Control+Enter');
    expect(await maria.hears()).toEqual(['Yes']);
  });

  test('a restored draft shows what colleagues replied since, in this browser and in another one', async () => {
    const maria = await visitor('Restored');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    await messages(tab.page).getByText('Hello?').waitFor();
    await reply(tab.page).fill('My answer');
    await tab.page.getByText('Draft saved').waitFor();
    await tab.page.goto('about:blank');
    await replyAs(ben, maria.conversationId, 'Ben was faster');
    await tab.page.goto(`${hub.url}/app/inbox?conversation=${maria.conversationId}`);
    await using elsewhere = await openConversation(maria.conversationId);
    for (const { page } of [tab, elsewhere]) {
      await page.getByText('Ben replied while you were writing.').waitFor();
      expect(await reply(page).inputValue()).toBe('My answer');
    }
    await sendButton(tab.page).click();
    await expect.poll(() => maria.hears()).toEqual(['Ben was faster', 'My answer']);
  });

  test('a restored text stays when the agent sends another one elsewhere before the conversation is loaded', async () => {
    const maria = await visitor('Restored elsewhere');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    let isReachable = false;
    await page.route('**/draft', (route) => (isReachable ? route.continue() : route.abort()));
    await reply(page).fill('Not sent');
    await page.goto('about:blank');
    isReachable = true;
    const release = await hold(page, `**/conversations/${maria.conversationId}`, 'GET');
    await page.goto(`${hub.url}/app/inbox?conversation=${maria.conversationId}`);
    await expect
      .poll(() => page.evaluate('JSON.stringify({ ...localStorage })'))
      .toMatch(/Not sent.*isSaved[\\"]*:true/);
    // It deletes the draft of the hub.
    await replyAs(ann, maria.conversationId, 'From elsewhere');
    release();
    await messages(page).getByText('From elsewhere').waitFor();
    expect(await reply(page).inputValue()).toBe('Not sent');
  });

  test('a held or repeated Ctrl+Enter does not pass the reply of a colleague', async () => {
    const maria = await visitor('Repeated');
    await maria.say('Hello?');
    await using tab = await open('/app');
    const { page } = tab;
    await page.routeWebSocket(/\/chat\/live/, (socket) => {
      const server = socket.connectToServer();
      socket.onMessage((message) => server.send(message));
      server.onMessage(() => undefined);
    });
    await page.goto(`${hub.url}/app/inbox?conversation=${maria.conversationId}`);
    await messages(page).getByText('Hello?').waitFor();
    await reply(page).fill('My answer');
    await replyAs(ben, maria.conversationId, 'Ben was faster');
    await reply(page).focus();
    // The key is repeated and pressed again as soon as the reply of the colleague shows, however slow this machine is:
    // after a second, it counts as read.
    await page.evaluate(`window.isPressed = new Promise((done) => {
      const observer = new MutationObserver(() => {
        if (!document.body.innerText.includes('Ben replied while you were writing.')) return;
        observer.disconnect();
        for (const repeat of [true, true, true, false])
          document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, repeat, bubbles: true }));
        done(true);
      });
      observer.observe(document.body, { childList: true, subtree: true, characterData: true });
    }); undefined;`);
    await page.keyboard.down('Control');
    await page.keyboard.down('Enter');
    const banner = page.getByText('Ben replied while you were writing.');
    const isShown = banner.waitFor().then(() => true);
    while (!(await Promise.race([isShown, page.keyboard.down('Enter').then(() => false)])));
    await page.evaluate('window.isPressed');
    await page.keyboard.up('Enter');
    expect(await maria.hears()).toEqual(['Ben was faster']);
    expect(await reply(page).inputValue()).toBe('My answer');
    await expect.poll(() => sendButton(page).isEnabled()).toBe(true);
    await page.keyboard.down('Enter');
    await expect.poll(() => maria.hears()).toEqual(['Ben was faster', 'My answer']);
  });

  test('during a slow send, the agent writes and sends more; refused texts return in order', async () => {
    const maria = await visitor('Slow send');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    const { keyboard } = page;
    await messages(page).getByText('Hello?').waitFor();
    const release = await hold(page, '**/messages', 'POST');
    await reply(page).fill('First');
    await keyboard.press('Control+Enter');
    await messages(page).getByText('Sending…').waitFor();
    await messages(page).getByText('First').waitFor();
    await keyboard.type('Second');
    await keyboard.press('Control+Enter');
    await expect.poll(() => messages(page).getByText('Sending…').count()).toBe(2);
    await keyboard.type('Third text, typed immediately');
    expect(await reply(page).inputValue()).toBe('Third text, typed immediately');
    expect(await maria.hears()).toEqual([]);
    release();
    await expect.poll(() => maria.hears()).toEqual(['First', 'Second']);
    await expect.poll(() => messages(page).getByText('Sending…').count()).toBe(0);
    expect(await messages(page).getByText('First').count()).toBe(1);
    expect(await messages(page).getByText('Second').count()).toBe(1);
    expect(await reply(page).inputValue()).toBe('Third text, typed immediately');
    await page.unroute('**/messages');
    let fail = () => undefined as unknown;
    const failed = new Promise<void>((done) => (fail = done));
    await page.route('**/messages', async (route) => {
      if (route.request().method() !== 'POST') return route.continue();
      await failed;
      return route.abort();
    });
    await keyboard.press('Control+Enter');
    await keyboard.type('Fourth');
    await keyboard.press('Control+Enter');
    await expect.poll(() => messages(page).getByText('Sending…').count()).toBe(2);
    await keyboard.type('Fif');
    fail();
    await expect.poll(() => messages(page).getByText('Sending…').count()).toBe(0);
    await keyboard.type('th');
    const returned = 'Third text, typed immediately\n\nFourth\n\nFifth';
    await expect.poll(() => reply(page).inputValue()).toBe(returned);
    await page.getByText('Draft saved').waitFor();
    await page.reload();
    await expect.poll(() => reply(page).inputValue()).toBe(returned);
    expect(await maria.hears()).toEqual(['First', 'Second']);
  });

  test('what a tab has not sent yet survives when another tab writes and the first one is closed', async () => {
    const maria = await visitor('Two senders');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    const second = await page.context().newPage();
    await second.goto(page.url());
    await messages(second).getByText('Hello?').waitFor();
    await hold(page, '**/messages', 'POST');
    for (const text of ['First', 'Second']) {
      await reply(page).fill(text);
      await reply(page).press('Control+Enter');
    }
    await expect.poll(() => messages(page).getByText('Sending…').count()).toBe(2);
    await reply(second).fill('Third');
    await second.getByText('Draft saved').waitFor();
    await page.close();
    await second.reload();
    // The browser may have sent the first one when the tab was closed. Each text is sent or in the field, once.
    await expect
      .poll(async () => [...(await maria.hears()), ...(await reply(second).inputValue()).split('\n\n')])
      .toEqual(['First', 'Second', 'Third']);
  });

  test('a text that a closed tab was sending returns to the draft, and is removed when it is older than a week', async () => {
    const maria = await visitor('Closed tab');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    const findKey = `Object.keys(localStorage).find((name) => name.endsWith('${maria.conversationId}'))`;
    const reopenWith = async (daysAgo: number) => {
      await reply(page).fill('x');
      await page.getByText('Draft saved').waitFor();
      const stored = await page.evaluate<string>(`localStorage.getItem(${findKey})`);
      const name = await page.evaluate<string>(findKey);
      const draft = JSON.parse(stored) as { reply: object };
      const blank = { ...draft.reply, content: '' };
      const sentAt = new Date(Date.now() - daysAgo * 86_400_000).toISOString();
      const left = { ...blank, kind: 'reply', content: 'Left behind', clientId: `c${daysAgo}`, sentAt };
      // The page stores its draft again when it is hidden, so the text is stored after it was left.
      await page.goto('about:blank');
      await page.goto(`${hub.url}/healthz`);
      await page.evaluate(
        `localStorage.setItem(${JSON.stringify(name)}, ${JSON.stringify(JSON.stringify({ ...draft, reply: blank, outgoing: [left] }))})`,
      );
      await page.goto(`${hub.url}/app/inbox?conversation=${maria.conversationId}`);
      await messages(page).getByText('Hello?').waitFor();
    };
    await reopenWith(6);
    await expect.poll(() => reply(page).inputValue()).toContain('Left behind');
    await reopenWith(8);
    await expect.poll(() => page.evaluate('JSON.stringify({ ...localStorage })')).not.toContain('Left behind');
    expect(await reply(page).inputValue()).not.toContain('Left behind');
  });

  test('when the first of two texts is refused because of a newer reply, that reply shows as unread', async () => {
    const maria = await visitor('Refused twice');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    const release = await hold(page, '**/messages', 'POST');
    await reply(page).fill('First');
    await reply(page).press('Control+Enter');
    await messages(page).getByText('Sending…').waitFor();
    await replyAs(ben, maria.conversationId, 'Ben was faster');
    await messages(page).getByText('Ben was faster').waitFor();
    await reply(page).fill('Second');
    await reply(page).press('Control+Enter');
    await expect.poll(() => messages(page).getByText('Sending…').count()).toBe(2);
    release();
    await page.getByText('Ben replied while you were writing.').waitFor();
    await expect.poll(() => messages(page).getByText('Sending…').count()).toBe(0);
    expect(await reply(page).inputValue()).toBe('First\n\nSecond');
    await page.getByText('Ben replied while you were writing.').waitFor();
    expect(await maria.hears()).toEqual(['Ben was faster']);
  });

  test('the list follows J over its pages, also with a keyboard of another script', async () => {
    const names = Array.from({ length: 54 }, (_, index) => `Follow ${index}`);
    for (const name of names) await (await visitor(name)).say('Hello?');
    await using tab = await open('/app/inbox?view=unassigned');
    const { page } = tab;
    await row(page, 'Follow 53').waitFor();
    const current = page.getByRole('list', { name: 'Conversations' }).locator('[aria-current]');
    for (let at = 53; at >= 0; at -= 1) {
      // The next page of the list may not have arrived yet.
      await page.getByText(`Follow ${at}`, { exact: true }).first().waitFor({ state: 'attached' });
      // The first letters are of an Arabic keyboard.
      if (at > 50)
        await page.evaluate(
          "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ت', code: 'KeyJ', bubbles: true }))",
        );
      else await page.keyboard.press('j');
      await expect.poll(() => current.textContent()).toContain(`Follow ${at}`);
    }
    await expect
      .poll(async () => {
        const box = await current.boundingBox();
        return box !== null && box.y > 100 && box.y + box.height <= 801;
      })
      .toBe(true);
  });

  test('Z undoes Resolve, and files beyond five are named', async () => {
    const maria = await visitor('Undone');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId, { keepsUndo: true });
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    await page.keyboard.press('e');
    await page.getByText('Conversation resolved').waitFor();
    await expect.poll(() => statusOf(maria)).toBe('resolved');
    await page.keyboard.press('Tab');
    await page.keyboard.press('z');
    await expect.poll(() => statusOf(maria)).toBe('open');
    await row(page, 'Undone').click();
    await messages(page).getByText('Hello?').waitFor();
    const files = [1, 2, 3, 4, 5, 6, 7].map((number) => ({
      name: `f${number}.txt`,
      mimeType: 'text/plain',
      buffer: Buffer.from('x'.repeat(number === 1 ? 400_000 : 1)),
    }));
    await page.setInputFiles('input[type=file]', files);
    await page.getByRole('alert').getByText('A message has at most 5 files. Not added: 2.').waitFor();
    await page.getByRole('button', { name: 'Remove f1.txt' }).waitFor();
    await expect.poll(() => page.getByRole('button', { name: /^Remove f/ }).count()).toBe(5);
    expect(await page.getByRole('list', { name: 'Files' }).getByRole('listitem').allTextContents()).toEqual(
      ['f1', 'f2', 'f3', 'f4', 'f5'].map((name) => expect.stringContaining(name)),
    );
  });

  test('arrow keys and Enter open search results', async () => {
    const [one, two] = [await visitor('Hit one'), await visitor('Hit two')];
    for (const each of [two, one]) await each.say('zeppelin');
    await using tab = await open('/app/inbox');
    const { page } = tab;
    await row(page, 'Hit one').waitFor();
    await page.keyboard.press('/');
    await page.keyboard.type('zeppelin');
    await expect.poll(() => page.getByRole('list', { name: 'Search results' }).getByRole('link').count()).toBe(2);
    await page.keyboard.press('ArrowDown');
    await heading(page, 'Hit one').waitFor();
    await page.keyboard.press('ArrowDown');
    await heading(page, 'Hit two').waitFor();
    await page.keyboard.press('Enter');
    await page.keyboard.press('r');
    await page.keyboard.type('Found');
    await expect.poll(() => reply(page).inputValue()).toBe('Found');
  });

  test('a conversation starts with the keyboard: a visitor is found by name, and the message survives Escape', async () => {
    const [maria] = [await visitor('Zebulon Findable'), await visitor('Newer visitor')];
    await maria.say('Hello?');
    await hub.client(ann).call('updateInboxConversation', {
      params: { tenantId, id: maria.conversationId },
      body: { status: 'closed' },
    });
    await using tab = await open('/app/inbox');
    const { page } = tab;
    const { keyboard } = page;
    const find = () => page.getByRole('combobox', { name: 'Find a visitor' });
    await page.getByRole('heading', { level: 1, name: 'Inbox' }).waitFor();
    for (let time = 0; time < 2; time += 1) {
      await keyboard.press('c');
      await find().waitFor();
      await keyboard.type('zebulon FIND');
      // Enter immediately after the text waits for what it finds.
      await keyboard.press('Enter');
      await page.getByRole('dialog', { name: 'Write to Zebulon Findable' }).waitFor();
      if (time > 0) break;
      await keyboard.type('Umbrella at the lighthouse');
      await keyboard.press('Escape');
    }
    expect(await page.getByRole('textbox', { name: 'Message' }).inputValue()).toBe('Umbrella at the lighthouse');
    await keyboard.press('Control+Enter');
    await messages(page).getByText('Umbrella at the lighthouse').waitFor();
    // The search of the workspace finds visitors and messages, and one Escape closes it.
    await keyboard.press('Control+k');
    const search = page.getByRole('dialog', { name: 'Search' });
    await keyboard.type('zebulon');
    await search.getByRole('option', { name: /Zebulon Findable.*Visitor/ }).waitFor();
    await keyboard.press('Escape');
    await search.waitFor({ state: 'hidden' });
    await page.goto(`${hub.url}/app`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await keyboard.press('Control+k');
    await keyboard.type('umbrella at the');
    await search.getByRole('option', { name: /Message/ }).waitFor();
    await keyboard.press('Enter');
    await messages(page).getByText('Umbrella at the lighthouse').waitFor();
  });

  test('when the session ends while the agent types, the rest of the text reaches no field of the dialog', async () => {
    const maria = await visitor('Session');
    await maria.say('Hello?');
    const email = 'ben@harbour.example';
    const { token } = await hub.client().call('logIn', { body: { email, password } });
    await using tab = await openConversation(maria.conversationId, { session: token });
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    await reply(page).fill('Half of');
    await hub.client(token).call('logOut');
    await page.keyboard.type(' a');
    const dialog = page.getByRole('dialog', { name: 'Your session ended' });
    await dialog.waitFor();
    await page.keyboard.type(' sentence');
    expect(await dialog.getByLabel('Password').inputValue()).toBe('');
    expect(await dialog.getByLabel('Email').inputValue()).toBe(email);
  });

  test('a canned reply that the hub refuses says so at its text, once', async () => {
    const maria = await visitor('Canned');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    await reply(page).press('/');
    await page.getByRole('button', { name: 'New canned reply' }).click();
    const form = page.getByRole('dialog', { name: 'New canned reply' });
    await form.getByLabel('Shortcut').fill('nope');
    await form.getByLabel('Text').fill('Hello {{nope}}');
    await form.getByRole('button', { name: 'Save' }).click();
    await expect.poll(() => form.getByLabel('Text').getAttribute('aria-invalid')).toBe('true');
    expect(await form.locator('[role=alert]:not(.sr-only)').count()).toBe(0);
    expect(await form.getByText('content', { exact: true }).count()).toBe(0);
  });

  test('two tabs of a browser share a draft, and an erased conversation disappears', async () => {
    const maria = await visitor('Tabs');
    await maria.say('Hello?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    await messages(page).getByText('Hello?').waitFor();
    await reply(page).fill('Hello');
    await page.getByText('Draft saved').waitFor();
    const second = await page.context().newPage();
    await second.goto(page.url());
    await expect.poll(() => reply(second).inputValue()).toBe('Hello');
    await reply(page).pressSequentially(' world');
    await expect.poll(() => reply(second).inputValue()).toBe('Hello world');
    await reply(page).press('Control+Enter');
    await expect.poll(() => maria.hears()).toEqual(['Hello world']);
    await expect.poll(() => reply(second).inputValue()).toBe('');
    await second.close();
    await reply(page).fill('Not sent');
    await hub.client(ann).call('eraseInboxVisitor', { params: { tenantId, id: maria.visitorId } });
    await page.getByText('This conversation does not exist').waitFor();
    expect(await messages(page).count()).toBe(0);
    expect(await page.getByRole('complementary', { name: 'Visitor' }).count()).toBe(0);
    expect(await page.getByRole('textbox', { name: 'Your unsent text' }).inputValue()).toBe('Not sent');
  });

  test('colleagues see who views a conversation', async () => {
    const maria = await visitor('Viewed');
    await maria.say('Hello?');
    const colleague = await openAgent(hub.url, tenantId, ben);
    await using tab = await openConversation(maria.conversationId);
    await messages(tab.page).getByText('Hello?').waitFor();
    colleague.send({ type: 'view', conversationId: maria.conversationId });
    await tab.page.getByText('Ben is viewing').waitFor();
    await expect
      .poll(() => colleague.frames.some((frame) => frame.type === 'viewers' && frame.userIds.length === 2))
      .toBe(true);
    colleague.end();
    await tab.page.getByText('Ben is viewing').waitFor({ state: 'hidden' });
  });

  test('where WebSockets are blocked, the event stream brings messages and shows who views', async () => {
    const maria = await visitor('Blocked socket');
    await maria.say('Hello?');
    const colleague = await openAgent(hub.url, tenantId, ben);
    await using tab = await open('/app');
    const { page } = tab;
    await page.routeWebSocket(/\/chat\/live/, (socket) => socket.close());
    await page.goto(`${hub.url}/app/inbox?conversation=${maria.conversationId}`);
    await expect.poll(() => tab.requests.some((url) => url.endsWith('/chat/events'))).toBe(true);
    await expect
      .poll(() => colleague.frames.some((frame) => frame.type === 'viewers' && frame.userIds.length === 1))
      .toBe(true);
    await maria.say('Are you there?');
    await messages(page).getByText('Are you there?').waitFor();
    await reply(page).fill('Yes');
    await sendButton(page).click();
    await expect.poll(() => maria.hears()).toEqual(['Yes']);
    colleague.end();
  });

  test('10,000 messages stay smooth: few are elements, and older ones come without a jump', async () => {
    const maria = await visitor('Long');
    await addMessages(hub.database, maria.conversationId, { count: 10_000, content: 'message {n}' });
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    await messages(page).getByText('message 10000', { exact: true }).waitFor();
    const elements = () => page.evaluate<number>("document.querySelectorAll('*').length");
    for (const target of [9_900, 9_700, 9_400, 9_000]) {
      await expect
        .poll(async () => {
          await messages(page).hover();
          await page.mouse.wheel(0, -6_000);
          const first = await messages(page)
            .getByText(/^message \d+$/)
            .first()
            .textContent();
          return Number(first?.slice(8));
        })
        .toBeLessThan(target);
      expect(await elements()).toBeLessThan(3_000);
    }
    await page.getByRole('button', { name: 'Newest message' }).click();
    await messages(page).getByText('message 10000', { exact: true }).waitFor();
    await page.keyboard.press('Home');
    await messages(page).getByText('message 1', { exact: true }).waitFor();
    await page.keyboard.press('End');
    await messages(page).getByText('message 10000', { exact: true }).waitFor();
    // A link to an old message opens around it, and a reply needs the newest ones.
    await page.goto(`${hub.url}/app/inbox?conversation=${maria.conversationId}&at=500`);
    await messages(page).getByText('message 500', { exact: true }).waitFor();
    await reply(page).fill('Hello');
    await page.getByText('You see older messages.').waitFor();
    expect(await sendButton(page).isDisabled()).toBe(true);
    await page.getByRole('button', { name: 'Newest message' }).click();
    await messages(page).getByText('message 10000', { exact: true }).waitFor();
    await expect.poll(() => sendButton(page).isEnabled()).toBe(true);
  });

  test('the message of a link stays in view while the messages around it are read', async () => {
    const maria = await visitor('Linked');
    await addMessages(hub.database, maria.conversationId, { count: 1_000, content: 'message {n}' });
    await using tab = await open('/app');
    const { page } = tab;
    // The pages of messages before and after the first one are read immediately in a window of this height.
    await page.setViewportSize({ width: 1280, height: 1800 });
    await page.goto(`${hub.url}/app/inbox?conversation=${maria.conversationId}&at=500`);
    const linked = messages(page).getByText('message 500', { exact: true });
    await linked.waitFor();
    const isInView = async () => {
      const { y } = (await linked.boundingBox({ timeout: 5_000 })) ?? { y: 0 };
      return y > 200 && y < 1_600;
    };
    const requests = () => tab.requests.filter((request) => /messages\?.*(before|after)=/.test(request)).length;
    await untilAtRest(page);
    expect([await isInView(), requests()]).toEqual([true, 1]);
    await messages(page).hover();
    await page.mouse.wheel(0, -60);
    await expect.poll(requests).toBeGreaterThan(1);
    await untilAtRest(page);
    expect(await isInView()).toBe(true);
    expect(tab.complaints).toEqual([]);
  });

  test('a suggestion of the AI agent is used and recorded; a canned reply, a file and a rating work', async () => {
    model.answer = () => ({ reply: 'We decide at 18:00.', reason: 'the weather' });
    const maria = await visitor('Suggested');
    await maria.say('Does it sail?');
    await using tab = await openConversation(maria.conversationId);
    const { page } = tab;
    await page.getByRole('button', { name: 'Suggest a reply' }).click();
    const suggestion = page.getByRole('region', { name: 'Suggestion' });
    await suggestion.getByText('We decide at 18:00.').waitFor();
    await suggestion.getByRole('button', { name: 'Use' }).click();
    expect(await reply(page).inputValue()).toBe('We decide at 18:00.');
    await suggestion.waitFor({ state: 'hidden' });
    const { data } = await hub.client(ann).call('listAiSuggestions', {
      params: { tenantId, channelId: maria.conversationId },
      query: {},
    });
    expect(data[0]?.acceptedAt).not.toBeNull();
    await reply(page).fill('');

    await hub.client(ann).call('createCannedReply', {
      params: { tenantId },
      body: { shortcut: 'hello', content: 'Hello {{visitor.name|there}}!' },
    });
    await reply(page).press('/');
    await page.getByRole('option', { name: '/hello' }).waitFor();
    await page.keyboard.type('hel');
    await page.keyboard.press('Enter');
    await expect.poll(() => reply(page).inputValue()).toBe('Hello Suggested!');

    await page.setInputFiles('input[type=file]', {
      name: 'times.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('10:30'),
    });
    await page.getByRole('button', { name: 'Remove times.txt' }).waitFor();
    await sendButton(page).click();
    const link = messages(page).getByRole('link', { name: /times\.txt/ });
    await link.waitFor();
    expect((await page.request.get(new URL((await link.getAttribute('href')) ?? '', hub.url).href)).status()).toBe(200);

    await page.getByRole('button', { name: 'Status, priority, title' }).click();
    const statuses = page.getByRole('group', { name: 'Status', exact: true });
    await statuses.getByText('Resolved: a new message of the visitor reopens the conversation.').waitFor();
    await statuses.getByText('A new message of the visitor starts another conversation.').waitFor();
    await page.getByRole('button', { name: 'Closed', exact: true }).click();
    await page.getByText('This conversation is closed. Reopen it to reply.').waitFor();
    expect(await page.getByRole('button', { name: 'Reopen' }).count()).toBe(1);
    await hub.client(maria.token).call('rateVisitorConversation', { body: { score: 4, comment: 'Fast' } });
    await page.reload();
    await page.getByRole('img', { name: '4 of 5' }).waitFor();
    await page.getByRole('complementary', { name: 'Visitor' }).getByText('Fast').waitFor();

    // Writing first to a known visitor, then blocking the visitor.
    await page.getByRole('complementary').getByRole('button', { name: 'New conversation' }).click();
    await page.getByRole('textbox', { name: 'Message' }).fill('One more thing');
    await page.getByRole('dialog').getByRole('button', { name: 'Send' }).click();
    await messages(page).getByText('One more thing').waitFor();
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Block' }).click();
    await page.getByRole('complementary').getByText('Blocked').waitFor();
  });

  test('texts of visitors stay text, and their links are safe', async () => {
    const evil = await visitor('<b>Evil</b>\u202E');
    await evil.say(hostile);
    await using tab = await openConversation(evil.conversationId);
    const { page } = tab;
    await messages(page).getByText('<img src=x onerror=alert(1)>⟨U+202E⟩txt.exe').waitFor();
    await page.getByRole('heading', { level: 2, name: '<b>Evil</b>⟨U+202E⟩' }).first().waitFor();
    const links = messages(page).getByRole('link');
    expect(await links.count()).toBe(1);
    expect(await links.first().getAttribute('href')).toBe('https://a.example/b?c=1');
    expect(await links.first().getAttribute('rel')).toBe('noopener noreferrer nofollow');
  });

  test.each([
    ['light', 1280],
    ['dark', 1280],
    ['light', 320],
    ['dark', 320],
  ] as const)('it is accessible with the %s theme at %i pixels', async (colorScheme, width) => {
    const maria = await visitor('Maria Lopez of the very long name');
    await maria.say(`A long${'word'.repeat(60)}`);
    await replyAs(ann, maria.conversationId, 'Hello Maria');
    await hub.client(ann).call('sendInboxMessage', {
      params: { tenantId, id: maria.conversationId },
      body: { content: 'A note', private: true },
    });
    await using tab = await open('/app/inbox', { colorScheme, viewport: { width, height: 700 } });
    const { page } = tab;
    const check = async () => {
      expect(await accessibilityViolations(page)).toEqual([]);
      expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
    };
    await row(page, 'Maria Lopez').first().waitFor();
    await check();
    await row(page, 'Maria Lopez').first().click();
    await messages(page).getByText('Hello Maria').waitFor();
    await check();
    const list = page.getByRole('list', { name: 'Conversations' });
    if (width < 500) {
      // One view at a time: the list, the messages, the visitor.
      expect(await list.isVisible()).toBe(false);
      await page.getByRole('button', { name: 'Visitor' }).click();
      await page.getByText('Other conversations').waitFor();
      expect(await messages(page).isVisible()).toBe(false);
      await check();
      await page.getByRole('button', { name: 'Back to the messages' }).click();
      await messages(page).waitFor();
      await page.getByRole('button', { name: 'Back to the list' }).click();
      await list.waitFor();
    } else await page.getByText('Other conversations').waitFor();
  });
});
