import { mkdirSync } from 'node:fs';
import { join, relative } from 'node:path';
import { chromium } from 'playwright-core';
import type { Browser, Frame, Page } from 'playwright-core';
import { createClient } from '../../shared/client/client.ts';
import type { Client } from '../../shared/client/client.ts';
import { chatEventTypes } from '../../shared/contract/chat/chat-events.ts';
import { agentProtocol, bearerProtocolPrefix } from '../../shared/contract/chat/live.ts';
import { receiveWebhooks, serve, shopPage, shopPolicy } from './chat-servers.ts';
import { createToken, ensureHub, findProgram, hubCommand, installTools, print } from './hub.ts';
import type { Demo } from './hub.ts';
import { DemoError, waitUntil } from './processes.ts';

/**
 * The demo of Live Chat (`npm run demo -- chat`): a visitor on the page of a shop writes with an agent, the
 * conversation is closed and rated, and webhooks and automations react.
 */

const events = chatEventTypes.filter((type) => type !== 'visitor.created');
const browsers = [
  'chromium',
  'chromium-browser',
  'google-chrome',
  'google-chrome-stable',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];
const browserArguments = [
  '--headless',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

async function signIn(demo: Demo): Promise<{ api: Client; tenantId: string; userId: string; jwt: string }> {
  const code = new URL((await hubCommand(demo, 'link', '--workspace', 'demo')).trim()).searchParams.get('code') ?? '';
  const { token, tenantId, user } = await createClient({ baseUrl: demo.url, fetch }).call('redeemSignInLink', {
    body: { code },
  });
  return { api: createClient({ baseUrl: demo.url, fetch, token }), tenantId, userId: user.id, jwt: token };
}

/** Connects as the agent, who is online until the connection is disposed. */
async function openInbox(url: string, tenantId: string, jwt: string): Promise<Disposable> {
  const socket = new WebSocket(`${url.replace(/^http/, 'ws')}/tenants/${tenantId}/chat/live`, [
    agentProtocol,
    `${bearerProtocolPrefix}${jwt}`,
  ]);
  await new Promise<void>((done, fail) => {
    socket.addEventListener('open', () => {
      socket.send(JSON.stringify({ type: 'hello' }));
      done();
    });
    socket.addEventListener('error', () => fail(new DemoError("the agent's live connection did not open")));
  });
  return { [Symbol.dispose]: () => socket.close() };
}

/** Opens the page of the shop as the visitor, in a real browser. */
async function openShop(browser: Browser, url: string, token: string): Promise<{ page: Page; chat: Frame }> {
  const page = await browser.newPage({ viewport: { width: 1100, height: 760 } });
  await page.goto(url);
  await page.waitForFunction(() => 'Outrigger' in globalThis);
  await page.evaluate((visitorToken) => {
    const call = (globalThis as unknown as { Outrigger: (command: string, options?: object) => void }).Outrigger;
    call('boot', { token: visitorToken });
    call('open');
  }, token);
  const frame = await page.waitForSelector('iframe');
  const chat = await frame.contentFrame();
  if (chat === null) throw new DemoError('the widget has no frame');
  await chat.waitForSelector('textarea');
  return { page, chat };
}

/**
 * @param keepsRunning whether the hub keeps running afterwards until the demo is stopped.
 * @returns the exit code.
 */
export async function demoChat(stack: AsyncDisposableStack, demo: Demo, keepsRunning: boolean): Promise<number> {
  const { url, signal } = demo;
  await installTools(demo);
  const startedHub = await ensureHub(stack, demo, { EGRESS_ALLOW_HOSTS: '127.0.0.1' });
  const { id: keyId, key } = await createToken(demo, 'chat');
  const { id: automationsId, key: automationsKey } = await createToken(demo, 'automations');
  const shop = createClient({ baseUrl: url, fetch, token: key });
  const automations = createClient({ baseUrl: url, fetch, token: automationsKey });
  const { api: agent, tenantId, userId, jwt } = await signIn(demo);
  stack.use(await openInbox(url, tenantId, jwt));
  const params = { tenantId };

  // Receivers of events: a webhook, and a workflow for each event type.
  const received = new Map<string, number>();
  let secret = '';
  const receiver = stack.use(await receiveWebhooks(() => secret, received));
  let webhookId: string | null = null;
  try {
    const webhook = await shop.call('createWebhook', { params, body: { url: receiver.url, events: [...events] } });
    ({ secret } = webhook);
    webhookId = webhook.id;
  } catch (error) {
    if (startedHub) throw error;
    print(`Skipping webhooks: this hub does not send to addresses of this machine (${(error as Error).message})`);
  }
  const workflows = await Promise.all(
    events.map(
      async (type) =>
        (
          await automations.call('createAutomationWorkflow', {
            body: {
              name: `Demo: ${type}`,
              stepsJson: [{ type: 'log', message: `${type} in {{payload.conversation.name}}` }],
              triggerJson: { type: 'event', event: { type } },
            } as never,
          })
        ).id,
    ),
  );

  // The page of the shop, and the visitor on it.
  const { snippet, allowedOrigins } = await agent.call('getChatSettings', { params });
  const shopServer = stack.use(
    await serve((_request, response) => {
      response.writeHead(200, {
        'content-type': 'text/html; charset=utf-8',
        'content-security-policy': shopPolicy(url),
      });
      response.end(shopPage(snippet));
    }),
  );
  await agent.call('putChatSettings', {
    params,
    body: { allowedOrigins: [...allowedOrigins, shopServer.url].slice(-50) },
  });
  const { visitorToken, conversationId, chatUrl } = await shop.call('createChatSession', {
    body: { externalId: `demo-${Date.now()}`, displayName: 'Robin' },
  });
  const conversation = { tenantId, id: conversationId };
  const pictures: string[] = [];
  const executable = browsers.map(findProgram).find((path) => path !== undefined);
  if (executable === undefined) {
    print(`Chromium was not found. Open the visitor's page yourself:\n  ${chatUrl}`);
  } else {
    const folder = join(demo.home, 'demo');
    mkdirSync(folder, { recursive: true });
    const isRoot = process.getuid?.() === 0;
    const browser = await chromium.launch({
      executablePath: executable,
      args: isRoot ? [...browserArguments, '--no-sandbox'] : browserArguments,
    });
    stack.defer(() => browser.close());
    const { page, chat } = await openShop(browser, shopServer.url, visitorToken);
    const picture = async (name: string) => {
      const path = join(folder, `chat-${name}.png`);
      await page.screenshot({ path });
      pictures.push(path);
    };
    const write = async (content: string) => {
      await chat.fill('textarea', content);
      await chat.press('textarea', 'Enter');
      print(`  visitor  ${content}`);
      await waitUntil(
        'The message did not arrive',
        async () =>
          (await agent.call('listInboxMessages', { params: conversation, query: {} })).data.some(
            (message) => message.content === content,
          ),
        { timeoutMs: 20_000, signal },
      );
    };
    const reply = async (content: string) => {
      await agent.call('sendInboxMessage', { params: conversation, body: { content } });
      print(`  agent    ${content}`);
      await chat.getByText(content, { exact: true }).waitFor({ timeout: 20_000 });
    };
    print(`\nConversation ${conversationId}`);
    await write('Hello! Do you have 20 m of mooring rope?');
    await agent.call('assignInboxConversation', { params: conversation, body: { userId } });
    await reply('We do, in white and navy. Which do you like?');
    await agent.call('sendInboxMessage', {
      params: conversation,
      body: { content: 'Regular customer, give 5 %.', private: true },
    });
    print('  note     Regular customer, give 5 %. (only agents see it)');
    await write('Navy, please.');
    await reply('It is on its way, with 5 % off.');
    await picture('talk');
    await agent.call('updateInboxConversation', { params: conversation, body: { status: 'closed' } });
    await chat.waitForSelector('input[type=radio]', { timeout: 20_000, state: 'attached' });
    await chat.check('input[type=radio][value="5"]', { force: true });
    await chat.click('form.rating button[type=submit]');
    await waitUntil(
      'The rating did not arrive',
      async () => (await agent.call('getInboxConversation', { params: conversation })).rating?.score === 5,
      { timeoutMs: 20_000, signal },
    );
    print('  closed, rated 5 of 5');
    await picture('rated');
    if ((await chat.textContent('body'))?.includes('Regular customer') === true)
      throw new DemoError('the visitor saw a private note');
  }

  // Webhooks and runs.
  const runsOf = async (workflowId: string) =>
    (await automations.call('listAutomationRuns', { query: { workflowId } })).data.filter(
      ({ status }) => status === 'succeeded',
    ).length;
  let success = executable !== undefined;
  if (executable !== undefined) {
    print();
    const expectedCount = events.length * (webhookId === null ? 1 : 2);
    let arrived = 0;
    const haveAllArrived = async () => {
      const runs = await Promise.all(workflows.map(runsOf));
      arrived =
        runs.filter((count) => count > 0).length +
        (webhookId === null ? 0 : events.filter((event) => (received.get(event) ?? 0) > 0).length);
      return arrived === expectedCount;
    };
    success = await waitUntil('Webhooks and runs did not arrive', haveAllArrived, { timeoutMs: 30_000, signal }).then(
      () => true,
      () => false,
    );
    for (const [index, event] of events.entries())
      print(
        `  ${event.padEnd(21)}  ${webhookId === null ? '' : `${received.get(event) ?? 0} signed webhooks verified, `}${await runsOf(workflows[index] as string)} runs of its automation`,
      );
    for (const path of pictures) print(`  picture  ${relative('.', path)}`);
  }

  // Deletes what the demo created.
  for (const id of workflows) await automations.call('deleteAutomationWorkflow', { params: { id } });
  if (webhookId !== null) await shop.call('deleteWebhook', { params: { tenantId, id: webhookId } });
  for (const id of [keyId, automationsId]) await hubCommand(demo, 'token', 'revoke', id);
  if (keepsRunning && !signal.aborted) {
    const link = (await hubCommand(demo, 'chat', 'link', 'you', '--name', 'You', '--workspace', 'demo')).trim();
    print(
      `\nThe hub keeps running at ${url}.\nChat as the visitor: ${link}\nReply as the agent:  npx outrigger chat follow\nPress Ctrl-C to stop the hub.`,
    );
    await new Promise<void>((ended) => signal.addEventListener('abort', () => ended(), { once: true }));
  }
  return success ? 0 : 1;
}
