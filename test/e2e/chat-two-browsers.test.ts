import { chromium } from 'playwright-core';
import type { Browser, Page } from 'playwright-core';
import { Webhook } from 'standardwebhooks';
import { Stripe } from 'stripe';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openTab } from '../fixtures/chat-tab.ts';
import { startHub } from '../fixtures/hub.ts';
import type { TestHub } from '../fixtures/hub.ts';
import { findPageBrowser } from '../fixtures/page-browser.ts';
import { startReceiver } from '../fixtures/receiver.ts';
import type { Received, Receiver } from '../fixtures/receiver.ts';
import { chatScene } from '../fixtures/visitor.ts';

const executable = findPageBrowser()?.path;
const events = [
  'conversation.created',
  'message.created',
  'conversation.assigned',
  'conversation.closed',
  'csat.submitted',
] as const;

let hub: TestHub;
let receiver: Receiver;
const browsers: Browser[] = [];

beforeAll(async () => {
  receiver = await startReceiver();
  hub = await startHub({ EGRESS_ALLOW_HOSTS: '127.0.0.1' });
  if (executable === undefined) return;
  for (let count = 0; count < 2; count += 1)
    browsers.push(
      await chromium.launch({ executablePath: executable, args: ['--no-sandbox', '--disable-gpu', '--disable-quic'] }),
    );
});
afterAll(async () => {
  for (const browser of browsers) await browser.close();
  await hub[Symbol.asyncDispose]();
  await receiver[Symbol.asyncDispose]();
});

/** Verifies a delivery with two third-party libraries, one for each signature format. */
function verify(secret: string, { headers, body }: Received): { event: string; eventId: string } {
  const header = (name: string) => String(headers[name]);
  const standard = new Webhook(secret).verify(body, {
    'webhook-id': header('webhook-id'),
    'webhook-timestamp': header('webhook-timestamp'),
    'webhook-signature': header('webhook-signature'),
  }) as { event: string; eventId: string };
  const own = Stripe.webhooks.constructEvent(
    body,
    `t=${header('x-service-timestamp')},v1=${header('x-service-signature')}`,
    secret,
  ) as unknown as { event: string; eventId: string };
  expect(own).toEqual(standard);
  return standard;
}

/** Opens the browser of an agent: signed in by cookie, with a live connection that records each frame. */
async function openInbox(page: Page, tenantId: string, code: string): Promise<void> {
  await page.goto(`${hub.url}/sign-in?code=${code}`);
  const enter = page.getByRole('button').first();
  if ((await enter.count()) > 0) await enter.click();
  await page.waitForURL(`${hub.url}/app`);
  await page.evaluate((id) => {
    const own = globalThis as unknown as { frames_: unknown[]; socket_: WebSocket; location: { host: string } };
    own.frames_ = [];
    own.socket_ = new WebSocket(`ws://${own.location.host}/tenants/${id}/chat/live`, ['outrigger.chat.agent.v1']);
    own.socket_.addEventListener('message', ({ data }) => own.frames_.push(JSON.parse(String(data))));
    own.socket_.addEventListener('open', () => own.socket_.send('{"type":"hello"}'));
  }, tenantId);
  // The connection receives messages that are written after its first frame.
  await expect.poll(() => page.evaluate('frames_.length')).toBeGreaterThan(0);
}

const messageTexts = (page: Page) =>
  page.evaluate(() =>
    (globalThis as unknown as { frames_: { type: string; message?: { content: string; private: boolean } }[] }).frames_
      .filter(({ type }) => type === 'message')
      .map(({ message }) => message?.content),
  );

/** Requests of the agent's page with its cookie. */
const ask = (page: Page, method: string, path: string, body: object) =>
  page.evaluate(
    async ([verb, address, text]) => {
      const answer = await fetch(address as string, {
        method: verb as string,
        headers: { 'content-type': 'application/json' },
        body: text as string,
      });
      return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
    },
    [method, path, JSON.stringify(body)],
  );

test.skipIf(executable === undefined)(
  'a visitor and an agent chat in two browsers, close and rate; third-party libraries verify five kinds of webhooks, and each starts its automation (needs Chromium)',
  async () => {
    const scene = await chatScene(hub);
    const { tenantId, workspace } = scene;
    const { secret } = await scene.api.call('createWebhook', {
      params: { tenantId },
      body: { url: receiver.url, events: [...events] },
    });
    const automations = new Map<string, string>();
    for (const type of events)
      automations.set(
        type,
        (
          await workspace.api.call('createAutomationWorkflow', {
            body: {
              name: type,
              stepsJson: [{ type: 'log', message: '{{payload.conversation.name}}' }],
              triggerJson: { type: 'event', event: { type } },
            } as never,
          })
        ).id,
      );

    const name = (await hub.database.query<{ name: string }>('SELECT name FROM tenants WHERE id = $1', [tenantId]))[0]
      ?.name;
    const code = await hub.app.identity.createSignInCode(name as string);
    await using agent = await openTab(browsers[0] as Browser, { viewport: { width: 1000, height: 700 } });
    await openInbox(agent.page, tenantId, code);
    const me = (await ask(agent.page, 'PUT', `/tenants/${tenantId}/chat/presence`, { presence: 'online' })).body;

    const { token, conversationId } = await scene.mint('the visitor');
    const inbox = `/tenants/${tenantId}/chat/conversations/${conversationId}`;
    await using visitor = await openTab(browsers[1] as Browser);
    await visitor.page.goto(`${hub.url}/chat?siteKey=${scene.siteKey}&token=${token}`);
    const field = visitor.page.getByRole('textbox', { name: 'Write a message' });
    await field.fill('Hello?');
    await field.press('Enter');
    await expect.poll(() => messageTexts(agent.page)).toEqual(['Hello?']);
    expect((await ask(agent.page, 'POST', `${inbox}/assign`, { userId: me['userId'] })).status).toBe(200);
    for (const body of [{ content: 'Hi there' }, { content: 'A rude one', private: true }])
      expect((await ask(agent.page, 'POST', `${inbox}/messages`, body)).status).toBe(200);
    await visitor.page.getByText('Hi there', { exact: true }).waitFor();
    await expect.poll(() => messageTexts(agent.page)).toEqual(['Hello?', 'Hi there', 'A rude one']);
    expect((await ask(agent.page, 'PATCH', inbox, { status: 'closed' })).body).toMatchObject({ status: 'closed' });
    await visitor.page.getByRole('radio').nth(3).check({ force: true });
    await visitor.page.locator('form.rating button[type=submit]').click();
    await visitor.page.getByText('Thank you for your rating.').waitFor();
    expect(await visitor.page.textContent('body')).not.toContain('rude');
    expect([...agent.complaints, ...visitor.complaints]).toEqual([]);

    const kinds = () => [...new Set(receiver.received.map((received) => verify(secret, received).event))].toSorted();
    await expect.poll(kinds).toEqual([...events].toSorted());
    expect(JSON.stringify(receiver.received)).not.toContain('rude');
    for (const [type, workflowId] of automations)
      await expect
        .poll(async () => [
          type,
          (await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data.every(
            ({ status }) => status === 'succeeded',
          ),
          (await workspace.api.call('listAutomationRuns', { query: { workflowId } })).data.length,
        ])
        .toEqual([type, true, type === 'message.created' ? 2 : 1]);
  },
);
