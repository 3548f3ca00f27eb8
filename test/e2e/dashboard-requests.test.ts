import type { Browser, Page, Request } from 'playwright-core';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { canOpenDashboard, openDashboard, startDashboardBrowser } from '../fixtures/dashboard.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub, TestWorkspace } from '../fixtures/hub.ts';

/** POST requests without an `Idempotency-Key`, each with the reason in the code of the dashboard. */
const withoutKey = [
  // Forms of pages; the caller is not known, or the session has ended.
  /^\/sign-(?:in|out)$/,
  // Reads.
  /^\/v1\/automations\/schedules\/preview$/,
  /^\/v1\/automations\/skills\/install$/,
  // Frequent, and the same when repeated.
  /^\/tenants\/[^/]+\/chat\/conversations\/[^/]+\/(?:read|activity)$/,
  // A file.
  /^\/tenants\/[^/]+\/chat\/conversations\/[^/]+\/files$/,
];

interface Post {
  path: string;
  key: string | undefined;
  body: string;
}

/** Collects the POST requests of a page. */
function postsOf(page: Page): Post[] {
  const posts: Post[] = [];
  page.on('request', (request: Request) => {
    if (request.method() === 'POST')
      posts.push({
        path: new URL(request.url()).pathname,
        key: request.headers()['idempotency-key'],
        body: request.postData() ?? '',
      });
  });
  return posts;
}

/** The hub performs the first matching POST, and its response is lost on the way. */
async function loseFirstResponse(page: Page, pattern: RegExp): Promise<void> {
  let isLost = false;
  await page.route(
    (url) => pattern.test(url.pathname),
    async (route) => {
      if (isLost || route.request().method() !== 'POST') return route.fallback();
      isLost = true;
      await route.fetch();
      await route.abort('connectionreset');
    },
  );
}

describe.skipIf(!canOpenDashboard)('the POST requests of the dashboard (needs Chromium)', () => {
  let hub: TestHub;
  let workspace: TestWorkspace;
  let browser: Browser;
  beforeAll(async () => {
    hub = await startHub();
    workspace = await hub.workspace('Harbour');
    browser = await startDashboardBrowser();
  });
  afterAll(async () => {
    await browser?.close();
    await hub?.[Symbol.asyncDispose]();
  });
  const open = (path: string, session: string | null = workspace.jwt) =>
    openDashboard(browser, path, { hubUrl: hub.url, session });

  async function conversation(): Promise<string> {
    const { visitorToken, conversationId, siteKey } = await hub
      .client(workspace.keys.chat)
      .call('createChatSession', { body: { externalId: crypto.randomUUID(), displayName: 'Maria' } });
    const { token } = await hub.client().call('openVisitorSession', { body: { siteKey, token: visitorToken } });
    await hub.client(token).call('sendVisitorMessage', { body: { content: 'Is the ferry running?', clientId: 'm1' } });
    return conversationId;
  }
  const reply = (page: Page) => page.getByRole('textbox', { name: 'Reply to the visitor' });
  const messages = (page: Page) => page.getByRole('log', { name: 'Messages' });

  test('each carry a key of their own, except those that must not', async () => {
    const { tenantId, email, password, session } = workspace;
    const conversationId = await conversation();
    await session.call('createAutomationWorkflow', {
      body: {
        name: 'Nightly',
        stepsJson: [{ type: 'approval', title: 'Send the report?', approvers: [email] }],
        triggerJson: { type: 'schedule', schedule: { kind: 'interval', everySeconds: 86_400 } },
      },
    });
    await using tab = await open('/app/workflows/new', null);
    const { page } = tab;
    const posts = postsOf(page);
    await page.getByLabel('Email').fill(email);
    await page.getByLabel('Password', { exact: true }).fill(password);
    await page.getByRole('button', { name: 'Sign in' }).click();

    const document = { name: 'Greet', stepsJson: [{ type: 'log', message: 'Hello' }] };
    await page.getByRole('textbox', { name: 'Workflow as JSON' }).fill(JSON.stringify(document));
    await page.getByRole('button', { name: 'Create', exact: true }).click();
    await page.getByRole('heading', { level: 1, name: 'Greet' }).waitFor();
    await page.getByRole('button', { name: 'Run…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await page.waitForURL(/\/app\/runs\/[\da-f-]{36}/);

    const isPreviewed = page.waitForRequest((request) => request.url().endsWith('/schedules/preview'));
    await page.goto(`${hub.url}/app/schedules`);
    await page.getByRole('link', { name: 'Nightly' }).waitFor();
    await isPreviewed;

    await page.goto(`${hub.url}/app/packs`);
    const card = page.locator('section', { has: page.getByRole('heading', { name: 'Daily screen report' }) });
    await card.getByRole('button', { name: 'Install…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Skills').waitFor();
    await dialog.getByRole('button', { name: 'Install', exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });

    const isRead = page.waitForRequest((request) => request.url().endsWith('/read'));
    await page.goto(`${hub.url}/app/inbox?conversation=${conversationId}`);
    await messages(page).getByText('Is the ferry running?').waitFor();
    await isRead;
    await page.setInputFiles('input[type=file]', {
      name: 'a.txt',
      mimeType: 'text/plain',
      buffer: Buffer.from('Timetable'),
    });
    await page.getByRole('button', { name: 'Remove a.txt' }).waitFor();
    await reply(page).fill('Yes, at 10:30.');
    await page.getByRole('button', { name: 'Send', exact: true }).click();
    await messages(page).getByText('Yes, at 10:30.').waitFor();

    await page.goto(`${hub.url}/app/settings/members`);
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.waitForURL(`${hub.url}/sign-in`);

    const operations = posts.map(({ path }) => path.replaceAll(/[\da-f]{8}-[\da-f-]{27}/g, 'ID'));
    expect(operations).toEqual(
      expect.arrayContaining([
        '/sign-in',
        '/v1/automations/workflows',
        '/v1/automations/workflows/ID/run',
        '/v1/automations/schedules/preview',
        '/v1/automations/skills/install',
        '/tenants/ID/chat/conversations/ID/read',
        '/tenants/ID/chat/conversations/ID/files',
        '/tenants/ID/chat/conversations/ID/messages',
        '/sign-out',
      ]),
    );
    const isExcepted = ({ path, body }: Post) =>
      withoutKey.some((pattern) => pattern.test(path)) &&
      (!path.endsWith('/install') || body.includes('"dryRun":true'));
    for (const post of posts) {
      if (isExcepted(post)) expect(post).toMatchObject({ key: undefined });
      else expect(post).toMatchObject({ key: expect.stringMatching(/^[\da-f]{32}(?:-\d+)?$/) as string });
    }
    const keys = posts.flatMap(({ key }) => (key === undefined ? [] : [key]));
    expect(keys.length).toBeGreaterThan(3);
    expect(new Set(keys).size).toBe(keys.length);
    expect(posts.filter(({ path }) => path.startsWith(`/tenants/${tenantId}`)).length).toBeGreaterThan(2);
  });

  test('have the same key when a lost one is repeated, so that one click starts one run', async () => {
    const { id } = await workspace.session.call('createAutomationWorkflow', {
      body: { name: 'Once', stepsJson: [{ type: 'log', message: 'Hello' }] },
    });
    await using tab = await open(`/app/workflows/${id}`);
    const { page } = tab;
    const posts = postsOf(page);
    await loseFirstResponse(page, /\/run$/);
    await page.getByRole('button', { name: 'Run…' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Run now' }).click();
    await page.waitForURL(/\/app\/runs\/[\da-f-]{36}/);
    const keys = posts.filter(({ path }) => path.endsWith('/run')).map(({ key }) => key);
    expect([keys.length, new Set(keys).size]).toEqual([2, 1]);
    expect((await workspace.session.call('listAutomationRuns', { query: { workflowId: id } })).data).toHaveLength(1);
  });

  test('have the same key when an agent sends a reply again that did not reach the hub, and another key for another text', async () => {
    const conversationId = await conversation();
    await using tab = await open(`/app/inbox?conversation=${conversationId}`);
    const { page } = tab;
    const posts = postsOf(page);
    await messages(page).getByText('Is the ferry running?').waitFor();
    let isLost = false;
    await page.route('**/messages', (route) => {
      if (isLost || route.request().method() !== 'POST') return route.fallback();
      isLost = true;
      return route.abort('connectionreset');
    });
    const send = page.getByRole('button', { name: 'Send', exact: true });
    await reply(page).fill('Yes, at 10:30.');
    await send.click();
    await page.getByRole('alert').first().waitFor();
    await expect.poll(() => reply(page).inputValue()).toBe('Yes, at 10:30.');
    await send.click();
    await messages(page).getByText('Yes, at 10:30.').waitFor();
    await messages(page).getByText('Sending…').waitFor({ state: 'hidden' });
    await reply(page).fill('And at 11:30.');
    await send.click();
    await messages(page).getByText('And at 11:30.').waitFor();
    // The text is shown before it is sent.
    await messages(page).getByText('Sending…').waitFor({ state: 'hidden' });
    const keys = posts.filter(({ path }) => path.endsWith('/messages')).map(({ key }) => key);
    expect(keys).toEqual([keys[0], keys[0], expect.any(String)]);
    expect(keys[2]).not.toBe(keys[0]);
  });
});
